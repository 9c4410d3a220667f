// Package catalogue lists every operation of Crossover, in one line each. The operations themselves are in the packages that
// it imports.
package catalogue

import (
	"slices"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/conv1d"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/oscillator"
	"crossover/kernels/reduce"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
)

// operations are in the order in which their cases are listed.
var operations = []func(b *kernels.Backends) []kernels.Case{
	kernels.Listed(&elementwise.Scale, elementwise.Program(&elementwise.Scale)),
	kernels.Listed(&elementwise.Log, elementwise.Program(&elementwise.Log)),
	kernels.Listed(&reduce.Sum, reduce.Program),
	kernels.Listed(&fft.Op, fft.Program),
	kernels.Listed(&stft.Op, stft.Program),
	kernels.Listed(&mel.Op, mel.Program),
	kernels.Listed(&matmul.Op, matmul.Program),
	kernels.Listed(&linear.Op, linear.Program),
	kernels.Listed(&conv1d.Op, conv1d.Program),
	kernels.Listed(&softmax.Op, softmax.Program),
	kernels.Listed(&rmsnorm.Op, rmsnorm.Program),
	kernels.Listed(&biquad.Op, biquad.Program),
	kernels.Listed(&oscillator.Op, oscillator.Program),
	kernels.Listed(&stagegraph.Op, stagegraph.Program),
}

// Cases returns every case of every operation on the given backends, in the placement caller.
func Cases(b *kernels.Backends) []kernels.Case {
	var cases []kernels.Case
	for _, operation := range operations {
		cases = append(cases, operation(b)...)
	}
	return cases
}

// Placed returns the cases that are worth measuring on the given backends, in every placement that differs there. If a GPU
// computes a case, the same case in the placement shared follows it, and also in the placement resident if the GPU has
// memory of its own. Placed opens the GPUs.
func Placed(b *kernels.Backends) []kernels.Case {
	return withPlacements(Cases(b), b.HasGPU(), b.SeparateMemory())
}

// CasesHere returns [Placed] of the backends of this machine.
func CasesHere() []kernels.Case { return Placed(kernels.Here()) }

func withPlacements(cases []kernels.Case, gpu, separateMemory bool) []kernels.Case {
	if !gpu {
		return cases
	}
	var all []kernels.Case
	for _, c := range cases {
		all = append(all, c)
		if !slices.ContainsFunc(c.Implementations, onGPU) {
			continue
		}
		all = append(all, c.Placed(kernels.Shared))
		if separateMemory {
			all = append(all, c.Placed(kernels.Resident))
		}
	}
	return all
}

// onGPU reports whether an implementation computes on a GPU and can run here.
func onGPU(i kernels.Implementation) bool { return i.Processor == kernels.GPU && i.Missing() == nil }
