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

func ExampleNewScaled() {
	// C = 2·Aᵀ·B + C
	plan, err := matmul.NewScaled(nil, matmul.Params{TransposeA: true, Alpha: 2, Beta: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	a := []float32{ // Aᵀ is 2×3
		1, 4,
		2, 5,
		3, 6,
	}
	b := []float32{1, 10, 100}
	c := []float32{0.5, 0.25}
	if err := plan.Multiply(c, a, b, 2, 3, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	// Output: [642.5 1308.25]
}
