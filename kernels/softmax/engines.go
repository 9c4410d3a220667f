package softmax

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// engine sets the rows of dst to the softmax of the rows of src. It must not be used by two goroutines at once.
type engine interface {
	apply(dst, src []float32) error
}

var contenders = slices.Concat(kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newSerial(p), nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New: func(p Params) (engine, error) {
			return &parallel{serial: newSerial(p), pool: pool.Shared()}, nil
		},
	},
}, kernels.OnGPU("", newLaunch))

type serial struct {
	columns int
	loops   loops
}

func newSerial(p Params) *serial { return &serial{columns: p.Columns, loops: fastest()} }

func (e *serial) apply(dst, src []float32) error {
	for ; len(src) > 0; dst, src = dst[e.columns:], src[e.columns:] {
		e.loops.row(dst[:e.columns], src[:e.columns])
	}
	return nil
}

// leastChunk is the least number of values in a chunk: about half a microsecond of one core with AVX2, as Pool.Grain
// wants it. Up to one chunk, and always for one row, go-parallel computes on its caller; past it, it pays for a wake.
const leastChunk = 1024

// parallel divides the rows among the workers of the pool.
type parallel struct {
	*serial
	pool     *pool.Pool
	dst, src []float32 // of the call under way
}

func (e *parallel) apply(dst, src []float32) error {
	e.dst, e.src = dst, src
	rows := len(src) / e.columns
	e.pool.Run(rows, e.pool.Grain(rows, max(1, leastChunk/e.columns), 1), e)
	e.dst, e.src = nil, nil
	return nil
}

// Do computes the rows from lo to hi−1.
func (e *parallel) Do(_, lo, hi int) {
	_ = e.serial.apply(e.dst[lo*e.columns:hi*e.columns], e.src[lo*e.columns:hi*e.columns])
}
