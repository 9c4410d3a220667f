package kernels

import (
	"testing"

	"crossover/pool"
)

// All implementations of makers have a revision, or those that are named, and what runs on the pool has the revisions of the
// pool too. The case of a sweep has them.
func TestRevised(t *testing.T) {
	loop := LoopNamed("go", "go-parallel", func(struct{}, int) (Loop, error) { return Loop{}, nil })
	for want, by := range map[[2]int]Makers[struct{}]{
		{0, pool.Revision}:     loop,
		{2, pool.Revision + 2}: Revised(2, loop),
		{0, pool.Revision + 3}: Revised(3, loop, "go-parallel"),
	} {
		op := &Op[struct{}]{
			Name: "none", Axes: []Axis{{Name: "n", Unit: "elements", Min: 1, Max: 64}},
			Lines: []Line{{Axis: Axis{Name: "n", Unit: "elements", Min: 1, Max: 64}, At: func(size int) Shape { return Shape{size} }}},
			By:    []Makers[struct{}]{by},
		}
		c := op.Cases(&Backends{})[0]
		if got := [2]int{c.Implementations[0].Revision, c.Implementations[1].Revision}; got != want {
			t.Errorf("revisions %v, want %v", got, want)
		}
	}
}
