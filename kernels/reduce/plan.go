package reduce

import (
	"errors"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// ErrEmpty says that an empty slice has no greatest and no least value.
var ErrEmpty = errors.New("reduce: the slice is empty")

// Plan reduces slices to one number by the implementation that is fastest at their length. Only one goroutine at a time may
// use a Plan. The constructors take a dispatcher, which may be nil: see [kernels.NewPlan].
type Plan struct {
	// Explain takes a number of values.
	*kernels.SizedPlan[Params]

	result [1]float32
	empty  float32 // what an empty slice reduces to
	err    error   // ErrEmpty, if an empty slice reduces to nothing
}

func newPlan(d *dispatch.Dispatcher, op *kernels.Op[Params]) *Plan {
	return &Plan{SizedPlan: kernels.NewPlan(d, op, Params{}).Along(elements, kernels.Shape{})}
}

// NewSum returns the plan of a sum. That of an empty slice is 0. The error is a few units of the last place of Σ|x[i]| at
// every length, and somewhat more with Apple's framework. If the values nearly cancel, the error is a large part of the sum.
// A partial sum beyond the range of float32 is infinite.
func NewSum(d *dispatch.Dispatcher) *Plan { return newPlan(d, &Sum) }

// NewMean returns the plan of an arithmetic mean, as accurate as the sum divided by the number of values. The mean of an
// empty slice is NaN.
func NewMean(d *dispatch.Dispatcher) *Plan {
	p := newPlan(d, &Mean)
	p.empty = float32(math.NaN())
	return p
}

// NewMax returns the plan of the greatest value. As in NumPy, it is NaN if a value is. The greatest of −0 and +0 is either.
// An empty slice has none: see [ErrEmpty].
func NewMax(d *dispatch.Dispatcher) *Plan {
	p := newPlan(d, &Max)
	p.err = ErrEmpty
	return p
}

// NewMin returns the plan of the least value. As in NumPy, it is NaN if a value is. The least of −0 and +0 is either. An
// empty slice has none: see [ErrEmpty].
func NewMin(d *dispatch.Dispatcher) *Plan {
	p := newPlan(d, &Min)
	p.err = ErrEmpty
	return p
}

// Of reduces x. It allocates nothing at a length at which the implementation has run twice. An implementation on a GPU
// remembers only the last few lengths. Of fails if every implementation fails, and for an empty slice if that reduces to
// nothing.
func (p *Plan) Of(x []float32) (float32, error) {
	if len(x) == 0 {
		return p.empty, p.err
	}
	err := kernels.RunSized(p.SizedPlan, len(x), &kernels.Args{p.result[:], x})
	return p.result[0], err
}

// IndexPlan finds the index of the greatest value by the implementation that is fastest at the length of the slice. Only one
// goroutine at a time may use an IndexPlan.
type IndexPlan struct{ plan Plan }

// NewArgMax returns the plan of the index of the greatest value: the first of those that are equal. As in NumPy, it is the
// index of the first NaN if there is one.
func NewArgMax(d *dispatch.Dispatcher) *IndexPlan {
	p := newPlan(d, &ArgMax)
	p.err = ErrEmpty
	return &IndexPlan{*p}
}

// Of returns the index of the greatest value of x. It allocates as [Plan.Of] does, and fails as that does.
func (p *IndexPlan) Of(x []float32) (int, error) {
	word, err := p.plan.Of(x)
	return int(math.Float32bits(word)), err
}

// Explain says which implementation computes a slice of a length, and why.
func (p *IndexPlan) Explain(length int) dispatch.Explanation { return p.plan.Explain(length) }

// Close releases what the implementations hold, such as GPU memory.
func (p *IndexPlan) Close() { p.plan.Close() }

// Program returns the [kernels.Program] of one of the operations.
func Program(op *kernels.Op[Params]) kernels.Program[Params] {
	return kernels.NewProgram(
		func(d *dispatch.Dispatcher, _ Params) (*Plan, error) { return newPlan(d, op), nil },
		func(plan *Plan, _ kernels.Shape, a *kernels.Args) (err error) {
			a[0][0], err = plan.Of(a[1])
			return err
		})
}
