package harness

import (
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/timings"
)

// The first sizes of cases that are all that programs choose by come first, and first sizes elsewhere come before what refines
// any case. A case elsewhere has two sizes before one of caller has its last two, so that a budget that ends early leaves none
// with a single size. The second of two sizes comes before the third of three. Sizes of which something is known by shapes come
// after all first sizes of caller.
func TestWeightsOfCases(t *testing.T) {
	c := func(alone bool, p kernels.Placement) *kernels.Case {
		return &kernels.Case{Alone: alone, Placement: p, Axis: kernels.Axis{Name: "n", Min: 16, Max: 1 << 20}}
	}
	r := NewRun(calibration.Host{}, nil, Options{Seed: 1})
	r.Spaces = []*kernels.Space{{Operation: "matmul", Placement: kernels.Shared}}
	first := func(c *kernels.Case) float64 {
		_, _, worth := r.planner(c).Next(&timings.Set{Implementations: []string{"go"}})
		return worth
	}
	after := func(c *kernels.Case, rungs int) float64 { // after so many rungs
		p := r.planner(c)
		set := &timings.Set{Implementations: []string{"go"}}
		for range rungs {
			size, _, _ := p.Next(set)
			set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Seconds: []float64{1e-6}, Iterations: []int{1}})
			p.Visited(size)
		}
		_, _, worth := p.Next(set)
		return worth
	}
	refining := func(c *kernels.Case) float64 { return after(c, len(r.FirstSizes(c))) }
	alone, slice := c(true, kernels.Caller), c(false, kernels.Caller)
	elsewhere, aloneElsewhere := c(false, kernels.Shared), c(true, kernels.Resident)
	predicted, otherPlacement := c(false, kernels.Shared), c(false, kernels.Resident)
	predicted.Operation, otherPlacement.Operation = "matmul", "matmul"
	last := len(r.FirstSizes(slice)) - 1
	two, three := c(false, kernels.Resident), c(false, kernels.Resident)
	two.Axis.Max, three.Axis.Max = 1<<10, 1<<16
	for _, order := range [][]float64{
		{after(three, 1), after(two, 1), after(three, 2)},
		{first(alone), first(slice), first(elsewhere), refining(alone), refining(slice), refining(elsewhere)},
		{first(slice), first(aloneElsewhere)},
		{after(elsewhere, 1), after(slice, last-1)},
		{after(otherPlacement, 1), after(slice, last-1)},
		{after(slice, last), first(predicted), refining(alone)},
	} {
		for k := 1; k < len(order); k++ {
			if order[k] <= 0 || order[k] >= order[k-1] {
				t.Errorf("worths are %v, want them to fall", order)
			}
		}
	}
}

// The first sizes elsewhere are far apart in work, so that the next is affordable: a cube of 64 times the side has 262 144 times as
// much.
func TestFirstSizesElsewhere(t *testing.T) {
	r := NewRun(calibration.Host{}, nil, Options{Seed: 1})
	for name, want := range map[string][]int{
		"rows": {16, 1024, 65536}, "cube": {16, 64, 256, 1024, 4096, 16384, 65536}, "constant": {16, 1024, 65536},
	} {
		c := kernels.Case{Placement: kernels.Resident, Axis: kernels.Axis{Name: "n", Min: 16, Max: 65536}}
		c.Work = func(size int, _ string) kernels.Work {
			n := float64(size)
			return kernels.Work{Flops: map[string]float64{"rows": n, "cube": n * n * n, "constant": 5}[name]}
		}
		if got := r.FirstSizes(&c); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
