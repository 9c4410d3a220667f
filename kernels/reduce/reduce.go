package reduce

import (
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// Params is empty, because one plan sums slices of every length.
type Params struct{}

// elements is the axis of the operation.
const elements = 0

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}

// Sum declares Σ x[i].
var Sum = kernels.Declare(kernels.Op[Params]{
	Name:    "sum",
	Formula: "Σ x[i]",
	Source:  "N. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), 783–799",
	Axes:    axes,
	Lines:   []kernels.Line{kernels.Along(axes, "n")},
	Params:  func(kernels.Shape) Params { return Params{} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{1}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[elements]}},
		}
	},
	// Seeded noise in [0, 2). Noise around 0 would nearly cancel, and the relative error of the small sum would depend on
	// the noise more than on the summation.
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		for i := range a[1] {
			a[1][i]++
		}
	},
	Reference: func(_ Params, _ kernels.Shape, a *kernels.Args) []float64 { return []float64{Reference(a[1])} },
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[elements])
		return kernels.Work{Bytes: 4 * n, Flops: n, Threads: n / 32, Launches: 2}
	},
	By: []kernels.Makers[Params]{
		kernels.InGo(
			func(Params) kernels.Runner { return kernels.RunnerFunc(serial) },
			func(_ Params, workers *pool.Pool) kernels.Runner { return &parallel{pool: workers} }),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendSum),
	},
})

// serial sums on one core.
func serial(_ kernels.Shape, a *kernels.Args) error {
	a[0][0] = float32(sum(a[1]))
	return nil
}

// leastChunk is the least number of values in a chunk: some tenths of a microsecond with AVX2, see pool.Pool.Grain. A slice
// of at most one chunk is summed by the caller, without waking a helper.
const leastChunk = 2 * block

// parallel sums chunks on the workers of the pool, and adds their sums in the order of the slice. So the result does not
// depend on which worker computed which chunk.
type parallel struct {
	pool  *pool.Pool
	x     []float32 // of the current call
	grain int
	sums  []float64 // of each chunk
}

func (e *parallel) Run(_ kernels.Shape, a *kernels.Args) error {
	x := a[1]
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
	a[0][0] = float32(total)
	return nil
}

// Do sums the values from lo to hi−1, which are one chunk.
func (e *parallel) Do(_, lo, hi int) { e.sums[lo/e.grain] = sum(e.x[lo:hi]) }

// Plan sums slices by the implementation that is fastest at their length. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of values.
	*kernels.SizedPlan[Params]

	result [1]float32
}

// NewSum returns a plan that chooses by d, which may be nil: see [kernels.NewPlan].
func NewSum(d *dispatch.Dispatcher) *Plan {
	return &Plan{SizedPlan: kernels.NewPlan(d, &Sum, Params{}).Along(elements, kernels.Shape{})}
}

// Sum returns the sum of x, and 0 for an empty slice. The error is a few units of the last place of Σ|x[i]| at every
// length, and somewhat more with Apple's framework. If the values nearly cancel, the error is a large part of the sum. A
// partial sum beyond the range of float32 is infinite.
//
// Sum allocates nothing at a length at which the implementation has run twice. An implementation on a GPU remembers only the
// last few lengths. Sum fails only if every implementation fails.
func (p *Plan) Sum(x []float32) (float32, error) {
	if len(x) == 0 {
		return 0, nil
	}
	err := kernels.RunSized(p.SizedPlan, len(x), kernels.Args{p.result[:], x})
	return p.result[0], err
}

// Program is the [kernels.Program] of the operation.
func Program(d *dispatch.Dispatcher, _ Params) (func(s kernels.Shape, a *kernels.Args) error, error) {
	plan := NewSum(d)
	return func(_ kernels.Shape, a *kernels.Args) (err error) {
		a[0][0], err = plan.Sum(a[1])
		return err
	}, nil
}

// Reference returns the sum of x, added one after the other in float64.
func Reference(x []float32) float64 {
	var total float64
	for _, v := range x {
		total += float64(v)
	}
	return total
}
