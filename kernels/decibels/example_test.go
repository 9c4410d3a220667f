package decibels_test

import (
	"fmt"
	"log"

	"crossover/kernels/decibels"
)

func Example() {
	plan, err := decibels.New(nil, decibels.Params{}) // nil: no calibration
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	power := []float32{100, 1, 0.01, 0}
	if err := plan.Convert(power, power); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f dB\n", power)
	// Output: [20.0 0.0 -20.0 -60.0] dB
}
