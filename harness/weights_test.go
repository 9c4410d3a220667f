package harness

import (
	"testing"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/timings"
)

// The first sizes of an operation that has only its case come first, and first sizes elsewhere come before what refines any
// case.
func TestWeightsOfCases(t *testing.T) {
	c := func(operation string, p kernels.Placement) *kernels.Case {
		return &kernels.Case{Name: operation, Operation: operation, Placement: p, Axis: kernels.Axis{Name: "n", Min: 16, Max: 1 << 20}}
	}
	r := NewRun(calibration.Host{}, nil, Options{Seed: 1})
	r.Spaces = []*kernels.Space{{Operation: "fft", Placement: kernels.Caller}}
	first := func(c *kernels.Case) float64 {
		_, _, worth := r.planner(c).Next(&timings.Set{Implementations: []string{"go"}})
		return worth
	}
	refining := func(c *kernels.Case) float64 { // after the rungs
		p := r.planner(c)
		set := &timings.Set{Implementations: []string{"go"}}
		for range p.Rungs() {
			size, _, _ := p.Next(set)
			set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Seconds: []float64{1e-6}, Iterations: []int{1}})
			p.Visited(size)
		}
		_, _, worth := p.Next(set)
		return worth
	}
	alone, slice := c("gain", kernels.Caller), c("fft", kernels.Caller)
	elsewhere, aloneElsewhere := c("fft", kernels.Shared), c("gain", kernels.Resident)
	for _, order := range [][]float64{
		{first(alone), first(slice), first(elsewhere), refining(alone), refining(slice), refining(elsewhere)},
		{first(slice), first(aloneElsewhere)},
	} {
		for k := 1; k < len(order); k++ {
			if order[k] <= 0 || order[k] >= order[k-1] {
				t.Errorf("worths are %v, want them to fall", order)
			}
		}
	}
}
