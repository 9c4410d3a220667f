package fft

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params are what all calls of a plan have in common.
type Params struct {
	N     int // samples in a row, at least 1
	Batch int // usual number of rows of a call; 0 stands for 1. Other numbers work too
}

// Plan transforms rows of real samples by the implementation that is fastest at their number. Only one goroutine at a time
// may use a Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	n int
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.N or p.Batch is negative, or
// if p.N is 0. The times that the calibration predicts at the length and the number of rows decide on the implementation. In
// a calibration without predictions, one row is judged by its length. Numbers of rows were measured at the lengths 1024 and
// 4096. At another length the nearer of the two decides, at the number of its rows that hold as many samples.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if p.Batch == 0 {
		p.Batch = 1
	}
	if p.N < 1 || p.Batch < 1 {
		return nil, fmt.Errorf("fft: cannot plan %d rows of %d samples (want both at least 1)", p.Batch, p.N)
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(batch, kernels.Shape{length: p.N}), p.N}, nil
}

// Transform writes bins 0 to N/2 of the unscaled transform of each row of src to the rows of dst. src holds one or more rows
// of N samples and dst as many rows of N/2+1 bins, one after the other; they must not overlap. Transform panics if the
// lengths do not fit. It fails only if every implementation fails. Transform allocates nothing at a number of rows at which
// the implementation has run twice. An implementation on a GPU remembers only the last few numbers of rows.
func (p *Plan) Transform(dst []complex64, src []float32) error {
	rows := len(src) / p.n
	if rows < 1 || len(src) != rows*p.n || len(dst) != rows*(p.n/2+1) {
		panic(fmt.Sprintf("fft: rows of %d samples got src of %d and dst of %d", p.n, len(src), len(dst)))
	}
	return kernels.RunSized(p.SizedPlan, rows, kernels.Args{kernels.ComplexWords(dst), src})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	return p.Transform(kernels.Complex(a[0]), a[1])
})
