package rmsnorm_test

import (
	"fmt"
	"log"

	"crossover/kernels/rmsnorm"
)

func ExampleNew() {
	weights := []float32{1, 1, 10, 1}                               // of the columns
	plan, err := rmsnorm.New(nil, rmsnorm.Params{Weights: weights}) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{
		3, -3, 3, -3,
		1, 1, 7, 7,
	}
	if err := plan.Apply(x, x); err != nil { // two rows, in place
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n%.2f\n", x[:4], x[4:])
	// Output:
	// [1.00 -1.00 10.00 -1.00]
	// [0.20 0.20 14.00 1.40]
}
