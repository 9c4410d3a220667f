package stagegraph_test

import (
	"fmt"
	"log"

	"crossover/kernels/stagegraph"
)

// constant is a node that renders one value.
type constant float32

func (c constant) Render(dst []float32) {
	for i := range dst {
		dst[i] = float32(c)
	}
}

func ExampleNew() {
	plan, err := stagegraph.New(nil, []stagegraph.Node{constant(0.25), constant(0.5)})
	if err != nil {
		log.Fatal(err)
	}
	defer plan.Close()

	block := make([]float32, 4)
	if err := plan.Render(block); err != nil {
		log.Fatal(err)
	}
	fmt.Println(block)
	// Output: [0.75 0.75 0.75 0.75]
}
