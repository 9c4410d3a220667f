package linear

import (
	"slices"

	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/openblas"
)

// engine computes dst = x·Wᵀ + b for at least one row.
type engine interface {
	forward(dst, x []float32, rows int) error
}

var contenders = slices.Concat(kernels.Contenders[layer, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(l layer) (engine, error) { return newOwn(l, gemm.NewSerial()), nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(l layer) (engine, error) { return newOwn(l, gemm.NewParallel()), nil },
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(l layer) (engine, error) { return blas{l, 1}, nil },
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas-parallel", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(l layer) (engine, error) { return blas{l, openblas.Threads()}, nil },
	},
}, kernels.Accelerate("", newFramework), kernels.OnGPU("", newLaunch), kernels.GPUGEMM(newLibrary))

// addBias starts every row of dst with the bias, to which the product is then added.
func (l *layer) addBias(dst []float32) {
	for ; len(dst) > 0; dst = dst[l.out:] {
		copy(dst, l.bias)
	}
}

// own multiplies by package gemm, with the weights packed once.
type own struct {
	layer
	packed     *gemm.Packed
	multiplier *gemm.Multiplier
}

func newOwn(l layer, m *gemm.Multiplier) own { return own{l, gemm.Pack(l.weights, l.in, l.out), m} }

func (e own) forward(dst, x []float32, rows int) error {
	e.addBias(dst)
	e.multiplier.MultiplyPacked(dst, x, e.packed, rows, true)
	return nil
}

type blas struct {
	layer
	threads int
}

// vectorRows is the number of rows up to which a matrix-vector product for each beats one matrix product in OpenBLAS,
// which packs all of W first. At 1024×1024 on an AMD EPYC 9004 with OpenBLAS 0.3.21 one row takes a fifth of the time
// that way, four rows five sixths, eight rows 1.3 times as long.
const vectorRows = 4

func (e blas) forward(dst, x []float32, rows int) error {
	e.addBias(dst)
	if rows > vectorRows {
		openblas.Gemm(e.threads, false, false, rows, e.out, e.in, 1, x, e.in, e.weights, e.out, 1, dst, e.out)
		return nil
	}
	for r := range rows {
		openblas.Gemv(e.threads, true, e.in, e.out, 1, e.weights, e.out, x[r*e.in:], 1, dst[r*e.out:])
	}
	return nil
}
