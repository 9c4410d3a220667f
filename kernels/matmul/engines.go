package matmul

import (
	"slices"

	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/openblas"
)

// engine computes dst = A·B; A is m×k, B is k×n.
type engine interface {
	multiply(dst, a, b []float32, m, k, n int) error
}

var contenders = slices.Concat(kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(Params) (engine, error) { return own{gemm.NewSerial()}, nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(Params) (engine, error) { return own{gemm.NewParallel()}, nil },
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(Params) (engine, error) { return library{threads: 1}, nil },
	},
	{
		Implementation: kernels.Implementation{
			Name: "openblas-parallel", Processor: kernels.CPU, Probe: openblas.Probe, Version: openblas.Version,
		},
		New: func(Params) (engine, error) { return library{threads: openblas.Threads()}, nil },
	},
}, kernels.Accelerate("", newFramework), kernels.OnGPU("", newLaunch), kernels.GPUGEMM(newLibrary))

// own multiplies by package gemm.
type own struct{ *gemm.Multiplier }

func (e own) multiply(dst, a, b []float32, m, k, n int) error {
	e.Multiply(dst, a, b, m, k, n, false)
	return nil
}

type library struct{ threads int }

func (e library) multiply(dst, a, b []float32, m, k, n int) error {
	openblas.Gemm(e.threads, false, false, m, n, k, 1, a, k, b, n, 0, dst, n)
	return nil
}
