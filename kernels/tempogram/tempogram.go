// Package tempogram computes how strongly onset strengths repeat, lag by lag, around each of their frames:
//
//	T[t,k] = r[t,k]/r[t,0],   r[t,k] = Σ_j y[t,j]·y[t,j+k],   y[t,j] = w[j]·O[t−⌊window/2⌋+j],   0 ≤ j, k < window
//
// O has a value for each frame, as package onset computes it. w is the periodic Hann window, ½ − ½·cos(2πj/window). T is
// frames×lags, row-major, with as many lags as the window has frames. Before the first frame and behind the last one, O falls
// to 0 along a straight line ⌊window/2⌋ frames long. These are librosa's defaults: center True, norm inf. librosa's array is
// the transpose. No magnitude of r is greater than r[t,0], so the division by it is librosa's norm. A frame whose windowed
// strengths all have magnitudes below 10⁻³⁰ is silent, and its values are 0.
//
// [Tempo] declares the tempo that follows from it. The package computes no Fourier tempogram. The usual steps are New with
// [Params], and Transform, or NewTempo and Estimate.
//
// Sources: P. Grosche, M. Müller, F. Kurth, Cyclic tempogram: a mid-level tempo representation for music signals, ICASSP
// 2010; https://librosa.org/doc/0.10.2/generated/librosa.feature.tempogram.html.
package tempogram

import (
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/onset"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Window int // frames in a window and lags in a row, 2 to 1 Mi; librosa's default is 384
}

const mostWindow = 1 << 20

func (p Params) check() error {
	if p.Window < 2 || p.Window > mostWindow {
		return fmt.Errorf("tempogram: Window is %d: want 2 to %d", p.Window, mostWindow)
	}
	return nil
}

// silence is the magnitude below which no windowed strength of a silent frame reaches.
const silence = 1e-30

// The axes of the operation.
const (
	window = iota
	frames
)

var axes = []kernels.Axis{
	{Name: "window", Unit: "frames", Min: 32, Max: 2048, Usual: []int{128, 192, 256, 344, 384, 512, 768, 1024}},
	// 16 Ki frames are 6 minutes of audio.
	{Name: "frames", Unit: "frames", Min: 1, Max: 16 << 10},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "tempogram",
	Formula: "T[t,k] = r[t,k]/r[t,0], r[t,k] = sum over j of y[t,j]·y[t,j+k], y[t,j] = w[j]·O[t-window/2+j], 0 ≤ j, k < window, " +
		"w periodic Hann, O onset strengths",
	Source:   "Grosche, Müller, Kurth, ICASSP 2010; librosa 0.10.2, librosa.feature.tempogram",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "frames", kernels.Param{Name: "window", Value: 384})},
	Params:   func(s kernels.Shape) Params { return Params{Window: s[window]} },
	Check:    Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "T", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[frames], p.Window}},
			{Name: "O", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames]}},
		}
	},
	Fill:      func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { onset.Fill(in, a[1]) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		w := autocorrelation.Work(s[window], s[frames])
		w.Bytes = 4 * float64(s[frames]) * float64(s[window]+1)
		return w
	},
	By: slices.Concat(autocorrelation.OnProcessors(newRows),
		[]kernels.Makers[Params]{kernels.KernelText("", appendLags), kernels.VendorFFT("", newVendor)}),
})

// newRows returns the rows that are correlated.
func newRows(p Params) autocorrelation.Rows {
	w := p.hann()
	return autocorrelation.Rows{
		N:     p.Window,
		Count: func(s *kernels.Shape) int { return s[frames] },
		Load:  func(samples []float32, _ *kernels.Shape, a *kernels.Args, t int) { load(samples, w, a[1], t) },
		Store: func(_ *kernels.Shape, a *kernels.Args, t int, lags []float32) {
			divide(a[0][t*p.Window:(t+1)*p.Window], lags)
		},
	}
}

// hann returns the window.
func (p Params) hann() []float32 {
	w := make([]float32, p.Window)
	for j := range w {
		w[j] = float32(hann(j, p.Window))
	}
	return w
}

func hann(j, n int) float64 { return 0.5 - 0.5*math.Cos(2*math.Pi*float64(j)/float64(n)) }

// load writes the windowed strengths around frame t, times a factor that keeps their squares within the range of float32.
func load(dst, w, strengths []float32, t int) {
	half, n := len(w)/2, len(strengths)
	first := t - half // frame of dst[0]
	lo, hi := max(0, -first), min(len(dst), n-first)
	for j := range lo {
		dst[j] = w[j] * (strengths[0] * (float32(first+j+half) / float32(half)))
	}
	for j := hi; j < len(dst); j++ {
		dst[j] = w[j] * (strengths[n-1] * (float32(n-1+half-first-j) / float32(half)))
	}
	inside, by := dst[lo:hi], w[lo:hi]
	from := strengths[first+lo : first+hi]
	by, from = by[:len(inside)], from[:len(inside)]
	for j := range inside {
		inside[j] = by[j] * from[j]
	}
	// Squares of such strengths add up to a number from which nothing is lost. Most recordings have no others.
	if e := energy(dst); !(e > 1e-10 && e < 1e10) {
		level(dst)
	}
}

// energy returns the sum of squares.
func energy(x []float32) float32 {
	var e0, e1, e2, e3 float32
	for ; len(x) >= 4; x = x[4:] {
		e0 += x[0] * x[0]
		e1 += x[1] * x[1]
		e2 += x[2] * x[2]
		e3 += x[3] * x[3]
	}
	for _, v := range x {
		e0 += v * v
	}
	return (e0 + e2) + (e1 + e3)
}

// level divides values by their greatest magnitude. Values that are silent become 0. If one is not finite, all become NaN.
func level(x []float32) {
	var most float32
	for _, v := range x {
		if v-v != 0 {
			most = float32(math.NaN())
			break
		}
		most = max(most, v, -v)
	}
	for j, v := range x {
		switch {
		case most != most:
			x[j] = most
		case most < silence:
			x[j] = 0
		default:
			x[j] = v / most
		}
	}
}

// divide writes lags, each divided by the first one. They are all 0 if that is 0.
func divide(dst, lags []float32) {
	by := float32(0)
	if lags[0] != 0 {
		by = 1 / lags[0]
	}
	dst = dst[:len(lags)]
	for k, v := range lags {
		dst[k] = v * by
	}
}

// Plan computes tempograms by the implementation that is fastest at their number of frames. Only one goroutine at a time may
// use a Plan.
type Plan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[Params]

	params Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.Window is out of its range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{window: p.Window}), p}, nil
}

// Transform returns the tempogram of onset strengths, frames×Window and row-major. Lag k is k frames, and a tempo of
// 60·rate/(hop·k) beats a minute where frames are hop samples apart. The result is in dst's memory if its capacity suffices
// and in new memory otherwise. It must not overlap strengths. If a strength is NaN or infinite, all values of the frames are
// NaN whose windows reach it. At the first and the last strength these are also the frames whose windows reach beyond it.
//
// If dst has the capacity, Transform allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Transform fails only if every implementation fails,
// and then the returned values are undefined.
func (p *Plan) Transform(dst, strengths []float32) ([]float32, error) {
	count := len(strengths) * p.params.Window
	dst = slices.Grow(dst[:0], count)[:count]
	return dst, kernels.RunSized(p.SizedPlan, len(strengths), &kernels.Args{dst, strengths})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(a[0], a[1])
	return err
})

// Reference returns the tempogram of onset strengths in float64, frames×p.Window and row-major. It panics if p.Window is out
// of its range.
func Reference(p Params, strengths []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	padded := ramped(strengths, p.Window/2)
	correlate := autocorrelation.NewReference(p.Window)
	out := make([]float64, 0, len(strengths)*p.Window)
	for t := range strengths {
		y, most := make([]float64, p.Window), 0.0
		for j := range y {
			y[j] = hann(j, p.Window) * padded[t+j]
			most = max(most, math.Abs(y[j])) // NaN if one is
		}
		lags := make([]float64, p.Window)
		switch {
		case most-most != 0:
			lags = slices.Repeat([]float64{math.NaN()}, p.Window)
		case most >= silence:
			for j := range y {
				y[j] /= most
			}
			lags = correlate(y)
			first := lags[0]
			for k := range lags {
				lags[k] /= first
			}
		}
		out = append(out, lags...)
	}
	return out
}

// ramped returns strengths between two straight lines of half frames each, which rise from 0 and fall to 0.
func ramped(strengths []float32, half int) []float64 {
	n := len(strengths)
	if n == 0 {
		return nil
	}
	padded := make([]float64, n+2*half)
	for i := range padded {
		switch t := i - half; {
		case t < 0:
			padded[i] = float64(strengths[0]) * float64(i) / float64(half)
		case t >= n:
			padded[i] = float64(strengths[n-1]) * float64(n+2*half-1-i) / float64(half)
		default:
			padded[i] = float64(strengths[t])
		}
	}
	return padded
}
