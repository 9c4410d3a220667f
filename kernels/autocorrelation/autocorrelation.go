// Package autocorrelation computes the autocorrelation of rows of samples, as librosa.autocorrelate does:
//
//	r[k] = Σ_j x[j]·x[j+k],   0 ≤ k < n
//
// A row of n samples has n lags. All implementations compute the inverse transform of the power spectrum of the row, which they
// pad with zeros to at least 2n−1 samples, so that the sums do not wrap around. Rows lie one after the other.
//
// Lags are neither scaled nor normalised. Other operations have their own rows correlated by [OnProcessors], [Launch] and
// [LaunchVendor]. The usual steps are New with [Params], and Transform.
//
// Source: A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, section 10.5;
// https://librosa.org/doc/0.10.2/generated/librosa.autocorrelate.html.
package autocorrelation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/kernels/fft/transform"
)

// Params are what all calls of a plan have in common.
type Params struct {
	N int // samples in a row, 1 to 512 Mi
}

// mostN is half of the longest transform: see package fft.
const mostN = 1 << 29

func (p Params) check() error {
	if p.N < 1 || p.N > mostN {
		return fmt.Errorf("autocorrelation: N is %d: want 1 to %d", p.N, mostN)
	}
	return nil
}

// The axes of the operation.
const (
	length = iota
	batch
)

var axes = []kernels.Axis{
	{Name: "n", Unit: "samples", Min: 64, Max: 1 << 19, Usual: []int{256, 512, 1024, 2048, 4096, 22050, 44100, 48000}},
	{Name: "batch", Unit: "rows", Min: 1, Max: 1024},
}

// rowLength is the length at which numbers of rows are measured: frames in which a pitch is looked for.
const rowLength = 2048

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "autocorrelation",
	Formula:  "r[k] = sum over j of x[j]·x[j+k] for k = 0 … n-1, of each row x of n samples",
	Source:   "Oppenheim, Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, section 10.5; librosa 0.10.2, librosa.autocorrelate",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines: []kernels.Line{
		kernels.Along(axes, "n", kernels.Param{Name: "batch", Value: 1}),
		kernels.Along(axes, "batch", kernels.Param{Name: "n", Value: rowLength}),
	},
	Params: func(s kernels.Shape) Params { return Params{N: s[length]} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		rows := []int{s[batch], s[length]}
		return []kernels.Tensor{
			{Name: "r", Role: kernels.Out, Type: kernels.Float32, Dims: rows},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: rows},
		}
	},
	// Successive rows of a recording.
	Fill: func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) (out []float64) {
		correlate := NewReference(p.N)
		for row := range slices.Chunk(a[1], p.N) {
			out = append(out, correlate(widened(row))...)
		}
		return out
	},
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work:      func(s kernels.Shape, _ string) kernels.Work { return Work(s[length], s[batch]) },
	Judged: func(p Params, s kernels.Shape) (line, size int) {
		if s[batch] == 1 {
			return 0, p.N
		}
		return 1, max(1, int(math.Round(float64(s[batch])*float64(p.N)/rowLength)))
	},
	By: slices.Concat(revised(OnProcessors(func(p Params) Rows {
		return Rows{
			N:     p.N,
			Count: func(s *kernels.Shape) int { return s[batch] },
			Load: func(samples []float32, _ *kernels.Shape, a *kernels.Args, row int) {
				copy(samples, a[1][row*p.N:])
			},
			Store: func(_ *kernels.Shape, a *kernels.Args, row int, lags []float32) {
				copy(a[0][row*p.N:], lags)
			},
		}
	})), []kernels.Makers[Params]{kernels.KernelText("", appendRows), kernels.VendorFFT("", newVendor)}),
})

// revised returns the implementations on the processor with the revision of go-parallel for the rows that it shares otherwise since.
func revised(makers []kernels.Makers[Params]) []kernels.Makers[Params] {
	for i := range makers {
		makers[i] = kernels.RevisedOn(3, func(s kernels.Shape, processors int) bool {
			return transform.SharedSince(s[batch], fft.FastLength(2*s[length]-1), processors)
		}, makers[i], "go-parallel")
	}
	return makers
}

// Work returns what the autocorrelations of rows of n samples have to do.
func Work(n, rows int) kernels.Work {
	padded, count := float64(2*n), float64(rows)
	return kernels.Work{
		Bytes:    count * 4 * padded,
		Flops:    count * (5*padded*math.Log2(padded) + 3*padded),
		Pieces:   count,
		Threads:  count * padded / 16,
		Launches: 5,
		Kind:     kernels.Transform,
	}
}

// Plan computes autocorrelations of rows by the implementation that is fastest at their number. Only one goroutine at a time
// may use a Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	n int
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.N is not 1 to 512 Mi. In a calibration
// without predictions, one row is judged by its length. Several rows are judged as rows of 2048 samples, of which there are as
// many as hold the same number of samples.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(batch, kernels.Shape{length: p.N}), p.N}, nil
}

// Transform writes the lags 0 to N−1 of each row of src to the rows of dst. Both hold rows of N values, one after the other;
// they must not overlap. The error of a lag is relative to lag 0, which is the greatest. If a sample is infinite or NaN, no
// lag of its row has a meaning: each is NaN or infinite. Squares of magnitudes above 10¹⁶ may overflow.
//
// Transform allocates nothing at a number of rows at which the implementation has run twice. An implementation on a GPU
// remembers only the last few numbers of rows. Transform panics if the lengths differ or are not a multiple of N. It fails
// only if every implementation fails.
func (p *Plan) Transform(dst, src []float32) error {
	kernels.Made(p.SizedPlan)
	if len(src)%p.n != 0 || len(dst) != len(src) {
		panic(fmt.Sprintf("autocorrelation: rows of %d samples got src of %d and dst of %d: want equal lengths, a multiple of %[1]d", p.n, len(src), len(dst)))
	}
	return kernels.RunSized(p.SizedPlan, len(src)/p.n, &kernels.Args{dst, src})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error { return p.Transform(a[0], a[1]) })

// NewReference returns a function that computes the autocorrelation of n samples in float64, by transforms of a power of two.
// If a sample is not finite, all lags are NaN.
func NewReference(n int) func(x []float64) []float64 {
	points := 2
	for points < 2*n {
		points *= 2
	}
	transform := fourier.NewFFT(points)
	return func(x []float64) []float64 {
		padded := make([]float64, points)
		copy(padded, x)
		for _, v := range x {
			if math.IsInf(v, 0) {
				padded[0] = math.NaN()
			}
		}
		spectrum := transform.Coefficients(nil, padded)
		for k, v := range spectrum {
			spectrum[k] = complex((real(v)*real(v)+imag(v)*imag(v))/float64(points), 0)
		}
		return transform.Sequence(nil, spectrum)[:n]
	}
}

func widened(x []float32) (wide []float64) {
	for _, v := range x {
		wide = append(wide, float64(v))
	}
	return wide
}
