package elementwise

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

// Plan applies one function to every value of a slice, by the implementation that is fastest at the slice's length. Each
// value is a row of its own: see [kernels.RowPlan]. Apply computes a slice. The constructors of plans take a dispatcher,
// which may be nil: see [kernels.NewPlan].
type Plan = kernels.RowPlan[Params]

// NewScale returns the plan of y = a·x + b.
func NewScale(d *dispatch.Dispatcher, a, b float32) *Plan {
	return kernels.NewElementPlan(d, &Scale, Params{a, b})
}

// NewGain returns the plan of y = factor·x. The factor of a gain of g dB is 10^(g/20).
func NewGain(d *dispatch.Dispatcher, factor float32) *Plan {
	return kernels.NewElementPlan(d, &Gain, Params{A: factor})
}

// NewAbs returns the plan of y = |x|.
func NewAbs(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &Abs, Params{}) }

// NewSoftClip returns the plan of y = tanh(drive·x). Small samples are multiplied by drive, and no sample exceeds ±1.
func NewSoftClip(d *dispatch.Dispatcher, drive float32) *Plan {
	return kernels.NewElementPlan(d, &SoftClip, Params{A: drive})
}

// NewExp returns the plan of y = eˣ. As in math.Exp, the exponential of −Inf is 0 and that of +Inf is +Inf. Above 88.72 the
// result is +Inf, and below −103.97 it is 0.
func NewExp(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &Exp, Params{}) }

// NewLog returns the plan of y = ln x. As in math.Log, the logarithm of 0 is −Inf and that of a negative number is NaN.
// Denormals have finite logarithms.
func NewLog(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &Log, Params{}) }

// NewLog1p returns the plan of y = ln(1 + x), which is accurate also where x is small. As in math.Log1p, the result is −Inf
// at −1 and NaN below.
func NewLog1p(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &Log1p, Params{}) }

// NewPow returns the plan of y = x^exponent. Special cases are those of math.Pow: the power of a negative x is NaN unless
// the exponent is an integer, and with the exponent 0 every result is 1.
func NewPow(d *dispatch.Dispatcher, exponent float32) *Plan {
	return kernels.NewElementPlan(d, &Pow, Params{A: exponent})
}

// NewGELU returns the plan of y = x·Φ(x), where Φ is the distribution function of the standard normal distribution. As in
// PyTorch, the result is NaN at −Inf. Apple's framework has no such function.
func NewGELU(d *dispatch.Dispatcher) *Plan { return kernels.NewElementPlan(d, &GELU, Params{}) }

// NewGELUTanh returns the plan of y = x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2. As in PyTorch, the result is NaN at −Inf.
func NewGELUTanh(d *dispatch.Dispatcher) *Plan {
	return kernels.NewElementPlan(d, &GELUTanh, Params{})
}

// ComplexPlan applies one function to every complex value of a slice, by the implementation that is fastest at the slice's
// length. Only one goroutine at a time may use a ComplexPlan.
type ComplexPlan struct {
	// Explain takes a number of values.
	*kernels.SizedPlan[Params]

	name string
}

func newComplexPlan(d *dispatch.Dispatcher, op *kernels.Op[Params]) *ComplexPlan {
	return &ComplexPlan{kernels.NewPlan(d, op, Params{}).Along(elements, kernels.Shape{}), op.Name}
}

// NewPower returns the plan of y = re² + im². Above a magnitude of 1.8e19 the power is +Inf, and below 1e-19 it is denormal
// or 0. A NaN in a part makes the power NaN.
func NewPower(d *dispatch.Dispatcher) *ComplexPlan { return newComplexPlan(d, &Power) }

// NewMagnitude returns the plan of y = √(re² + im²). It is the root of what [NewPower] computes: as in Apple's vDSP, and
// unlike in cmplx.Abs, magnitudes above 1.8e19 become +Inf and those below 1e-19 lose digits.
func NewMagnitude(d *dispatch.Dispatcher) *ComplexPlan { return newComplexPlan(d, &Magnitude) }

// Apply computes the values of dst from those of src. Apply allocates nothing once an implementation has run twice at a
// length. An implementation on a GPU remembers only the last few lengths. Apply panics if the lengths differ. It fails if
// every implementation does.
func (p *ComplexPlan) Apply(dst []float32, src []complex64) error {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("%s: dst has %d values, want as many as src, %d", p.name, len(dst), len(src)))
	}
	return kernels.RunSized(p.SizedPlan, len(src), &kernels.Args{dst, kernels.ComplexWords(src)})
}

// Program returns the [kernels.Program] of one of the operations.
func Program(op *kernels.Op[Params]) kernels.Program[Params] {
	if op == &Power || op == &Magnitude {
		return kernels.NewProgram(
			func(d *dispatch.Dispatcher, _ Params) (*ComplexPlan, error) { return newComplexPlan(d, op), nil },
			func(plan *ComplexPlan, _ kernels.Shape, a *kernels.Args) error {
				return plan.Apply(a[0], kernels.Complex(a[1]))
			})
	}
	return kernels.RowProgram(func(d *dispatch.Dispatcher, p Params) (*Plan, error) {
		return kernels.NewElementPlan(d, op, p), nil
	})
}
