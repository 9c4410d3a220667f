// Package glu gates the first half of each row by the second half:
//
//	y[i,j] = x[i,j] · σ(x[i,c+j]),   σ(b) = 1/(1 + e^−b),   j from 0 to c−1
//
// x has rows of 2c values and y has rows of c. Source: Y. Dauphin, A. Fan, M. Auli, D. Grangier, Language Modeling with Gated
// Convolutional Networks, ICML 2017; PyTorch has it as torch.nn.GLU, with the same layout.
//
// The package has no other gates, such as SwiGLU. The usual steps are New with the number of columns, once, and Apply.
package glu

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/rowwise"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Columns int // of y, at least 1
}

const (
	rows, columns = 0, 1 // axes
)

var axes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "columns", Min: 16, Max: 16 << 10, Usual: []int{32, 64, 128, 256, 512, 1024, 2048, 4096}},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "glu",
	Formula:  "y[i,j] = x[i,j] / (1 + exp(−x[i,columns+j]))",
	Source:   "Dauphin, Fan, Auli, Grangier, ICML 2017; torch.nn.GLU",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})},
	Params:   func(s kernels.Shape) Params { return Params{s[columns]} },
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], p.Columns}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], 2 * p.Columns}},
		}
	},
	// Seeded noise in [−4, 4), a usual range of what comes before an activation.
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		for i := range a[1] {
			a[1][i] *= 4
		}
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(a[1], p.Columns) },
	Tolerance: func(kernels.Shape) float64 { return 5e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 12 * n, Flops: 25 * n, Pieces: float64(s[rows]), Threads: n / 4}
	},
	By: []kernels.Makers[Params]{kernels.OverRows(newLoop), kernels.KernelText("", appendRows)},
})

// Plan gates rows by the implementation that is fastest at their number. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	columns int
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails unless p.Columns is from 1 to
// half of the greatest int.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if p.Columns < 1 || p.Columns > math.MaxInt/2 {
		return nil, fmt.Errorf("glu: columns is %d, want 1 to %d", p.Columns, math.MaxInt/2)
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(rows, kernels.Shape{columns: p.Columns}), p.Columns}, nil
}

// Apply computes the rows of dst, rows×columns, from those of src, rows×2·columns, both row-major. They must not overlap. A
// gate of +Inf lets a value through, and one of −Inf makes it 0, or NaN if it is infinite. A NaN on either side becomes NaN.
// A gate below −103 may count as −Inf, on a GPU one below −88. Apply allocates nothing at a number of rows at which the implementation has run
// twice. An implementation on a GPU remembers only the last few numbers of rows. Apply panics if the lengths do not fit. It
// fails if every implementation does.
func (p *Plan) Apply(dst, src []float32) error {
	kernels.Made(p.SizedPlan)
	if len(src) != 2*len(dst) || len(dst)%p.columns != 0 {
		panic(fmt.Sprintf("glu: %d columns got src of %d and dst of %d values: want %d and %[1]d for each row", p.columns, len(src), len(dst), 2*p.columns))
	}
	return kernels.RunSized(p.SizedPlan, len(dst)/p.columns, &kernels.Args{dst, src})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error { return p.Apply(a[0], a[1]) })

func newLoop(p Params, _ int) (kernels.Loop, error) {
	const aboutAMicrosecond = 2048 // values
	return kernels.Loop{
		Rows:           func(s *kernels.Shape) int { return s[rows] },
		PerMicrosecond: aboutAMicrosecond / float64(p.Columns),
		Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			for row := lo; row < hi; row++ {
				x := a[1][2*row*p.Columns : 2*(row+1)*p.Columns]
				gate(a[0][row*p.Columns:(row+1)*p.Columns], x[:p.Columns], x[p.Columns:])
			}
		},
	}, nil
}

//go:embed glu.metal
var text string

func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	const threads = 256 // in a threadgroup
	width := rowwise.Width(p.Columns)
	perRow := p.Columns / width
	elements := s[rows] * perRow
	b.Dispatch(b.Kernel(gpu.Source{Name: "glu.metal", Text: text}.Define("WIDTH", width), "glu"),
		gpu.Size{X: (elements + threads - 1) / threads, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[0], t[1], gpu.Values(elements, perRow))
}

// Reference returns the gated rows of x, which is rows×2·columns and row-major, in float64.
func Reference(x []float32, columns int) (y []float64) {
	for lo := 0; lo < len(x); lo += 2 * columns {
		for j := lo; j < lo+columns; j++ {
			y = append(y, float64(x[j])/(1+math.Exp(-float64(x[j+columns]))))
		}
	}
	return y
}
