package norm_test

import (
	"fmt"
	"log"

	"crossover/kernels/norm"
)

func ExampleNewLayer() {
	p := norm.LayerParams{Weights: []float32{1, 1, 1, 2}, Bias: []float32{0, 0, 0, 10}} // of the columns
	plan, err := norm.NewLayer(nil, p)                                                  // nil: no calibration, so the processor computes
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
	// [1.00 -1.00 1.00 8.00]
	// [-1.00 -1.00 1.00 12.00]
}

func ExampleNewGroup() {
	plan, err := norm.NewGroup(nil, norm.GroupParams{Groups: 2, Weights: []float32{1, 1, 1, 1}, Bias: []float32{0, 0, 0, 5}})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()
	if err := plan.SetMaxError(1e-4); err != nil { // relative to the exact result
		log.Fatal(err)
	}

	x := []float32{ // four channels of three values, in two groups
		1001, 1002, 1001,
		1002, 1001, 1002,
		0, 0, 0,
		2, 2, 2,
	}
	if err := plan.Apply(x, x); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", x)
	// Output: [-1.00 1.00 -1.00 1.00 -1.00 1.00 -1.00 -1.00 -1.00 6.00 6.00 6.00]
}
