// Package phase adds up the phase increments of an oscillator whose frequency changes, such as the falling tone of a kick
// drum:
//
//	y[i] = p + Σ_{k≤i} x[k] − ⌊p + Σ_{k≤i} x[k]⌋
//
// An increment x[k] is the frequency of a sample in cycles a sample: hertz divided by the sample rate. The phase p before the
// call and the phases y are in cycles, wrapped to [0, 1). y[i] is the phase after the increment i, so an oscillator that
// begins at p renders p itself first. A frequency may be negative. The phase after the last increment is kept for the next
// call.
//
// Sums in float32 would drift: after a minute of 100 Hz, a float32 tells phases apart by 0.0005 cycles only. So all
// implementations add up whole multiples of 2⁻⁵³ of a cycle, as integers that wrap by themselves. An increment is rounded
// towards zero to such a multiple, which changes none of at least 2⁻³⁰ cycles (40 µHz at 48 kHz). The sum is exact, in
// whatever order its terms are added. So all implementations give the same bits, however a signal is divided into blocks
// and a block among threads. A phase is rounded down to a multiple of 2⁻²⁴, and never becomes 1.
//
// A NaN or an infinity among the increments makes its own phase and all later ones NaN, until Reset or SetPhase. Increments
// of magnitude 1 or more count by their fraction.
//
// Errors are distances on the circle, in cycles: those of 0.999 and 0.001 are 0.002 apart.
//
// A processor core adds up eight increments at a time. If it has neither AVX2 nor NEON, or if one of the eight is at least 2
// cycles, it adds up one after the other. Several cores first find the sums of blocks, and then the phases. So do the
// threadgroups of a GPU. The usual steps are New, once, and Accumulate for each block.
//
// Sources: F. R. Moore, Elements of Computer Music, Prentice Hall 1990, section 3.2 (the phase of an oscillator as a sum of
// increments); G. E. Blelloch, Prefix sums and their applications, CMU-CS-90-190, 1990 (the division among threads).
package phase

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// Params are empty: all plans are alike.
type Params struct{}

var axes = []kernels.Axis{{Name: "n", Unit: "samples", Min: 64, Max: 16 << 20, Usual: []int{64, 128, 256, 512, 1024, 2048}}}

// The tensors of a call.
const (
	out = iota
	after
	in
	before
)

// Op declares the operation. It is measured with a kick at 44.1 kHz twice a second, each a tone that falls from 150 to 50 Hz.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "phase-sum",
	Formula: "y[i] = frac(p + sum of x[k] for k ≤ i), in cycles; p is the phase before the call",
	Source:  "F. R. Moore, Elements of Computer Music, 1990, section 3.2",
	Axes:    axes,
	Lines:   []kernels.Line{kernels.Along(axes, "n")},
	Params:  func(kernels.Shape) Params { return Params{} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		n, state := []int{s[0]}, []int{1}
		return []kernels.Tensor{
			out:    {Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: n, InPlaceOf: "x"},
			after:  {Name: "after", Role: kernels.Out, Type: kernels.Float64, Dims: state},
			in:     {Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: n},
			before: {Name: "before", Role: kernels.In, Type: kernels.Float64, Dims: state},
		}
	},
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kick(a[in])
		clear(a[before])
	},
	Reference: func(_ Params, _ kernels.Shape, a *kernels.Args) []float64 {
		return Reference(kernels.Float64s(a[before])[0], a[in])
	},
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Judge:     distance,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[0])
		return kernels.Work{Bytes: 8 * n, Flops: 4 * n, Pieces: n / minBlock, Threads: n / 4, Launches: 2}
	},
	By: []kernels.Makers[Params]{
		// Vector code. Short calls are not divided.
		kernels.Revised(1, kernels.Revised(2, kernels.InGo(
			func(Params) kernels.Runner { return kernels.RunnerFunc(serial) },
			func(_ Params, workers *pool.Pool) kernels.Runner {
				return &parallel{pool: workers, end: make([]sum, workers.Workers())}
			}), "go-parallel")),
		kernels.KernelText("", appendScan),
	},
})

// kick fills x with the increments of the tone that the operation is measured with.
func kick(x []float32) {
	const rate, high, low, seconds = 44100, 150, 50, 0.04
	var one [rate / 2]float32
	for i := range min(len(one), len(x)) {
		one[i] = float32((low + (high-low)*math.Exp(-float64(i)/(seconds*rate))) / rate)
	}
	for n := 0; n < len(x); {
		n += copy(x[n:], one[:])
	}
}

// Reference returns the phases by the definition in float64, and after them the last one once more, which is the phase that
// the next call begins with. Each increment is wrapped before it is added, and each sum is wrapped at once.
func Reference(p float64, x []float32) []float64 {
	p -= math.Floor(p)
	y := make([]float64, len(x), len(x)+1)
	for i, v := range x {
		step := float64(v)
		p += step - math.Floor(step)
		p -= math.Floor(p)
		y[i] = p
	}
	return append(y, p)
}

// distance is the [kernels.Judge] of phases. It returns the greatest distance on the circle, in cycles. A NaN is right where
// the reference has one.
func distance(_ kernels.Element, got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i, w := range want {
		d := math.Abs(float64(got[i]) - w)
		switch {
		case math.IsNaN(w) && got[i] != got[i]:
			continue
		case math.IsNaN(w), !(got[i] >= 0 && got[i] <= 1): // a state just below 1 is 1 as a float32
			return math.Inf(1)
		}
		if d = min(d, 1-d); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

// Plan adds up the increments of one oscillator by the implementation that is fastest at their number. Only one goroutine at
// a time may use a Plan.
type Plan struct {
	// Explain takes a number of increments.
	*kernels.SizedPlan[Params]

	states [2][]float32 // before a call and after it; nil before the first call
	begin  float64      // the phase that the first call begins with
}

// New returns a plan that begins at phase 0. It chooses by d, which may be nil: see [kernels.NewPlan].
func New(d *dispatch.Dispatcher) *Plan {
	return &Plan{SizedPlan: kernels.NewPlan(d, &Op, Params{}).Along(0, kernels.Shape{})}
}

// Accumulate writes the phase after each increment of src to dst, in cycles from 0 to below 1, and keeps the last one for the
// next call. A signal in blocks gives the same phases as in one piece. dst may be src but must not overlap it otherwise.
//
// Accumulate allocates nothing at a length at which the implementation has run twice. An implementation on a GPU remembers
// only the last few lengths. Accumulate panics if the lengths differ. It fails only if every implementation fails, and then
// leaves the phase unchanged.
func (p *Plan) Accumulate(dst, src []float32) error {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("phase-sum: dst has %d values, want as many as src, %d", len(dst), len(src)))
	}
	if len(src) == 0 {
		return nil
	}
	if p.states[0] == nil {
		for i := range p.states {
			p.states[i] = kernels.Keep(p.SizedPlan, 2, dst, src)
		}
		kernels.Float64s(p.states[0])[0] = p.begin
	}
	err := kernels.RunSized(p.SizedPlan, len(src), &kernels.Args{dst, p.states[1], src, p.states[0]})
	if err == nil {
		p.states[0], p.states[1] = p.states[1], p.states[0]
	}
	return err
}

// Phase returns the phase that the next call begins with, in cycles from 0 to below 1, or NaN after a NaN or an infinity.
func (p *Plan) Phase() float64 {
	if p.states[0] == nil {
		return p.begin
	}
	return kernels.Float64s(p.states[0])[0]
}

// SetPhase sets the phase that the next call begins with, in cycles. It is wrapped to [0, 1) and rounded to a multiple of
// 2⁻⁵³. A NaN or an infinity becomes NaN.
func (p *Plan) SetPhase(phase float64) {
	p.begin = begun(phase).phase()
	if p.states[0] != nil {
		kernels.Float64s(p.states[0])[0] = p.begin
	}
}

// Reset goes back to phase 0.
func (p *Plan) Reset() { p.SetPhase(0) }

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan. A
// call after Close begins at the phase that the last one ended with.
func (p *Plan) Close() {
	p.begin = p.Phase()
	p.SizedPlan.Close()
	p.states = [2][]float32{}
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(
	func(d *dispatch.Dispatcher, _ Params) (*Plan, error) { return New(d), nil },
	func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
		p.states = [2][]float32{a[before], a[after]}
		return p.Accumulate(a[out], a[in])
	})
