package glu_test

import (
	"fmt"
	"log"

	"crossover/kernels/glu"
)

func ExampleNew() {
	plan, err := glu.New(nil, glu.Params{Columns: 2}) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{
		3, -4, 0, 100,
		3, -4, -100, 0,
	}
	y := make([]float32, 4)
	if err := plan.Apply(y, x); err != nil { // two rows
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n%.2f\n", y[:2], y[2:])
	// Output:
	// [1.50 -4.00]
	// [0.00 -2.00]
}
