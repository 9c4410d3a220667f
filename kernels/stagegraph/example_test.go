package stagegraph_test

import (
	"fmt"
	"log"
	"testing"

	"crossover/kernels/kerneltest"
	"crossover/kernels/stagegraph"
)

// constant is a node that renders one value.
type constant float32

func (c constant) Render(dst []float32) {
	for i := range dst {
		dst[i] = float32(c)
	}
}

// A block allocates nothing in a program, which is another package: there a short method would be inlined.
func TestRenderAllocatesNothing(t *testing.T) {
	plan, err := stagegraph.New(nil, []stagegraph.Node{constant(1), constant(2)})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	block := make([]float32, 64)
	if err := plan.Render(block); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { plan.Render(block) }); n != 0 && !kerneltest.UnderRace() {
		t.Errorf("%g allocations a block", n)
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
