// Package resample changes the sample rate of float32 audio by a ratio up/down, as scipy.signal.resample_poly does: up−1
// zeros follow each sample, a low-pass without delay filters the result, and each down-th of its values is kept,
//
//	y[m] = Σ_k h[m·down − k·up]·x[k],   0 ≤ m < ⌈n·up/down⌉,   x zero outside of [0, n)
//
// with up and down divided by their greatest common divisor. h[i] for |i| ≤ 10·M, where M is the greater of up and down, is a
// sinc in a Kaiser window with β = 5,
//
//	h[i] = up·g[i] / Σ_j g[j],   g[i] = sin(π·i/M)/(π·i/M) · I₀(5·√(1 − (i/10M)²))
//
// So the cutoff, at which the gain is −6 dB, is half of the lower one of the two rates. The gain at 0 Hz is 1.
//
// All implementations are polyphase: an output is the sum of some 20·M/up products, with those values of h that meet a
// sample. The phase of an output repeats after up outputs. The package has no other windows, and keeps no state from one call
// to the next: a signal ends with silence on both sides. The usual steps are New with the ratio, once, and Resample.
//
// A NaN or an infinity reaches the outputs that it is a term of, and those that are up to seven samples farther away.
//
// Sources: SciPy's documentation of scipy.signal.resample_poly; A. Oppenheim and R. Schafer, Discrete-Time Signal Processing,
// 3rd ed., Pearson 2010, sections 4.6 and 4.7.3 (polyphase), 7.5.3 (Kaiser window).
package resample

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
)

// Params are what all calls of a plan have in common: the ratio of the new sample rate to the old one, such as 160/147 from
// 44 100 to 48 000 Hz.
type Params struct {
	Up, Down int // 1 to 4096, after division by their greatest common divisor
}

// most is the greatest up and down of a plan. The filter has 20·most+1 values.
const most = 4096

// The axes of the operation.
const (
	ups = iota
	downs
	samples
)

var axes = []kernels.Axis{
	{Name: "up", Unit: "times", Min: 1, Max: 640, Usual: []int{1, 2, 3, 4, 147, 160, 320}},
	{Name: "down", Unit: "times", Min: 1, Max: 640, Usual: []int{1, 2, 3, 4, 147, 160, 441}},
	{Name: "n", Unit: "samples", Min: 256, Max: 4 << 20, Usual: []int{441, 480, 512, 1024, 2048, 44100, 48000}},
}

// Op declares the operation. It is measured from 44 100 to 48 000 Hz, and to half of the rate.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "resample",
	Formula:  "y[m] = Σ_k h[m·down − k·up]·x[k]; h is a sinc in a Kaiser window, β 5, of 20·max(up, down)+1 values",
	Source:   "SciPy, scipy.signal.resample_poly",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, -1, 1), kernels.Power(0, -1, 1)},
	Lines: []kernels.Line{
		kernels.Along(axes, "n", kernels.Param{Name: "up", Value: 160}, kernels.Param{Name: "down", Value: 147}),
		kernels.Along(axes, "n", kernels.Param{Name: "up", Value: 1}, kernels.Param{Name: "down", Value: 2}),
	},
	Params: func(s kernels.Shape) Params { return Params{s[ups], s[downs]} },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{p.Outputs(s[samples])}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[samples]}},
		}
	},
	Fill:      func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		p := Params{s[ups], s[downs]}.reduced()
		n, outputs := float64(s[samples]), float64(p.Outputs(s[samples]))
		taps := float64(20*max(p.Up, p.Down))/float64(p.Up) + 1
		return kernels.Work{Bytes: 4 * (n + outputs), Flops: 2 * taps * outputs, Pieces: outputs / 64, Threads: outputs}
	},
	By: []kernels.Makers[Params]{
		kernels.OverRows(newLoop),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendOutputs),
	},
})

// check fails if the ratio is out of range.
func (p Params) check() error {
	if p.Up < 1 || p.Down < 1 {
		return fmt.Errorf("resample: up %d and down %d: want both from 1 to %d", p.Up, p.Down, most)
	}
	if r := p.reduced(); r.Up > most || r.Down > most {
		return fmt.Errorf("resample: the ratio %d/%d: want both from 1 to %d", r.Up, r.Down, most)
	}
	return nil
}

// reduced returns the ratio in lowest terms.
func (p Params) reduced() Params {
	a, b := p.Up, p.Down
	for b > 0 {
		a, b = b, a%b
	}
	return Params{p.Up / a, p.Down / a}
}

// Outputs returns the number of outputs for n samples, ⌈n·up/down⌉. It is 0 if n is negative or up or down is less than 1, and
// [math.MaxInt] if there are more than that.
func (p Params) Outputs(n int) int {
	if n <= 0 || p.Up < 1 || p.Down < 1 {
		return 0
	}
	high, low := bits.Mul64(uint64(n), uint64(p.Up))
	low, carry := bits.Add64(low, uint64(p.Down-1), 0)
	if high += carry; high >= uint64(p.Down) {
		return math.MaxInt // the quotient does not fit into 64 bits
	}
	outputs, _ := bits.Div64(high, low, uint64(p.Down))
	return int(min(outputs, math.MaxInt))
}

// Plan resamples signals by the implementation that is fastest at their length. Only one goroutine at a time may use a Plan.
type Plan struct {
	// Explain takes a number of samples before the change.
	*kernels.SizedPlan[Params]

	ratio Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if up or down are not 1 to 4096.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p = p.reduced()
	return &Plan{kernels.NewPlan(d, &Op, p).Along(samples, kernels.Shape{ups: p.Up, downs: p.Down}), p}, nil
}

// Outputs returns the number of outputs for n samples, ⌈n·up/down⌉, 0 if n is negative, and [math.MaxInt] if there are more than
// that.
func (p *Plan) Outputs(n int) int { return p.ratio.Outputs(n) }

// Resample returns x at the new rate, Outputs(len(x)) samples, in dst's memory if its capacity suffices and in new memory
// otherwise. dst must not overlap x. If dst has the capacity, Resample allocates nothing at a length at which the
// implementation has run twice. An implementation on a GPU remembers only the last few lengths. Resample fails only if every
// implementation fails, and then the returned values are undefined.
func (p *Plan) Resample(dst, x []float32) ([]float32, error) {
	n := p.Outputs(len(x))
	dst = slices.Grow(dst[:0], n)[:n]
	return dst, kernels.RunSized(p.SizedPlan, len(x), &kernels.Args{dst, x})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Resample(a[0], a[1])
	return err
})

// Filter returns h[−10M] to h[10M] of a ratio, in float64. It is what scipy.signal.firwin(20·M+1, 1/M, window=("kaiser", 5.0))
// returns, times up. For a ratio that [New] refuses, Filter returns nil.
func Filter(p Params) []float64 {
	if p.check() != nil {
		return nil
	}
	p = p.reduced()
	widest := max(p.Up, p.Down)
	half := 10 * widest
	h := make([]float64, 2*half+1)
	sum := 0.0
	for i := range h {
		at := float64(i-half) / float64(half)
		h[i] = sinc(float64(i-half)/float64(widest)) * bessel(5*math.Sqrt(1-at*at))
		sum += h[i]
	}
	for i := range h {
		h[i] *= float64(p.Up) / sum
	}
	return h
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel returns I₀(x), the modified Bessel function of the first kind and order 0, by its series Σ (x/2)²ᵏ/k!².
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-18*sum; k++ {
		term *= x / 2 / k * (x / 2 / k)
		sum += term
	}
	return sum
}

// Reference returns x at the new rate, by the definition in float64. For a ratio that [New] refuses, it returns nil.
func Reference(p Params, x []float32) []float64 {
	if p.check() != nil {
		return nil
	}
	p = p.reduced()
	h := Filter(p)
	half := len(h) / 2
	y := make([]float64, p.Outputs(len(x)))
	for m := range y {
		// i = m·down − k·up is from −half to half.
		first := max(0, (m*p.Down-half+p.Up-1)/p.Up)
		for k := first; k < len(x) && m*p.Down-k*p.Up >= -half; k++ {
			if i := m*p.Down - k*p.Up; i <= half {
				y[m] += h[half+i] * float64(x[k])
			}
		}
	}
	return y
}
