package elementwise

import (
	"math"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/native/accelerate"
)

// Params are the constants of a function: a and b of scale. The logarithm has none.
type Params struct{ A, B float32 }

// elements is the axis of the operations.
const elements = 0

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}

// function is what scale and log differ in.
type function struct {
	name, formula, source string

	loop       func(dst, src []float32, p Params) // on one core
	accelerate func(dst, src []float32, p Params)
	reference  func(x float64, p Params) float64
	describe   kernels.Append[Params]

	params Params                  // that a sweep measures with
	input  func(x float32) float32 // maps a sample to a value for which the function is defined; may be nil
	flops  float64                 // per value
	grain  int                     // least elements in a chunk: some tenths of a microsecond with AVX2, see pool.Pool.Grain
}

// cacheLine is the number of float32 in 128 bytes, the widest cache line in use (Apple's). If a slice begins on a line,
// chunks that are multiples of cacheLine share no line.
const cacheLine = 32

// declare returns the operation of a function.
func declare(f function) kernels.Op[Params] {
	return kernels.Declare(kernels.Op[Params]{
		Name: f.name, Formula: f.formula, Source: f.source,
		Axes:   axes,
		Lines:  []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) Params { return f.params },
		IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
			n := []int{s[elements]}
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: n},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: n},
			}
		},
		Fill: func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
			in.Fill(a[1])
			if f.input != nil {
				for i, v := range a[1] {
					a[1][i] = f.input(v)
				}
			}
		},
		Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 {
			y := make([]float64, len(a[1]))
			for i, v := range a[1] {
				y[i] = f.reference(float64(v), p)
			}
			return y
		},
		Tolerance: func(kernels.Shape) float64 { return 1e-5 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			n := float64(s[elements])
			return kernels.Work{Bytes: 8 * n, Flops: f.flops * n, Threads: n / 4}
		},
		By: []kernels.Makers[Params]{
			kernels.OverRows(func(p Params, _ int) (kernels.Loop, error) {
				return kernels.Loop{
					Rows:  func(s *kernels.Shape) int { return s[elements] },
					Least: f.grain, Unit: cacheLine,
					Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) { f.loop(a[0][lo:hi], a[1][lo:hi], p) },
				}, nil
			}),
			kernels.Framework("", func(p Params) (kernels.Runner, error) {
				return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
					f.accelerate(a[0], a[1], p)
					return nil
				}), nil
			}),
			kernels.KernelText("", f.describe),
		},
	})
}

// Scale declares y = a·x + b.
var Scale = declare(function{
	name:       "scale",
	formula:    "y[i] = a·x[i] + b",
	source:     "IEEE 754-2019, 5.4.1: multiplication and addition, fused or not",
	loop:       func(dst, src []float32, p Params) { scale(dst, src, p.A, p.B) },
	accelerate: func(dst, src []float32, p Params) { accelerate.Scale(dst, src, p.A, p.B) },
	reference:  func(x float64, p Params) float64 { return float64(p.A)*x + float64(p.B) },
	describe: launch("scale", func(p Params) []gpu.Argument {
		return []gpu.Argument{gpu.Values(p.A), gpu.Values(p.B)}
	}),
	params: Params{A: 1.1, B: -0.3},
	flops:  2,
	grain:  4 << 10,
})

// Log declares y = ln x.
var Log = declare(function{
	name:       "log",
	formula:    "y[i] = ln x[i]",
	source:     "IEEE 754-2019, 9.2: log",
	loop:       func(dst, src []float32, _ Params) { log(dst, src) },
	accelerate: func(dst, src []float32, _ Params) { accelerate.Log(dst, src) },
	reference:  func(x float64, _ Params) float64 { return math.Log(x) },
	describe:   launch("logarithm", nil),
	input:      func(x float32) float32 { return float32(math.Abs(float64(x))) + 1e-4 },
	flops:      20, // a polynomial
	grain:      1 << 10,
})

// Plan applies one function to every value of a slice, by the implementation that is fastest at the slice's length. Each
// value is a row of its own.
type Plan = kernels.RowPlan[Params]

// NewScale returns the plan of y = a·x + b. It chooses by d, which may be nil: see [kernels.NewPlan].
func NewScale(d *dispatch.Dispatcher, a, b float32) *Plan {
	return kernels.NewElementPlan(d, &Scale, Params{a, b})
}

// NewLog returns the plan of y = ln x. It chooses by d, which may be nil: see [kernels.NewPlan]. As in math.Log, the
// logarithm of 0 is −Inf and that of a negative number is NaN. Denormals have finite logarithms.
func NewLog(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &Log, Params{}) }

// Program returns the [kernels.Program] of one of the operations.
func Program(op *kernels.Op[Params]) kernels.Program[Params] {
	return kernels.RowProgram(func(d *dispatch.Dispatcher, p Params) (*Plan, error) {
		return kernels.NewElementPlan(d, op, p), nil
	})
}
