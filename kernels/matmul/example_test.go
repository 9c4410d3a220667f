package matmul_test

import (
	"fmt"
	"log"

	"crossover/kernels/matmul"
)

func ExampleNew() {
	plan := matmul.New(nil) // nil: no calibration, so the processor computes
	defer plan.Close()

	a := []float32{
		1, 2, 3,
		4, 5, 6,
	}
	b := []float32{1, 10, 100}
	c := make([]float32, 2)
	if err := plan.Multiply(c, a, b, 2, 3, 1); err != nil { // a is 2×3, b is 3×1
		log.Fatal(err)
	}
	fmt.Println(c)
	// Output: [321 654]
}
