package fft

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params fixes a plan.
type Params struct {
	N     int // samples in a row, at least 1
	Batch int // rows that a call usually brings; 0 stands for 1. Other numbers work too
}

// Plan transforms rows of real samples by the implementation that is fastest on this host for their number. It is not
// safe for concurrent use.
type Plan struct {
	params Params
	single *kernels.Engines[Params, engine] // by length
	rows   *kernels.Engines[Params, engine] // by number of rows
	scale  float64                          // rows of the measured length that take as long as one of ours, about
}

// New returns a plan. d decides by its measurements; it may be nil. The number of rows was measured at lengths 1024 and
// 4096: at another length the nearer one decides, by the number of its rows that hold as many samples.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if p.Batch == 0 {
		p.Batch = 1
	}
	if p.N < 1 || p.Batch < 1 {
		return nil, fmt.Errorf("fft: cannot plan %d rows of %d samples (want both at least 1)", p.Batch, p.N)
	}
	nearest := rowLengths[0]
	for _, n := range rowLengths[1:] {
		if math.Abs(math.Log(float64(n)/float64(p.N))) < math.Abs(math.Log(float64(nearest)/float64(p.N))) {
			nearest = n
		}
	}
	single, err := kernels.NewEngines(d, "fft/batch=1", singleContenders, Params{N: p.N, Batch: 1})
	if err != nil {
		return nil, err
	}
	rows, err := kernels.NewEngines(d, rowsCaseName(nearest), rowContenders, p)
	if err != nil {
		return nil, err
	}
	return &Plan{params: p, single: single, rows: rows, scale: float64(p.N) / float64(nearest)}, nil
}

// Transform writes bins 0 to N/2 of the unscaled transform of each row of src to the rows of dst. src holds one or more
// rows of N samples and dst as many rows of N/2+1 bins, one after the other; they must not overlap. Transform panics
// where the lengths do not fit. It fails where an implementation that it needs for the first time cannot be made
// ready; after that it allocates nothing.
func (p *Plan) Transform(dst []complex64, src []float32) error {
	rows := len(src) / p.params.N
	if rows < 1 || len(src) != rows*p.params.N || len(dst) != rows*(p.params.N/2+1) {
		panic(fmt.Sprintf("fft: rows of %d samples got src of %d and dst of %d", p.params.N, len(src), len(dst)))
	}
	engines, size := p.choice(rows)
	e, err := engines.For(size)
	if err != nil {
		return err
	}
	return e.transform(dst, src)
}

// Explain says why Transform takes the implementation that it takes for a number of rows.
func (p *Plan) Explain(rows int) dispatch.Explanation {
	engines, size := p.choice(rows)
	return engines.Explain(size)
}

// choice returns the engines that compete for a number of rows, and the size on their axis.
func (p *Plan) choice(rows int) (*kernels.Engines[Params, engine], int) {
	if rows == 1 {
		return p.single, p.params.N
	}
	return p.rows, max(1, int(math.Round(float64(rows)*p.scale)))
}
