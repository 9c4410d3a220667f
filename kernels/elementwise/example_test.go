package elementwise_test

import (
	"fmt"
	"log"

	"crossover/kernels/elementwise"
)

func ExampleNewScale() {
	plan := elementwise.NewScale(nil, 2, 1) // y = 2x + 1
	defer plan.Close()

	x := []float32{1, 2, 3}
	if err := plan.Apply(x, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(x)
	// Output: [3 5 7]
}

func ExampleNewLog() {
	plan := elementwise.NewLog(nil)
	defer plan.Close()

	y := make([]float32, 3)
	if err := plan.Apply(y, []float32{1, 10, 0}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", y)
	// Output: [0.000 2.303 -Inf]
}
