package thresholds

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"crossover/timings"
)

func TestGPUUses(t *testing.T) {
	block := func(size int, wall float64, account timings.GPUTimes) timings.Block {
		return timings.Block{
			Size: size, Twin: -1, Seconds: []float64{1e-5, wall}, Iterations: []int{1, 1},
			GPU: []timings.GPUTimes{{}, account},
		}
	}
	set := &timings.Set{Case: "op", Implementations: []string{"go", "cuda"}, Blocks: []timings.Block{
		{Size: 16, Twin: -1, Seconds: []float64{1e-6, math.NaN()}, Iterations: []int{1, 0}},
		block(64, 20e-6, timings.GPUTimes{Busy: 2e-6, Span: 9e-6, Encode: 4e-6, Gap: 1e-6}),
		block(64, 10e-6, timings.GPUTimes{Busy: 4e-6, Span: 9e-6, Encode: 5e-6, Gap: 1e-6}),
		block(64, 40e-6, timings.GPUTimes{Busy: 3e-6, Span: 9e-6, Encode: 9e-6, Gap: 3e-6}),
		block(1024, 100e-6, timings.GPUTimes{Span: 80e-6, Encode: 4e-6}), // only the span is known
		block(128, 20e-6, timings.GPUTimes{Busy: 1e-6}),
		block(4096, 90e-6, timings.GPUTimes{}),
	}}
	want := []GPUUse{
		{Size: 64, Wall: 20e-6, GPU: 3e-6, Encode: 5e-6, Gap: 1e-6, Efficiency: 0.1},
		{Size: 1024, Wall: 100e-6, GPU: 80e-6, Encode: 4e-6, Efficiency: 0.8},
	}
	// The tolerance is for the rounding of one division.
	if diff := cmp.Diff(want, GPUUses(set, 1), cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	if uses := GPUUses(set, 0); uses != nil {
		t.Errorf("the processor's uses of the GPU are %+v", uses)
	}
	one := &timings.Set{Implementations: set.Implementations, Blocks: set.Blocks[5:]}
	if uses := GPUUses(one, 1); len(uses) != 1 || uses[0].Size != 128 {
		t.Errorf("uses at a single size are %+v", uses)
	}
}
