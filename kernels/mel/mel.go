// Package mel sums the bins of a power spectrogram into bands of the mel scale, as librosa does:
//
//	M[f,m] = Σ_k W[m,k]·P[f,k]
//
// W is a bank of triangular filters. Filter m spans the frequencies f(m) to f(m+2) and peaks at f(m+1), and the frequencies f
// are equally far apart on a mel scale. By default they go from 0 Hz to half the sample rate on Slaney's scale, and filters are
// scaled by Slaney's norm 2/(f(m+2) − f(m)). [Params] have other frequencies, HTK's scale, and filters that peak at 1. P is
// frames×bins and M is frames×bands, both row-major. There are n_fft/2 + 1 bins, those of a transform of n_fft points.
//
// The package does not compute power spectrograms or decibels. The usual steps are New with [Params], and Transform.
//
// Sources: M. Slaney, Auditory Toolbox, version 2, Interval Research technical report 1998-010; S. Young et al., The HTK Book,
// version 3.4, Cambridge University 2006, section 5.4;
// https://librosa.org/doc/0.10.2/generated/librosa.filters.mel.html.
package mel

import (
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/stft"
)

// Params describe the power spectra that are the input and the bands that are the output.
type Params struct {
	SampleRate float64 // Hz, above 0
	NFFT       int     // points of the transform that made the spectra: even, 2 to 16 Mi
	Bands      int     // 1 to 64 Ki; Bands·(NFFT/2+1), the number of weights, is at most 256 Mi

	// The lower edge of the lowest band and the upper edge of the highest one, in Hz. MaxHz 0 stands for half of SampleRate.
	MinHz, MaxHz float64

	Scale Scale
	Norm  Norm
}

// The greatest parameters. A filterbank of mostWeights takes 2 GiB while it is made.
const (
	mostNFFT    = 1 << 24
	mostBands   = 1 << 16
	mostWeights = 1 << 28
)

func (p Params) check() error {
	if !(p.SampleRate > 0) || math.IsInf(p.SampleRate, 1) {
		return fmt.Errorf("mel: SampleRate is %v: want a number of Hz above 0", p.SampleRate)
	}
	if p.NFFT < 2 || p.NFFT > mostNFFT || p.NFFT%2 != 0 {
		return fmt.Errorf("mel: NFFT is %d: want an even number, 2 to %d", p.NFFT, mostNFFT)
	}
	if p.Bands < 1 || p.Bands > mostBands {
		return fmt.Errorf("mel: Bands is %d: want 1 to %d", p.Bands, mostBands)
	}
	if p.Bands > mostWeights/p.bins() {
		return fmt.Errorf("mel: Bands is %d of %d bins: want at most %d weights", p.Bands, p.bins(), mostWeights)
	}
	if !(0 <= p.MaxHz && p.MaxHz <= p.SampleRate/2) {
		return fmt.Errorf("mel: MaxHz is %v: want at most half of SampleRate, %v, or 0 for that", p.MaxHz, p.SampleRate/2)
	}
	if !(0 <= p.MinHz && p.MinHz < p.maxHz()) {
		return fmt.Errorf("mel: MinHz is %v: want 0 or more and less than the upper edge, %v", p.MinHz, p.maxHz())
	}
	if p.Scale != Slaney && p.Scale != HTK {
		return fmt.Errorf("mel: Scale is %d: want Slaney or HTK", int(p.Scale))
	}
	if p.Norm != Area && p.Norm != Peak {
		return fmt.Errorf("mel: Norm is %d: want Area or Peak", int(p.Norm))
	}
	return nil
}

func (p Params) bins() int { return p.NFFT/2 + 1 }

// The axes of the operation.
const (
	bands = iota
	nFFT
	frames
)

var axes = []kernels.Axis{
	{Name: "bands", Unit: "bands", Min: 10, Max: 256, Usual: []int{20, 40, 64, 80, 96, 128}},
	{Name: "n_fft", Unit: "samples", Min: 256, Max: 8192, Round: func(n int) int { return n + n%2 },
		Usual: []int{256, 400, 512, 800, 1024, 1200, 2048, 4096}},
	// 8192 frames are three minutes of audio and 32 MiB of input.
	{Name: "frames", Unit: "frames", Min: 1, Max: 8192},
}

// draw returns a number of bands that an even transform has bins for, and a number of frames.
func draw(at []float64) kernels.Shape {
	s := kernels.Spread(axes, at)
	s[nFFT] += s[nFFT] % 2
	if s[bands] > s[nFFT]/4 {
		return kernels.Shape{}
	}
	return s
}

// sampleRate is the sample rate, in Hz, with which the operation is measured: librosa's default. Another rate changes the
// weights, but hardly their number.
const sampleRate = 22050

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "mel",
	Formula: "M[f,m] = sum over k of W[m,k]·P[f,k], W Slaney's triangles at 22050 Hz, P frames×(n_fft/2+1); " +
		"go, cuda and metal sum the nonzero bands of W, BLAS libraries multiply by all of W",
	Source:   "M. Slaney, Auditory Toolbox, 1998; librosa 0.10.2, librosa.filters.mel",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(0, 1, 1), kernels.Power(1, 1, 1)},
	Draw:     draw,
	// The default numbers of bands and points in librosa.
	Lines:  []kernels.Line{kernels.Along(axes, "frames", kernels.Param{Name: "bands", Value: 128}, kernels.Param{Name: "n_fft", Value: 2048})},
	Params: func(s kernels.Shape) Params { return Params{SampleRate: sampleRate, NFFT: s[nFFT], Bands: s[bands]} },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "M", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[frames], p.Bands}},
			{Name: "P", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames], p.bins()}},
		}
	},
	Fill:      fill,
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, variant string) kernels.Work {
		rows, bins, bands := float64(s[frames]), float64(s[nFFT]/2+1), float64(s[bands])
		w := kernels.Work{Bytes: 4 * rows * (bins + bands), Flops: 4 * rows * bins, Pieces: rows, Threads: rows * bands}
		if variant == "dense" {
			w.Flops *= bands / 2 // other variants multiply a bin by two weights, not by all
			w.Kind = kernels.Product
		}
		return w
	},
	// Our own code skips the zeros of the filterbank. BLAS libraries multiply by all of it.
	By: []kernels.Makers[Params]{
		kernels.Revised(2, kernels.OverRows(newBands)), // vector code, for fewer than eight frames too
		kernels.OpenBLAS(newBLAS),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendBands),
		kernels.VendorGEMM("", newVendor),
	},
})

// fill makes a power spectrogram of a recording. It ignores the sample rate of the recording, which would change the values
// and not the work.
func fill(p Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
	stft.FillPower(p.NFFT, in, a[1])
}

// Fill fills dst with the mel spectrogram of a recording from its beginning, and repeats it until there are enough frames.
// Operations on mel spectrograms are measured with it. dst is a number of frames of bands.
func Fill(p Params, in kernels.Input, dst []float32) {
	power := make([]float32, min(len(dst)/p.Bands, stft.PowerFrames(in))*p.bins())
	stft.FillPower(p.NFFT, in, power)
	bands := make([]float32, 0, len(dst))
	for _, v := range Reference(p, power) {
		bands = append(bands, float32(v))
	}
	kernels.Input{Samples: bands}.Fill(dst)
}

// Plan computes mel spectrograms by the implementation that is fastest at their number of frames. Only one goroutine at a
// time may use a Plan.
type Plan struct {
	// Explain takes a number of frames.
	*kernels.SizedPlan[Params]

	params Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is out of its
// range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{bands: p.Bands, nFFT: p.NFFT}), p}, nil
}

// Bins returns the number of values of a power spectrum: NFFT/2 + 1.
func (p *Plan) Bins() int { return p.params.bins() }

// Transform returns the mel spectrogram of a power spectrogram. power is frames×Bins(), and the result is frames×Bands, both
// row-major. The result is in dst's memory if its capacity suffices and in new memory otherwise. It must not overlap power.
// A NaN in a bin reaches every band in which the bin has weight. If a library multiplies by the whole filterbank, the NaN
// reaches all bands of its frame.
//
// If dst has the capacity, Transform allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Transform panics if the length of power is not a
// multiple of Bins(). It fails only if every implementation fails, and then the returned values are undefined.
func (p *Plan) Transform(dst, power []float32) ([]float32, error) {
	bins := p.params.bins()
	if len(power)%bins != 0 {
		panic(fmt.Sprintf("mel: %d values of power are not a number of frames of %d bins", len(power), bins))
	}
	count := len(power) / bins
	dst = slices.Grow(dst[:0], count*p.params.Bands)[:count*p.params.Bands]
	return dst, kernels.RunSized(p.SizedPlan, count, &kernels.Args{dst, power})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(a[0], a[1])
	return err
})

// Reference returns the mel spectrogram of a power spectrogram in float64. power is frames×(p.NFFT/2+1), and the result is
// frames×p.Bands, both row-major. Reference sums the definition without the products whose weight is zero. It panics if p is
// out of its range.
func Reference(p Params, power []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	bins := p.bins()
	weights := filterbank(p)
	out := make([]float64, len(power)/bins*p.Bands)
	for m := range p.Bands {
		for k, w := range weights[m*bins : (m+1)*bins] {
			if w == 0 {
				continue
			}
			for f := range len(power) / bins {
				out[f*p.Bands+m] += w * float64(power[f*bins+k])
			}
		}
	}
	return out
}
