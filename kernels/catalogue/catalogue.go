// Package catalogue lists every operation of Crossover, one line each. It holds nothing else: the operations
// themselves are in the folders that it imports.
package catalogue

import (
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

// Cases returns every case of every operation.
func Cases() []kernels.Case {
	var cases []kernels.Case
	for _, operation := range operations {
		cases = append(cases, operation()...)
	}
	return cases
}
