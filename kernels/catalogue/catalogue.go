// Package catalogue lists every operation of Crossover, one line each. It holds nothing else: the operations
// themselves are in the folders that it imports.
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
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
)

// operations are the families, in the order in which their cases are listed.
var operations = []func() []kernels.Case{
	elementwise.Cases,
	reduce.Cases,
	fft.Cases,
	stft.Cases,
	mel.Cases,
	matmul.Cases,
	linear.Cases,
	conv1d.Cases,
	softmax.Cases,
	biquad.Cases,
	oscillator.Cases,
	stagegraph.Cases,
}

// Cases returns every case of every operation, its data in the caller's memory.
func Cases() []kernels.Case {
	var cases []kernels.Case
	for _, operation := range operations {
		cases = append(cases, operation()...)
	}
	return cases
}

// CasesHere returns the cases that are worth measuring on this machine: Cases, and where a GPU has memory of its own,
// behind each case that it computes the resident twin, whose data lie in that memory. It opens the GPUs.
func CasesHere() []kernels.Case { return withResident(Cases(), kernels.SeparateGPUMemory()) }

func withResident(cases []kernels.Case, separateMemory bool) []kernels.Case {
	if !separateMemory {
		return cases
	}
	var all []kernels.Case
	for _, c := range cases {
		all = append(all, c)
		if slices.ContainsFunc(c.Implementations, onGPU) {
			all = append(all, c.Resident())
		}
	}
	return all
}

// onGPU reports whether an implementation computes on a GPU that is there.
func onGPU(i kernels.Implementation) bool { return i.Processor == kernels.GPU && i.Missing() == nil }
