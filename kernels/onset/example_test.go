package onset_test

import (
	"fmt"
	"log"

	"crossover/kernels/onset"
)

func ExampleNew() {
	plan, err := onset.New(nil, onset.Params{Bands: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	decibels := []float32{
		-80, -80,
		-20, -60, // rises by 60 and 20 dB
		-30, -58, // rises by 2 dB in one band
	}
	strength, err := plan.Transform(nil, decibels)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strength)
	// Output: [0 40 1]
}
