package elementwise

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// function is one of the family's functions with its parameters bound: what the engines run.
type function struct {
	operation *operation
	a, b      float32
}

// compute sets dst[i] to the function of src[i] on one core.
func (f function) compute(dst, src []float32) { f.operation.loop(dst, src, f.a, f.b) }

// engine sets dst[i] to the function of src[i]. It must not be used by two goroutines at once.
type engine interface {
	apply(dst, src []float32) error
}

var contenders = slices.Concat(kernels.Contenders[function, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(f function) (engine, error) { return serial{f}, nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(f function) (engine, error) { return &parallel{function: f, pool: pool.Shared()}, nil },
	},
}, kernels.Accelerate("", newFramework), kernels.OnGPU("", newLaunch))

type serial struct{ function }

func (e serial) apply(dst, src []float32) error {
	e.compute(dst, src)
	return nil
}

// parallel divides the slice among the workers of the pool, but not into chunks shorter than operation.grain, and so
// not at all up to one grain.
type parallel struct {
	function
	pool     *pool.Pool
	dst, src []float32 // of the call under way
}

// cacheLine is the number of float32 in one of the widest cache lines in use, Apple's 128 bytes: chunks that are
// multiples of it share no line, where the slice starts on one.
const cacheLine = 32

func (e *parallel) apply(dst, src []float32) error {
	e.dst, e.src = dst, src
	e.pool.Run(len(src), e.pool.Grain(len(src), e.operation.grain, cacheLine), e)
	e.dst, e.src = nil, nil
	return nil
}

// Do computes the elements from lo to hi−1.
func (e *parallel) Do(_, lo, hi int) { e.compute(e.dst[lo:hi], e.src[lo:hi]) }
