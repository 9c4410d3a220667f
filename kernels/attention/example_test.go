package attention_test

import (
	"fmt"
	"log"

	"crossover/kernels/attention"
)

func ExampleNew() {
	plan, err := attention.New(nil, attention.Params{Heads: 1, Width: 2, Causal: true}) // nil: no calibration
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	// Two new queries of a sequence of three. The first one sees two keys, and the second one all of them.
	q := []float32{0, 0, 0, 100}
	k := []float32{1, 0, 0, 0, 0, 1}
	v := []float32{1, 10, 3, 30, 5, 50}
	y := make([]float32, len(q))
	if err := plan.Attend(y, q, k, v); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [2 20 5 50]
}
