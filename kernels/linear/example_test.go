package linear_test

import (
	"fmt"
	"log"

	"crossover/kernels/linear"
)

func ExampleNew() {
	weights := []float32{ // out×in: a row for each of the two outputs
		1, 0, 0,
		0, 1, 1,
	}
	bias := []float32{10, 20}
	plan, err := linear.New(nil, weights, bias, 3, 2) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{1, 2, 3} // one row
	y := make([]float32, 2)
	if err := plan.Forward(y, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [11 25]
}
