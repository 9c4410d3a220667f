// Package softmax turns each row of a matrix into a probability distribution:
//
//	y[j] = e^(x[j] − m) / Σ_k e^(x[k] − m),   m = max_k x[k]
//
// Subtracting the row's maximum changes nothing in exact arithmetic and keeps every exponential at most 1, so that no
// input overflows. Source: P. Blanchard, D. Higham, N. Higham, Accurately computing the log-sum-exp and softmax
// functions, IMA J. Numer. Anal. 41 (2021), pages 2311–2330.
//
// It does not take a mask, a temperature or a stride, and on the CPU one row is computed by one worker, however long it
// is. The usual steps are New with the number of columns, once, and Apply.
package softmax

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params is what a plan is made for.
type Params struct {
	Columns int // values in a row, at least 1
}

func (p Params) caseName() string { return fmt.Sprintf("softmax/columns=%d", p.Columns) }

func (p Params) validate() error {
	if p.Columns < 1 {
		return fmt.Errorf("softmax: columns is %d, want at least 1", p.Columns)
	}
	return nil
}

// Plan computes the softmax of rows with the implementation that is fastest at their number. It must not be used by
// two goroutines at once.
type Plan struct {
	columns int
	engines *kernels.Engines[Params, engine]
}

// New returns a plan that chooses by d; d may be nil. It fails where p.Columns is below 1.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	engines, err := kernels.NewEngines(d, p.caseName(), contenders, p)
	if err != nil {
		return nil, err
	}
	return &Plan{p.Columns, engines}, nil
}

// Apply sets each row of dst to the softmax of the same row of src. Both are rows×columns, row-major; dst may be src
// itself and must not overlap it otherwise. An entry of −Inf becomes 0, and so does one that is more than 87 below
// its row's maximum, but that Apple's framework may make a denormal of it. A row that holds a NaN or a +Inf, or nothing
// but −Inf, becomes NaN. A GPU may make 0 of a denormal result. Apply allocates nothing once an implementation has been
// used at a number of rows; a GPU's remembers a few of them.
//
// It panics where the lengths differ or are no multiple of the number of columns. It fails where the chosen
// implementation does.
func (p *Plan) Apply(dst, src []float32) error {
	if len(dst) != len(src) {
		panic("softmax: dst and src differ in length")
	}
	if len(src)%p.columns != 0 {
		panic("softmax: length is not a multiple of the number of columns")
	}
	if len(src) == 0 {
		return nil
	}
	engine, err := p.engines.For(len(src) / p.columns)
	if err != nil {
		return err
	}
	return engine.apply(dst, src)
}

// Explain says why Apply takes the implementation that it takes for a number of rows.
func (p *Plan) Explain(rows int) dispatch.Explanation { return p.engines.Explain(rows) }

// Reference returns the softmax of each row of x, which is rows×columns and row-major, in float64.
func Reference(x []float32, columns int) []float64 {
	y := make([]float64, len(x))
	for lo := 0; lo < len(x); lo += columns {
		row := x[lo : lo+columns]
		shift := math.Inf(-1)
		for _, v := range row {
			shift = math.Max(shift, float64(v))
		}
		var sum float64
		for j, v := range row {
			y[lo+j] = math.Exp(float64(v) - shift)
			sum += y[lo+j]
		}
		for j := range row {
			y[lo+j] /= sum
		}
	}
	return y
}

// Cases returns the case of the family.
func Cases() []kernels.Case { return []kernels.Case{CaseOf(Params{Columns: 1024})} }

// CaseOf returns the case of other parameters than the catalogue's, for who measures more.
func CaseOf(p Params) kernels.Case {
	return kernels.Case{
		Name:            p.caseName(),
		Operation:       "softmax",
		Definition:      "y[i,j] = exp(x[i,j] − m[i]) / Σₖ exp(x[i,k] − m[i]), m[i] = maxₖ x[i,k]",
		Source:          "Blanchard, Higham, Higham, IMA J. Numer. Anal. 41 (2021), 2311–2330",
		Params:          []kernels.Param{{Name: "columns", Value: p.Columns}},
		Axis:            kernels.Axis{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
		Tolerance:       func(int) float64 { return 1e-5 },
		Bytes:           func(rows int) float64 { return 8 * float64(rows) * float64(p.Columns) },
		Implementations: contenders.Implementations(),
		Problem:         func(rows int, _ kernels.Input) kernels.Problem { return newProblem(rows, p) },
	}
}

// problem is the softmax of rows of seeded noise in [−8, 8), the range of a network's logits.
type problem struct {
	params Params
	x      []float32
}

func newProblem(rows int, params Params) *problem {
	p := &problem{params, make([]float32, rows*params.Columns)}
	kernels.Noise(p.x, 1)
	for i := range p.x {
		p.x[i] *= 8
	}
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.x, p.params.Columns) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, p.params)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("softmax: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.x)
	}
	y := make([]float32, len(p.x))
	return kernels.Call{
		Run:    func() error { return engine.apply(y, p.x) },
		Output: func() []float32 { return y },
	}, nil
}
