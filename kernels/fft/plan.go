package fft

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params are what all calls of a Plan or an InversePlan have in common.
type Params struct {
	N     int // samples in a row, 1 to 1 Gi
	Batch int // usual number of rows of a call; 0 stands for 1. Other numbers work too. N·Batch is at most 4 Gi
}

// Plan transforms rows of real samples by the implementation that is fastest at their number. Only one goroutine at a time
// may use a Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	n int
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its range.
// The times that the calibration predicts at the length and the number of rows decide on the implementation. In a calibration
// without predictions, one row is judged by its length. Numbers of rows were measured at the lengths 1024 and 4096. At
// another length the nearer of the two decides, at the number of its rows that hold as many samples.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := check(p.N, &p.Batch); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(batch, kernels.Shape{length: p.N}), p.N}, nil
}

// Transform writes bins 0 to N/2 of the unscaled transform of each row of src to the rows of dst. src holds any number of
// rows of N samples, none too, and dst as many rows of N/2+1 bins, one after the other; they must not overlap. Transform
// panics if the lengths do not fit. It fails only if every implementation fails. Transform allocates nothing at a number of
// rows at which the implementation has run twice. An implementation on a GPU remembers only the last few numbers of rows.
func (p *Plan) Transform(dst []complex64, src []float32) error {
	kernels.Made(p.SizedPlan)
	rows := len(src) / p.n
	if len(src) != rows*p.n || len(dst) != rows*(p.n/2+1) {
		panic(fmt.Sprintf("fft: rows of %d samples got src of %d and dst of %d: want %[1]d and %[4]d for each row", p.n, len(src), len(dst), p.n/2+1))
	}
	return kernels.RunSized(p.SizedPlan, rows, &kernels.Args{kernels.ComplexWords(dst), src})
}

// Program is the [kernels.Program] of Op.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	return p.Transform(kernels.Complex(a[0]), a[1])
})

// InversePlan transforms rows of bins to rows of real samples by the implementation that is fastest at their number. Only one
// goroutine at a time may use an InversePlan.
type InversePlan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	n int
}

// NewInverse returns a plan as [New] does.
func NewInverse(d *dispatch.Dispatcher, p Params) (*InversePlan, error) {
	if err := check(p.N, &p.Batch); err != nil {
		return nil, err
	}
	return &InversePlan{kernels.NewPlan(d, &InverseOp, p).Along(batch, kernels.Shape{length: p.N}), p.N}, nil
}

// Transform writes the N real samples of each row of bins to the rows of dst, divided by N, so that it undoes
// [Plan.Transform]. src holds any number of rows of the N/2+1 bins from 0 to N/2 and dst as many rows of N samples, one after
// the other; they must not overlap, and src is unchanged. The imaginary parts of bin 0 and, for even N, of bin N/2 are taken
// as 0. If a bin is infinite or NaN, no sample of its row has a meaning. Lengths, failures and allocation are as in
// [Plan.Transform].
func (p *InversePlan) Transform(dst []float32, src []complex64) error {
	kernels.Made(p.SizedPlan)
	bins := p.n/2 + 1
	rows := len(src) / bins
	if len(src) != rows*bins || len(dst) != rows*p.n {
		panic(fmt.Sprintf("ifft: rows of %d samples got src of %d and dst of %d: want %d and %[1]d for each row", p.n, len(src), len(dst), bins))
	}
	return kernels.RunSized(p.SizedPlan, rows, &kernels.Args{dst, kernels.ComplexWords(src)})
}

// InverseProgram is the [kernels.Program] of InverseOp.
var InverseProgram = kernels.NewProgram(NewInverse, func(p *InversePlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Transform(a[0], kernels.Complex(a[1]))
})

// ComplexParams are what all calls of a ComplexPlan have in common.
type ComplexParams struct {
	N       int  // values in a row, 1 to 1 Gi
	Batch   int  // usual number of rows of a call; 0 stands for 1. Other numbers work too. N·Batch is at most 4 Gi
	Inverse bool // the plan computes the inverse transform
}

// ComplexPlan transforms rows of complex values, in one direction, by the implementation that is fastest at their number.
// Only one goroutine at a time may use a ComplexPlan.
type ComplexPlan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[ComplexParams]

	n int
}

// NewComplexPlan returns a plan as [New] does. Both directions are chosen by the times of the forward transform.
func NewComplexPlan(d *dispatch.Dispatcher, p ComplexParams) (*ComplexPlan, error) {
	if err := check(p.N, &p.Batch); err != nil {
		return nil, err
	}
	return &ComplexPlan{kernels.NewPlan(d, &ComplexOp, p).Along(batch, kernels.Shape{length: p.N}), p.N}, nil
}

// Transform writes the transform of each row of src to the rows of dst: the unscaled forward transform, or the inverse one,
// divided by N. Both hold any number of rows of N values, one after the other; they must not overlap, and src is unchanged.
// If a value is infinite or NaN, no result of its row has a meaning. Lengths, failures and allocation are as in
// [Plan.Transform].
func (p *ComplexPlan) Transform(dst, src []complex64) error {
	kernels.Made(p.SizedPlan)
	rows := len(src) / p.n
	if len(src) != rows*p.n || len(dst) != len(src) {
		panic(fmt.Sprintf("fft: rows of %d complex values got src of %d and dst of %d: want equal lengths, a multiple of %[1]d", p.n, len(src), len(dst)))
	}
	return kernels.RunSized(p.SizedPlan, rows, &kernels.Args{kernels.ComplexWords(dst), kernels.ComplexWords(src)})
}

// ComplexProgram is the [kernels.Program] of ComplexOp.
var ComplexProgram = kernels.NewProgram(NewComplexPlan, func(p *ComplexPlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Transform(kernels.Complex(a[0]), kernels.Complex(a[1]))
})

// The greatest numbers of samples in a row, and in the usual number of rows.
const (
	mostLength  = 1 << 30
	mostSamples = 1 << 32
)

// check checks the parameters of a plan, and replaces a batch of 0.
func check(n int, batch *int) error {
	if *batch == 0 {
		*batch = 1
	}
	if n < 1 || *batch < 1 {
		return fmt.Errorf("fft: cannot plan %d rows of %d samples (want both at least 1)", *batch, n)
	}
	if n > mostLength || *batch > mostSamples/n {
		return fmt.Errorf("fft: cannot plan %d rows of %d samples (want at most %d in a row, and %d in all)", *batch, n,
			mostLength, mostSamples)
	}
	return nil
}
