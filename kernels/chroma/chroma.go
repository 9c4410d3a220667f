// Package chroma folds the bins of a power spectrogram into the twelve pitch classes, as librosa does with tuning 0:
//
//	R[f,c] = Σ_k W[c,k]·P[f,k],   C[f,c] = R[f,c] / max_c |R[f,c]|
//
// Class 0 is C, and A is 440 Hz. The weights of a bin are bumps exp(−2·(d/w)²) around its pitch: d is the distance in
// semitones, within ±6, and w the distance to the next bin, at least 1. They have a sum of squares of 1, and are then
// multiplied by exp(−½·((o − 5)/2)²), o being the number of octaves above 27.5 Hz. Bin 0 counts as 18 semitones below bin 1.
// A frame whose greatest |R| is below 2⁻¹²⁶ is not divided. P is frames×bins and C is frames×12, both row-major. There are
// n_fft/2 + 1 bins, those of a transform of n_fft points.
//
// No weight is 0: a bump is above 10⁻³¹. So the filterbank is a dense matrix, unlike that of package mel. The package does not
// estimate the tuning. The usual steps are New with [Params], and Transform.
//
// Sources: D. Ellis, Chroma feature analysis and synthesis, 2007, https://www.ee.columbia.edu/~dpwe/resources/matlab/chroma-ansyn/;
// https://librosa.org/doc/0.10.2/generated/librosa.filters.chroma.html, librosa.feature.chroma_stft with norm=inf.
package chroma

import (
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/kernels/stft"
	"crossover/native/accelerate"
	"crossover/native/openblas"
)

// Classes is the number of pitch classes.
const Classes = 12

// Params describe the power spectra that are the input.
type Params struct {
	SampleRate float64 // Hz, above 0
	NFFT       int     // points of the transform that made the spectra: even, 2 to 16 Mi
}

// mostNFFT is that of package stft. Its weights take 384 MiB.
const mostNFFT = 1 << 24

func (p Params) check() error {
	if !(p.SampleRate > 0) || math.IsInf(p.SampleRate, 1) {
		return fmt.Errorf("chroma: SampleRate is %v: want a number of Hz above 0", p.SampleRate)
	}
	if p.NFFT < 2 || p.NFFT > mostNFFT || p.NFFT%2 != 0 {
		return fmt.Errorf("chroma: NFFT is %d: want an even number, 2 to %d", p.NFFT, mostNFFT)
	}
	return nil
}

func (p Params) bins() int { return p.NFFT/2 + 1 }

// The axes of the operation.
const (
	nFFT = iota
	frames
)

var axes = []kernels.Axis{
	{Name: "n_fft", Unit: "samples", Min: 256, Max: 16384, Round: func(n int) int { return n + n%2 },
		Usual: []int{1024, 2048, 4096, 8192, 16384}},
	// 8192 frames are three minutes of audio and 32 MiB of input.
	{Name: "frames", Unit: "frames", Min: 1, Max: 8192},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "chroma",
	Formula: "C[f,c] = R[f,c]/max|R[f]|, R[f,c] = sum over k of W[c,k]·P[f,k], W librosa's 12 pitch classes at 22050 Hz and tuning 0, " +
		"P power spectrogram, frames×(n_fft/2+1)",
	Source:   "D. Ellis, Chroma feature analysis and synthesis, 2007; librosa 0.10.2, librosa.filters.chroma and librosa.feature.chroma_stft",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Draw: func(at []float64) kernels.Shape {
		s := kernels.Spread(axes, at)
		s[nFFT] += s[nFFT] % 2
		return s
	},
	Lines:  []kernels.Line{kernels.Along(axes, "frames", kernels.Param{Name: "n_fft", Value: 2048})},
	Params: func(s kernels.Shape) Params { return Params{SampleRate: 22050, NFFT: s[nFFT]} },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "C", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[frames], Classes}},
			{Name: "P", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames], p.bins()}},
		}
	},
	Fill: func(p Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		stft.FillPower(p.NFFT, in, a[1])
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		rows, bins := float64(s[frames]), float64(s[nFFT]/2+1)
		return kernels.Work{
			Bytes:   4 * (rows*(bins+Classes) + bins*Classes),
			Flops:   2 * rows * bins * Classes,
			Pieces:  rows,
			Threads: 32 * rows,
			Kind:    kernels.Product,
		}
	},
	By: []kernels.Makers[Params]{
		kernels.Revised(2, kernels.OverRows(newLoop)), // classes are dot products
		kernels.OpenBLAS(newBLAS),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendClasses),
		kernels.VendorGEMM("", newVendor),
	},
})

// newLoop returns the loop over the frames of a power spectrogram.
func newLoop(p Params, workers int) (kernels.Loop, error) {
	packed := gemm.Pack(p.weights(), p.bins(), Classes)
	multipliers := make([]*gemm.Multiplier, workers)
	for i := range multipliers {
		multipliers[i] = gemm.NewSerial()
	}
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return s[frames] },
		// A frame of 1025 bins takes half a microsecond. Frames are multiplied twelve at a time.
		PerMicrosecond: 4096 / float64(p.bins()), Unit: 12,
		Do: func(worker int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			dst := a[0][lo*Classes : hi*Classes]
			multipliers[worker].MultiplyPacked(dst, a[1][lo*p.bins():hi*p.bins()], packed, hi-lo, false)
			normalise(dst)
		},
	}, nil
}

// newBLAS multiplies by OpenBLAS.
func newBLAS(p Params, threads int) kernels.Runner {
	weights := p.weights()
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		openblas.Gemm(threads, false, false, s[frames], Classes, p.bins(), 1, a[1], p.bins(), weights, Classes, 0, a[0], Classes)
		normalise(a[0])
		return nil
	})
}

// newFramework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func newFramework(p Params) (kernels.Runner, error) {
	weights := p.weights()
	return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
		accelerate.Gemm(false, false, s[frames], Classes, p.bins(), 1, a[1], weights, 0, a[0])
		normalise(a[0])
		return nil
	}), nil
}

// smallest is the least float32 of full precision. Frames below are not divided.
const smallest = 0x1p-126

// normalise divides each frame by its greatest magnitude.
func normalise(dst []float32) {
	for ; len(dst) >= Classes; dst = dst[Classes:] {
		var most float32
		for _, v := range dst[:Classes] {
			if v > most {
				most = v
			} else if -v > most {
				most = -v
			}
		}
		if most < smallest {
			continue
		}
		for i := range dst[:Classes] {
			dst[i] /= most
		}
	}
}

// Plan computes chroma by the implementation that is fastest at its number of frames. Only one goroutine at a time may use a
// Plan.
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
	return &Plan{kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{nFFT: p.NFFT}), p}, nil
}

// Bins returns the number of values of a power spectrum: NFFT/2 + 1.
func (p *Plan) Bins() int { return p.params.bins() }

// Transform returns the chroma of a power spectrogram. power is frames×Bins(), and the result is frames×[Classes], both
// row-major. The result is in dst's memory if its capacity suffices and in new memory otherwise. It must not overlap power.
// Powers may be negative. A frame with a NaN or an infinity becomes NaN. A frame of zeros stays zero.
//
// If dst has the capacity, Transform allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Transform panics if the length of power is not a
// multiple of Bins(). It fails only if every implementation fails, and then the returned values are undefined.
func (p *Plan) Transform(dst, power []float32) ([]float32, error) {
	bins := p.params.bins()
	if len(power)%bins != 0 {
		panic(fmt.Sprintf("chroma: %d values of power are not a number of frames of %d bins", len(power), bins))
	}
	count := len(power) / bins
	dst = slices.Grow(dst[:0], count*Classes)[:count*Classes]
	return dst, kernels.RunSized(p.SizedPlan, count, &kernels.Args{dst, power})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(a[0], a[1])
	return err
})

// Filterbank returns the weights W, Classes×(nFFT/2+1), row-major. sampleRate is in Hz. It panics if sampleRate is not finite
// and above 0, or if nFFT is not an even number from 2 on.
func Filterbank(sampleRate float64, nFFT int) []float32 {
	p := Params{SampleRate: sampleRate, NFFT: nFFT}
	if err := p.check(); err != nil {
		panic(err)
	}
	weights := make([]float32, Classes*p.bins())
	for i, w := range p.weights() {
		weights[i%Classes*p.bins()+i/Classes] = w
	}
	return weights
}

// weights returns the transposed filterbank in float32, bins×classes.
func (p Params) weights() (all []float32) {
	for k := range p.bins() {
		for _, w := range p.weightsOf(k) {
			all = append(all, float32(w))
		}
	}
	return all
}

const (
	lowestA      = 440.0 / 16 // Hz, where octaves are counted from
	centreOctave = 5
	octaveWidth  = 2
	belowFirst   = 1.5 * Classes // semitones from bin 0 to bin 1
	aAboveC      = 9             // semitones
)

// semitones returns the pitch of a bin in semitones above the lowest A.
func (p Params) semitones(bin int) float64 {
	if bin == 0 {
		return p.semitones(1) - belowFirst
	}
	return Classes * math.Log2(float64(bin)*p.SampleRate/float64(p.NFFT)/lowestA)
}

// weightsOf returns the weights of a bin for each class.
func (p Params) weightsOf(bin int) (weights [Classes]float64) {
	pitch, width := p.semitones(bin), 1.0
	if bin+1 < p.NFFT {
		width = max(1, p.semitones(bin+1)-pitch)
	}
	var squares float64
	for c := range weights {
		above := math.Mod(pitch-float64(c-aAboveC), Classes)
		if above < 0 {
			above += Classes
		}
		distance := min(above, Classes-above)
		weights[c] = math.Exp(-2 * distance * distance / (width * width))
		squares += weights[c] * weights[c]
	}
	fromCentre := (pitch/Classes - centreOctave) / octaveWidth
	for c := range weights {
		weights[c] *= math.Exp(-fromCentre*fromCentre/2) / math.Sqrt(squares)
	}
	return weights
}

// Reference returns the chroma of a power spectrogram in float64. power is frames×(p.NFFT/2+1), and the result is
// frames×Classes, both row-major. Reference panics if p is out of its range.
func Reference(p Params, power []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	bins := p.bins()
	out := make([]float64, len(power)/bins*Classes)
	for k := range bins {
		weights := p.weightsOf(k)
		for f := range len(power) / bins {
			for c, w := range weights {
				out[f*Classes+c] += w * float64(power[f*bins+k])
			}
		}
	}
	for frame := range slices.Chunk(out, Classes) {
		var most float64
		for _, v := range frame {
			if math.Abs(v) > most {
				most = math.Abs(v)
			}
		}
		for c := range frame {
			if most >= smallest {
				frame[c] /= most
			}
		}
	}
	return out
}
