package softmax_test

import (
	"fmt"
	"log"

	"crossover/kernels/softmax"
)

func ExampleNew() {
	plan, err := softmax.New(nil, softmax.Params{Columns: 3}) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	x := []float32{
		0, 0, 0,
		1, 2, 3,
	}
	if err := plan.Apply(x, x); err != nil { // two rows, in place
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n%.3f\n", x[:3], x[3:])
	// Output:
	// [0.333 0.333 0.333]
	// [0.090 0.245 0.665]
}
