package elementwise

import (
	"math"

	"crossover/kernels"
	"crossover/kernels/elementwise/approx"
	"crossover/native/accelerate"
)

// Params are the constants a and b of a function. Most functions have fewer or none.
type Params struct{ A, B float32 }

// elements is the axis of the operations.
const elements = 0

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}

// function is what the operations differ in.
type function struct {
	name, formula, source string

	complex   bool                // whether the values of x are complex
	inGo      loop                // on one core
	inGoOnly  func(p Params) bool // says for which constants there is no vector code; may be nil
	framework loop                // by Apple's framework, which lacks some functions; may be nil
	kernel    string              // in elementwise.metal
	constants int                 // that the kernel takes, of a and b
	reference func(x complex128, p Params) float64

	params    Params                  // that a sweep measures with
	input     func(x float32) float32 // maps a sample to a value for which the function is defined; may be nil
	tolerance float64
	flops     float64 // per value
	grain     int     // least elements in a chunk: about a microsecond with AVX2, see pool.Pool.Grain
	revision  int     // of the implementations in Go
}

// cacheLine is the number of float32 in 128 bytes, the widest cache line in use (Apple's). If a slice begins on a line,
// chunks that are multiples of cacheLine share no line.
const cacheLine = 32

// declare returns the operation of a function.
func declare(f function) kernels.Op[Params] {
	inputs, element, inPlaceOf := 1, kernels.Float32, "x" // words and type of an input
	if f.complex {
		inputs, element, inPlaceOf = 2, kernels.Complex64, ""
	}
	fast := fastest(f.name, f.inGo)
	var framework kernels.Makers[Params] = func(*kernels.Backends, *kernels.Op[Params]) []kernels.Maker[Params] { return nil }
	if f.framework != nil {
		framework = kernels.Framework("", func(p Params) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
				f.framework(a[0], a[1], p)
				return nil
			}), nil
		})
	}
	return kernels.Declare(kernels.Op[Params]{
		Name: f.name, Formula: f.formula, Source: f.source,
		Axes:   axes,
		Lines:  []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) Params { return f.params },
		IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
			n := []int{s[elements]}
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: n, InPlaceOf: inPlaceOf},
				{Name: "x", Role: kernels.In, Type: element, Dims: n},
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
			y := make([]float64, len(a[1])/inputs)
			for i := range y {
				x := complex(float64(a[1][inputs*i]), 0)
				if f.complex {
					x = complex(real(x), float64(a[1][inputs*i+1]))
				}
				y[i] = f.reference(x, p)
			}
			return y
		},
		Tolerance: func(kernels.Shape) float64 { return f.tolerance },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			n := float64(s[elements])
			return kernels.Work{Bytes: 4 * float64(inputs+1) * n, Flops: f.flops * n, Threads: n * float64(inputs) / 4}
		},
		By: []kernels.Makers[Params]{
			kernels.Revised(f.revision, kernels.OverRows(func(p Params, _ int) (kernels.Loop, error) {
				compute := fast
				if f.inGoOnly != nil && f.inGoOnly(p) {
					compute = f.inGo
				}
				return kernels.Loop{
					Rows:           func(s *kernels.Shape) int { return s[elements] },
					PerMicrosecond: float64(f.grain), Unit: cacheLine,
					Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
						compute(a[0][lo:hi], a[1][inputs*lo:inputs*hi], p)
					},
				}, nil
			})),
			framework,
			kernels.KernelText("", f.appendKernel),
		},
	})
}

// Scale declares y = a·x + b.
var Scale = declare(function{
	name:      "scale",
	formula:   "y[i] = a·x[i] + b",
	source:    "IEEE 754-2019, 5.4.1: multiplication and addition, fused or not",
	inGo:      scaleGo,
	framework: func(dst, src []float32, p Params) { accelerate.Scale(dst, src, p.A, p.B) },
	kernel:    "scale", constants: 2,
	reference: func(x complex128, p Params) float64 { return float64(p.A)*real(x) + float64(p.B) },
	params:    Params{A: 1.1, B: -0.3},
	tolerance: 1e-5,
	flops:     2,
	grain:     16 << 10,
	revision:  1, // shorter calls
})

// Gain declares y = a·x.
var Gain = declare(function{
	name:      "gain",
	formula:   "y[i] = a·x[i]",
	source:    "IEEE 754-2019, 5.4.1: multiplication",
	inGo:      gainGo,
	framework: func(dst, src []float32, p Params) { accelerate.Multiply(dst, src, p.A) },
	kernel:    "gain", constants: 1,
	reference: func(x complex128, p Params) float64 { return float64(p.A) * real(x) },
	params:    Params{A: 0.7},
	tolerance: 1e-5,
	flops:     1,
	grain:     16 << 10,
})

// Abs declares y = |x|.
var Abs = declare(function{
	name:      "abs",
	formula:   "y[i] = |x[i]|",
	source:    "IEEE 754-2019, 5.5.1: abs",
	inGo:      absGo,
	framework: func(dst, src []float32, _ Params) { accelerate.Abs(dst, src) },
	kernel:    "absolute",
	reference: func(x complex128, _ Params) float64 { return math.Abs(real(x)) },
	tolerance: 1e-5,
	flops:     1,
	grain:     16 << 10,
})

// SoftClip declares y = tanh(a·x), which saturates smoothly at ±1. Of the usual soft clippers it is the one without a
// corner in any derivative.
var SoftClip = declare(function{
	name:    "soft-clip",
	formula: "y[i] = tanh(a·x[i])",
	source: "J. D. Parker, V. Zavalishin, E. Le Bivic, Reducing the Aliasing of Nonlinear Waveshaping Using Continuous-Time " +
		"Convolution, DAFx-16, 2016: the hyperbolic tangent as a soft clipper",
	inGo: softClipGo,
	framework: func(dst, src []float32, p Params) {
		accelerate.Multiply(dst, src, p.A)
		accelerate.Tanh(dst, dst)
	},
	kernel: "soft_clip", constants: 1,
	reference: func(x complex128, p Params) float64 { return math.Tanh(float64(p.A) * real(x)) },
	params:    Params{A: 4},
	tolerance: 1e-5,
	flops:     25,
	grain:     3 << 10,
})

// Exp declares y = eˣ.
var Exp = declare(function{
	name:      "exp",
	formula:   "y[i] = exp x[i]",
	source:    "IEEE 754-2019, 9.2: exp",
	inGo:      each(approx.Exp),
	framework: func(dst, src []float32, _ Params) { accelerate.Exp(dst, src) },
	kernel:    "exponential",
	reference: func(x complex128, _ Params) float64 { return math.Exp(real(x)) },
	tolerance: 1e-4,
	flops:     20,
	grain:     3 << 10,
})

// Log declares y = ln x.
var Log = declare(function{
	name:      "log",
	formula:   "y[i] = ln x[i]",
	source:    "IEEE 754-2019, 9.2: log",
	inGo:      each(approx.Log),
	framework: func(dst, src []float32, _ Params) { accelerate.Log(dst, src) },
	kernel:    "logarithm",
	reference: func(x complex128, _ Params) float64 { return math.Log(real(x)) },
	input:     positive,
	tolerance: 1e-5,
	flops:     20, // a polynomial
	grain:     2 << 10,
})

// Log1p declares y = ln(1 + x).
var Log1p = declare(function{
	name:      "log1p",
	formula:   "y[i] = ln(1 + x[i])",
	source:    "IEEE 754-2019, 9.2: logp1",
	inGo:      each(approx.Log1p),
	framework: func(dst, src []float32, _ Params) { accelerate.Log1p(dst, src) },
	kernel:    "logarithm1p",
	reference: func(x complex128, _ Params) float64 { return math.Log1p(real(x)) },
	input:     positive,
	tolerance: 1e-5,
	flops:     22,
	grain:     2 << 10,
})

// Pow declares y = xᵃ. A sweep measures the power law of loudness, which has the exponent 0.3.
var Pow = declare(function{
	name:      "pow",
	formula:   "y[i] = x[i]^a",
	source:    "IEEE 754-2019, 9.2: pow",
	inGo:      powGo,
	inGoOnly:  func(p Params) bool { return p.A == 0 || p.A-p.A != 0 },
	framework: func(dst, src []float32, p Params) { accelerate.Pow(dst, src, p.A) },
	kernel:    "power_law", constants: 1,
	reference: func(x complex128, p Params) float64 { return math.Pow(real(x), float64(p.A)) },
	params:    Params{A: 0.3},
	input:     positive,
	tolerance: 1e-4,
	flops:     45,
	grain:     512,
})

// GELU declares y = x·Φ(x), the Gaussian error linear unit.
var GELU = declare(function{
	name:      "gelu",
	formula:   "y[i] = x[i]·(1 + erf(x[i]/√2))/2",
	source:    "D. Hendrycks, K. Gimpel, Gaussian Error Linear Units, 2016; torch.nn.GELU",
	inGo:      each(approx.GELU),
	kernel:    "gelu",
	reference: func(x complex128, _ Params) float64 { return real(x) * math.Erfc(-real(x)/math.Sqrt2) / 2 },
	input:     activation,
	tolerance: 5e-5,
	flops:     45,
	grain:     1 << 10,
})

// GELUTanh declares the approximation of [GELU] by a hyperbolic tangent, which some networks were trained with.
var GELUTanh = declare(function{
	name:    "gelu-tanh",
	formula: "y[i] = x[i]·(1 + tanh(√(2/π)·(x[i] + 0.044715·x[i]³)))/2",
	source:  "D. Hendrycks, K. Gimpel, Gaussian Error Linear Units, 2016; torch.nn.GELU with approximate='tanh'",
	inGo:    each(approx.GELUTanh),
	kernel:  "gelu_tanh",
	// (1 + tanh u)/2 = 1/(1 + e^−2u), which does not cancel.
	reference: func(x complex128, _ Params) float64 {
		v := real(x)
		return v / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
	},
	input:     activation,
	tolerance: 5e-5,
	flops:     30,
	grain:     2 << 10,
})

// Power declares y = re² + im² of complex values.
var Power = declare(function{
	name:      "power",
	formula:   "y[i] = re(x[i])² + im(x[i])²",
	source:    "A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, chapter 10: the squared magnitude of a spectrum",
	complex:   true,
	inGo:      powerGo,
	framework: func(dst, src []float32, _ Params) { accelerate.Power(dst, kernels.Complex(src)) },
	kernel:    "power",
	reference: func(x complex128, _ Params) float64 { return real(x)*real(x) + imag(x)*imag(x) },
	tolerance: 1e-6,
	flops:     3,
	grain:     10 << 10,
})

// Magnitude declares y = √(re² + im²) of complex values.
var Magnitude = declare(function{
	name:      "magnitude",
	formula:   "y[i] = √(re(x[i])² + im(x[i])²)",
	source:    "A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, chapter 10: the magnitude of a spectrum",
	complex:   true,
	inGo:      magnitudeGo,
	framework: func(dst, src []float32, _ Params) { accelerate.Magnitude(dst, kernels.Complex(src)) },
	kernel:    "magnitude",
	reference: func(x complex128, _ Params) float64 { return math.Sqrt(real(x)*real(x) + imag(x)*imag(x)) },
	tolerance: 1e-6,
	flops:     4,
	grain:     6 << 10,
})

// activation maps a sample to the range of a network's values before an activation.
func activation(x float32) float32 { return 4 * x }

// positive maps a sample to a value above 0.
func positive(x float32) float32 { return float32(math.Abs(float64(x))) + 1e-4 }
