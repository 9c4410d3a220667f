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

func (p Params) validate() error {
	if p.Columns < 1 {
		return fmt.Errorf("softmax: columns is %d, want at least 1", p.Columns)
	}
	return nil
}

// The axes of the operation.
const (
	rows = iota
	columns
)

var axes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "columns", Min: 32, Max: 128 << 10},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "softmax",
	Formula: "y[i,j] = exp(x[i,j] − m[i]) / Σₖ exp(x[i,k] − m[i]), m[i] = maxₖ x[i,k]",
	Source:  "Blanchard, Higham, Higham, IMA J. Numer. Anal. 41 (2021), 2311–2330",
	Axes:    axes,
	Lines:   []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})},
	Params:  func(s kernels.Shape) Params { return Params{Columns: s[columns]} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		matrix := []int{s[rows], s[columns]}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: matrix},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: matrix},
		}
	},
	// Seeded noise in [−8, 8), the range of a network's logits.
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		for i := range a[1] {
			a[1][i] *= 8
		}
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(a[1], p.Columns) },
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 25 // of a value: an exponential, a maximum, a sum, a division
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 8 * n, Flops: flops * n, Pieces: float64(s[rows]), Threads: n / 4}
	},
	By: []kernels.Makers[Params]{
		kernels.OverRows(newLoop),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendRows),
	},
})

// newLoop returns the softmax of rows on the processor.
func newLoop(p Params, _ int) (kernels.Loop, error) {
	loops := fastest()
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return s[rows] },
		// Up to one chunk, and always for one row, go-parallel computes on its caller; past it, it pays for a wake.
		Least: leastChunk / p.Columns,
		Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			for row := lo; row < hi; row++ {
				at := row * p.Columns
				loops.row(a[0][at:at+p.Columns], a[1][at:at+p.Columns])
			}
		},
	}, nil
}

// leastChunk is the least number of values in a chunk: about half a microsecond of one core with AVX2.
const leastChunk = 1024

// Plan computes the softmax of rows with the implementation that is fastest at their number. It must not be used by
// two goroutines at once.
type Plan struct {
	columns int
	plan    *kernels.Plan[Params]
}

// New returns a plan that chooses by d; d may be nil. It fails where p.Columns is below 1.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	plan, err := kernels.NewPlan(d, &Op, p)
	if err != nil {
		return nil, err
	}
	return &Plan{p.Columns, plan}, nil
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
	return p.plan.Run(kernels.Shape{rows: len(src) / p.columns, columns: p.columns}, kernels.Args{dst, src})
}

// Explain says why Apply takes the implementation that it takes for a number of rows.
func (p *Plan) Explain(n int) dispatch.Explanation {
	return p.plan.Explain(kernels.Shape{rows: n, columns: p.columns})
}

// Close gives back what the implementations hold. Who does not call it leaves it to the garbage collector.
func (p *Plan) Close() { p.plan.Close() }

// Program calls a plan as a program does.
func Program(d *dispatch.Dispatcher, p Params) (func(s kernels.Shape, a *kernels.Args) error, error) {
	plan, err := New(d, p)
	return func(_ kernels.Shape, a *kernels.Args) error { return plan.Apply(a[0], a[1]) }, err
}

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
