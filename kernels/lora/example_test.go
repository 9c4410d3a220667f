package lora_test

import (
	"fmt"
	"log"

	"crossover/kernels/lora"
)

func ExampleNew() {
	plan, err := lora.New(nil, lora.Params{ // nil: no calibration, so the processor computes
		In: 3, Out: 2, Rank: 1,
		A:       []float32{1, 1, 1},          // in×rank
		B:       []float32{1, 10},            // rank×out
		Scale:   2,                           // alpha/rank
		Weights: []float32{1, 0, 0, 0, 1, 1}, // out×in
		Bias:    []float32{100, 100},
	})
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
	// Output: [113 225]
}
