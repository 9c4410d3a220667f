package oscillator

import (
	"fmt"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// forced returns the implementation on a GPU by a given strategy.
func forced(name string, by strategy) kernels.Makers[Params] {
	return kernels.KernelText(name, func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendBy(b, by, newVoices(p), s[samples], t)
	})
}

// TestStrategies renders banks by every strategy, at sizes around simdgroups and the samples of a threadgroup.
func TestStrategies(t *testing.T) {
	op := strict()
	op.By, op.Lines = nil, nil
	for _, by := range []strategy{{32, 32, 1, 1}, {64, 4, 1, 2}, {128, 8, 4, 1}, {256, 32, 8, 3}, {64, 4, 20, 2}} {
		op.By = append(op.By, forced(fmt.Sprintf("%+v", by), by))
	}
	for _, n := range []int{1, 31, 33, 257, 512, 600} {
		op.Lines = append(op.Lines, kernels.Along(axes, "voices", kernels.Param{Name: "n", Value: n}))
	}
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, line := range op.Lines {
		c := op.CaseOf(b, line)
		for _, size := range []int{1, 2, 3, 17, 33} {
			problem := c.Problem(size, kernels.Input{})
			want := problem.Reference()
			for _, i := range c.Implementations {
				call, err := problem.Bind(i.Name)
				if err != nil {
					t.Fatal(err)
				}
				if err := call.Run(); err != nil {
					t.Errorf("%s, %s, %d voices: %v", c.Name, i.Name, size, err)
				}
				if off := call.ErrorAgainst(want); !(off <= c.Tolerance(size)) {
					t.Errorf("%s, %s, %d voices: error %.2g, want at most 1e-5", c.Name, i.Name, size, off)
				}
				call.Release()
			}
		}
	}
}

func TestStrategy(t *testing.T) {
	for _, test := range []struct {
		voices, n, cores int
		want             strategy
	}{
		{1, 512, 132, strategy{32, 4, 1, 1}},
		{9, 512, 132, strategy{64, 4, 1, 1}},
		{256, 512, 132, strategy{1024, 4, 1, 1}},
		{1024, 512, 132, strategy{1024, 4, 1, 1}},
		{4096, 512, 132, strategy{256, 16, 16, 256}},
		{16384, 512, 132, strategy{256, 16, 16, 528}},
		{1024, 352800, 132, strategy{256, 16, 28, 1}},
		{256, 100_000, 132, strategy{256, 16, 16, 2}},
		{1, 1 << 20, 132, strategy{32, 16, 24, 1}},
		{4096, 512, 0, strategy{256, 16, 16, 1}},
	} {
		if got := strategyFor(test.voices, test.n, test.cores); got != test.want {
			t.Errorf("%d voices, %d samples: %+v, want %+v", test.voices, test.n, got, test.want)
		}
	}
}

// The starts of voices and the mix of a threadgroup, or of several, must not be read before they are written, nor written again
// before they are read.
func TestBarriers(t *testing.T) {
	op := Op
	op.By = []kernels.Makers[Params]{forced("", strategy{64, 4, 4, 2})}
	kerneltest.Barriers(t, &op, kerneltest.GPUName, kernels.Shape{voices: 200, samples: 40})
}
