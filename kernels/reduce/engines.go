package reduce

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// params is what the family's engines are made for: nothing, since one engine sums slices of every length.
type params struct{}

// engine returns the sum of x, which is not empty. It must not be used by two goroutines at once.
type engine interface {
	sum(x []float32) (float32, error)
}

var contenders = slices.Concat(kernels.Contenders[params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(params) (engine, error) { return serial{}, nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(params) (engine, error) { return &parallel{pool: pool.Shared()}, nil },
	},
}, kernels.OnGPU("", newLaunch))

type serial struct{}

func (serial) sum(x []float32) (float32, error) { return float32(sum(x)), nil }

// leastChunk is the least number of values in a chunk: some tenths of a microsecond with AVX2, as Pool.Grain
// wants it. Up to one chunk go-parallel computes on its caller; past it, it pays for a wake.
const leastChunk = 2 * block

// parallel sums chunks on the workers of the pool and adds their sums in the order of the slice, so that the result
// does not depend on who computed what.
type parallel struct {
	pool  *pool.Pool
	x     []float32 // of the call under way
	grain int
	sums  []float64 // of each chunk
}

func (e *parallel) sum(x []float32) (float32, error) {
	e.x, e.grain = x, e.pool.Grain(len(x), leastChunk, block)
	if chunks := (len(x)-1)/e.grain + 1; chunks > len(e.sums) {
		e.sums = make([]float64, chunks)
	}
	e.pool.Run(len(x), e.grain, e)
	e.x = nil
	var total float64
	for _, s := range e.sums[:(len(x)-1)/e.grain+1] {
		total += s
	}
	return float32(total), nil
}

// Do sums the values from lo to hi−1, which are one chunk.
func (e *parallel) Do(_, lo, hi int) { e.sums[lo/e.grain] = sum(e.x[lo:hi]) }
