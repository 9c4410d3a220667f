// Package stft computes short-time Fourier transforms, as librosa.stft does:
//
//	S[f,k] = Σ_j w[j]·x[f·hop − n_fft/2 + j]·exp(−2πi·jk/n_fft),   0 ≤ j < n_fft,   0 ≤ k ≤ n_fft/2
//
// x is mono. Frame f is centred at sample f·hop, and there are 1 + samples/hop frames. By default the window w is the periodic
// Hann window ½ − ½·cos(2πj/n_fft), and x is zero outside of its samples. [Params] have other windows, reflection at the ends
// of x, and frames that begin at sample f·hop instead. The transform is unscaled. A spectrogram is stored frame by frame:
// frames×bins, row-major, with bins = n_fft/2 + 1. librosa's arrays are its transpose.
//
// The operation istft is the inverse, as librosa.istft computes it: the samples of the frames are added up, each times its
// weight, and divided by the sums of the squared weights. A window is as long as the transform. The usual steps are New or
// NewInverse with [Params], and Transform for each signal.
//
// Source: B. McFee et al., "librosa: audio and music signal analysis in Python", Proc. 14th Python in Science Conf.,
// 2015; https://librosa.org/doc/0.10.2/generated/librosa.stft.html.
package stft

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/native/fftw"
)

// The axes of the operation.
const (
	nFFT = iota
	hop
	samples
)

var axes = []kernels.Axis{
	{Name: "n_fft", Unit: "samples", Min: 64, Max: 8192, Round: func(n int) int { return n + n%2 },
		Usual: []int{256, 320, 400, 480, 512, 640, 800, 882, 1024, 1200, 1764, 1920, 2048, 4096}},
	{Name: "hop", Unit: "samples", Min: 16, Max: 4096},
	// 4 Mi samples are three minutes of audio at 22 050 Hz. Their spectrogram has 64 MiB, far more than any cache.
	{Name: "n", Unit: "samples", Min: 1 << 10, Max: 1 << 22},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "stft",
	Formula: "S[f,k] = sum over j of hann[j]·x[f·hop-n_fft/2+j]·exp(-2πi·jk/n_fft), x zero outside of its " +
		"samples, frames×bins",
	Source: "librosa 0.10.2, librosa.stft with center=True, pad_mode='constant', window='hann'",
	Axes:   axes,
	// The frames, all their samples, and whether the window's length has large factors. Above 7 our transforms go through
	// Bluestein's algorithm.
	Family: "stft",
	Features: []surface.Feature{
		kernels.Power(0, -1, 1), kernels.Power(1, -1, 1), {Kind: surface.Largest, Weights: []float64{1, 0, 0}},
		{Kind: surface.Rough, Prime: 7, Weights: []float64{1, 0, 0}}, {Kind: surface.Chirp, Prime: 7, Weights: []float64{1, 0, 0}},
	},
	Draw: draw,
	// The default lengths of window and hop in librosa.
	Lines:  []kernels.Line{kernels.Along(axes, "n", kernels.Param{Name: "n_fft", Value: 2048}, kernels.Param{Name: "hop", Value: 512})},
	Params: func(s kernels.Shape) Params { return Params{NFFT: s[nFFT], Hop: s[hop]} },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "S", Role: kernels.Out, Type: kernels.Complex64, Dims: []int{p.frames(s[samples]), p.bins()}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[samples]}},
		}
	},
	Fill:      func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return parts(Reference(p, a[1])) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work:      work,
	By: []kernels.Makers[Params]{
		kernels.Revised(1, kernels.OverRows(over(inGo)), "go-parallel"), // chunks are shorter
		// The workers of the pool window and transform the frames. FFTW's own threads are not used.
		kernels.Probed(fftw.Probe, fftw.Version,
			kernels.Revised(1, kernels.LoopNamed("fftw", "fftw-parallel", over(withFFTW)), "fftw-parallel")),
		kernels.Framework("", kernels.OnOneCore(over(withAccelerate))),
		kernels.Revised(1, kernels.KernelText("", appendSpectrogram)), // lines of a cache are written as a whole
		kernels.VendorFFT("", newVendor),
	},
})

// draw returns an even window, a hop of a half, a third, a quarter … of it, and a number of samples.
func draw(at []float64) kernels.Shape {
	s := kernels.Spread(axes, at)
	s[nFFT] += s[nFFT] % 2
	parts := []int{2, 3, 4, 5, 8, 16}
	s[hop] = max(1, s[nFFT]/parts[int(at[hop]*float64(len(parts)))])
	return s
}

func work(s kernels.Shape, _ string) kernels.Work {
	p := Params{NFFT: s[nFFT], Hop: s[hop]}
	n, frames := float64(p.NFFT), float64(p.frames(s[samples]))
	w := kernels.Work{
		Bytes:   4*float64(s[samples]) + 8*frames*float64(p.bins()),
		Flops:   (2.5*math.Log2(n) + 1) * n * frames, // the transforms and the window
		Pieces:  frames,
		Threads: n * frames / 16,
		Kind:    kernels.Transform,
	}
	if n > longestRow {
		w.Launches = 3 // columns, rows, and the bins of the real transform
	}
	return w
}

// longestRow is the length of the longest transform that one launch computes.
const longestRow = 8192

// Plan computes spectrograms by the implementation that is fastest at their length. Only one goroutine at a time may use a
// Plan.
type Plan struct {
	// Explain takes a number of samples.
	*kernels.SizedPlan[Params]

	params Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its
// range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(samples, kernels.Shape{nFFT: p.NFFT, hop: p.Hop}), p}, nil
}

// Frames returns the number of frames of a spectrogram: 1 + samples/Hop. With Params.Uncentred it is 1 + (samples−NFFT)/Hop,
// or 0 if there are fewer samples than NFFT. A negative number of samples counts as 0. It is at most [math.MaxInt].
func (p *Plan) Frames(samples int) int {
	kernels.Made(p.SizedPlan)
	return p.params.frames(samples)
}

// Bins returns the number of bins of a frame: NFFT/2 + 1. Bin k is at k·(sample rate)/NFFT Hz.
func (p *Plan) Bins() int { return p.params.bins() }

// Transform returns the spectrogram of samples, Frames(len(samples))×Bins(), row-major, in dst's memory if its
// capacity suffices and in new memory otherwise. The contents of dst are overwritten.
//
// If dst has the capacity, Transform allocates nothing at a length at which the implementation has run twice. An
// implementation on a GPU remembers only the last few lengths. FFTW may plan in the first call, which takes up to a second.
// Transform fails only if every implementation fails, and then the returned values are undefined.
//
// If a sample is infinite or NaN, no value of the frames that have it has a meaning. No samples are taken for silence.
func (p *Plan) Transform(dst []complex64, samples []float32) ([]complex64, error) {
	kernels.Made(p.SizedPlan)
	size := p.params.frames(len(samples)) * p.params.bins()
	dst = slices.Grow(dst[:0], size)[:size]
	return dst, kernels.RunSized(p.SizedPlan, len(samples), &kernels.Args{kernels.ComplexWords(dst), samples})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(kernels.Complex(a[0]), a[1])
	return err
})

// Reference returns the spectrogram of samples in float64, frames×bins, row-major. It computes the definition, frame by
// frame, with gonum's transform. The tests compare it with the plain sum and with librosa. It panics if p is out of its
// range.
func Reference(p Params, samples []float32) []complex128 {
	if err := p.check(); err != nil {
		panic(err)
	}
	window := p.Window.Weights(p.NFFT)
	transform := fourier.NewFFT(p.NFFT)
	frame := make([]float64, p.NFFT)
	bins, frames := p.bins(), p.frames(len(samples))
	out := make([]complex128, frames*bins)
	for f := range frames {
		for j := range frame {
			frame[j] = 0
			i := f*p.Hop - p.lead() + j
			if p.Padding == Reflect && len(samples) > 0 {
				i = reflected(i, len(samples))
			}
			if 0 <= i && i < len(samples) {
				frame[j] = window[j] * float64(samples[i])
			}
		}
		transform.Coefficients(out[f*bins:(f+1)*bins], frame)
	}
	return out
}

// parts returns the real and the imaginary part of each value, one after the other.
func parts(x []complex128) []float64 {
	all := make([]float64, 0, 2*len(x))
	for _, v := range x {
		all = append(all, real(v), imag(v))
	}
	return all
}
