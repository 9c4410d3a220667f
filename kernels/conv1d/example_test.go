package conv1d_test

import (
	"fmt"
	"log"

	"crossover/kernels/conv1d"
)

func ExampleNew() {
	plan, err := conv1d.New(nil, []float32{1, 0.5}) // each sample, and half of the one before it
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	y, err := plan.Convolve(nil, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", y)
	// Output: [1.00 2.50 4.00 1.50]
}
