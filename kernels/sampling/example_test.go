package sampling_test

import (
	"fmt"
	"log"

	"crossover/kernels/sampling"
)

func ExampleNewGreedy() {
	plan, err := sampling.NewGreedy(nil, sampling.GreedyParams{Columns: 4}) // nil: no calibration, so the processor computes
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	logits := []float32{
		1, 5, 2, 5,
		-1, -3, -2, -9,
	}
	tokens := make([]uint32, 2)
	if err := plan.Choose(tokens, logits); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens)
	// Output: [1 0]
}

func ExampleNewTopK() {
	plan, err := sampling.NewTopK(nil, sampling.TopKParams{Columns: 4, K: 3, Temperature: 0.7})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	logits := []float32{1, 5, 2, 4}
	values, indices, tokens := make([]float32, 3), make([]uint32, 3), make([]uint32, 1)
	for _, u := range []float32{0.1, 0.9} { // of a generator of random numbers
		if err := plan.Sample(values, indices, tokens, logits, []float32{u}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(values, indices, tokens)
	}
	// Output:
	// [5 4 2] [1 3 2] [1]
	// [5 4 2] [1 3 2] [3]
}
