// Package mfcc computes mel-frequency cepstral coefficients from a power mel spectrogram, in one step:
//
//	L[f,m] = max(10·log10(max(10⁻¹⁰, M[f,m])), peak − 80),   peak = 10·log10(max(10⁻¹⁰, max M))
//	C[f,k] = s_k · Σ_m L[f,m]·cos(π·k·(2m+1) / (2·bands)),   s_0 = √(1/bands), else s_k = √(2/bands)
//
// M is frames×bands, as package mel computes it, and C is frames×coefficients, both row-major. L is in decibels. The peak is
// that of all frames of a call, so a recording is one call. The sum is the orthonormal DCT-II. These are librosa's defaults:
// power_to_db with ref 1, amin 10⁻¹⁰ and top_db 80, and mfcc with dct_type 2, norm "ortho" and no lifter.
//
// The implementations do not compute L. The logarithm rises with its argument, so they raise M to the power that is 80 dB
// below the peak and to 10⁻¹⁰, take logarithms, and have the factor of the decibels in the cosines.
//
// On the processor, workers take chunks of frames. The number of workers and of frames decides how many, and so in which order a
// product of few rows adds its terms. So the last bits of C may be others on another machine, or in a call of other frames.
//
// The package computes no mel spectrogram, and its input is power, not decibels. The usual steps are New with [Params], and
// Transform. An Example of package kernels has all steps from samples on.
//
// Sources: S. Davis, P. Mermelstein, Comparison of Parametric Representations for Monosyllabic Word Recognition, IEEE Trans.
// ASSP 28 (1980), 357–366; https://librosa.org/doc/0.10.2/generated/librosa.feature.mfcc.html.
package mfcc

import (
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/mel"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Bands        int // of the mel spectrogram, 1 to 16 Ki
	Coefficients int // from the first one, 1 to Bands
}

// mostBands is the greatest number of bands. So many cosines of as many coefficients take 1 GiB.
const mostBands = 1 << 14

func (p Params) check() error {
	if p.Bands < 1 || p.Bands > mostBands {
		return fmt.Errorf("mfcc: Bands is %d: want 1 to %d", p.Bands, mostBands)
	}
	if p.Coefficients < 1 || p.Coefficients > p.Bands {
		return fmt.Errorf("mfcc: Coefficients is %d: want 1 to the number of bands, %d", p.Coefficients, p.Bands)
	}
	return nil
}

const (
	least    = 1e-10 // power below which a value counts as this
	topDB    = 80    // below the peak a value counts as this
	topPower = 1e-8  // topDB as a ratio of powers
)

// The axes of the operation.
const (
	coefficients = iota
	bands
	frames
)

var axes = []kernels.Axis{
	{Name: "coefficients", Unit: "coefficients", Min: 8, Max: 64, Usual: []int{12, 13, 20, 40}},
	{Name: "bands", Unit: "bands", Min: 20, Max: 256, Usual: []int{20, 40, 64, 80, 96, 128}},
	// 64 Ki frames are 25 minutes of audio.
	{Name: "frames", Unit: "frames", Min: 1, Max: 64 << 10},
}

// draw returns a shape with no more coefficients than bands.
func draw(at []float64) kernels.Shape {
	s := kernels.Spread(axes, at)
	if s[coefficients] > s[bands] {
		return kernels.Shape{}
	}
	return s
}

// line returns the case of some coefficients of librosa's default number of bands.
func line(count int) kernels.Line {
	return kernels.Along(axes, "frames", kernels.Param{Name: "coefficients", Value: count}, kernels.Param{Name: "bands", Value: 128})
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name: "mfcc",
	Formula: "C[f,k] = s_k·(sum over m of L[f,m]·cos(πk(2m+1)/(2·bands))), s_0 = √(1/bands), other s_k = √(2/bands), " +
		"L = 10·log10(max(1e-10, M, max(M)·1e-8)) dB, M power mel spectrogram, frames×bands",
	Source:   "Davis, Mermelstein, IEEE Trans. ASSP 28 (1980), 357–366; librosa 0.10.2, librosa.power_to_db and librosa.feature.mfcc",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(0, 1, 1), kernels.Power(1, 1, 1)},
	Draw:     draw,
	Lines:    []kernels.Line{line(13), line(20)},
	Params:   func(s kernels.Shape) Params { return Params{Bands: s[bands], Coefficients: s[coefficients]} },
	Check:    Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "C", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[frames], p.Coefficients}},
			{Name: "M", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[frames], p.Bands}},
		}
	},
	Fill: func(p Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		mel.Fill(mel.Params{SampleRate: 22050, NFFT: 2048, Bands: p.Bands}, in, a[1])
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		rows, bands, count := float64(s[frames]), float64(s[bands]), float64(s[coefficients])
		return kernels.Work{
			Bytes:    4 * rows * (bands + count),
			Flops:    rows * bands * (20 + 2*count), // a logarithm and the products
			Pieces:   rows,
			Threads:  rows * count,
			Launches: 2,
		}
	},
	By: []kernels.Makers[Params]{
		// Products of few coefficients are dot products. Chunks are shorter.
		kernels.Revised(1, kernels.Revised(1, onCores("go", "go-parallel", inGo), "go-parallel")),
		kernels.Revised(1, onOpenBLAS(), "openblas-parallel"),
		kernels.Framework("", newFramework),
		kernels.KernelText("", appendCoefficients),
	},
})

// Plan computes the coefficients of mel spectrograms by the implementation that is fastest at their number of frames. Only
// one goroutine at a time may use a Plan.
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
	return &Plan{kernels.NewPlan(d, &Op, p).Along(frames, kernels.Shape{coefficients: p.Coefficients, bands: p.Bands}), p}, nil
}

// Transform returns the coefficients of a power mel spectrogram. mel is power as package mel computes it, not decibels:
// Transform takes them itself. mel is frames×Bands, and the result is frames×Coefficients, both row-major. The result is in
// dst's memory if its capacity suffices and in new memory otherwise. It must not overlap mel. Powers below 10⁻¹⁰ count as
// 10⁻¹⁰, negative ones and −Inf too. The coefficients of a frame with a NaN are NaN, and the NaN does not count for the peak.
// If a power is +Inf, every decibel is +Inf: no coefficient is finite.
//
// If dst has the capacity, Transform allocates nothing at a number of frames at which the implementation has run twice. An
// implementation on a GPU remembers only the last few numbers of frames. Transform panics if the length of mel is not a
// multiple of Bands. It fails only if every implementation fails, and then the returned values are undefined.
func (p *Plan) Transform(dst, mel []float32) ([]float32, error) {
	kernels.Made(p.SizedPlan)
	if len(mel)%p.params.Bands != 0 {
		panic(fmt.Sprintf("mfcc: %d values of mel are not a number of frames of %d bands", len(mel), p.params.Bands))
	}
	count := len(mel) / p.params.Bands
	dst = slices.Grow(dst[:0], count*p.params.Coefficients)[:count*p.params.Coefficients]
	return dst, kernels.RunSized(p.SizedPlan, count, &kernels.Args{dst, mel})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	_, err := p.Transform(a[0], a[1])
	return err
})

// cosine returns s_k·cos(π·k·(2m+1)/(2·bands)).
func cosine(k, m, bands int) float64 {
	scale := math.Sqrt(2 / float64(bands))
	if k == 0 {
		scale = math.Sqrt(1 / float64(bands))
	}
	// The cosine is the same for arguments that differ by a multiple of 4·bands half-steps.
	return scale * math.Cos(math.Pi*float64(k*(2*m+1)%(4*bands))/float64(2*bands))
}

// Reference returns the coefficients of a power mel spectrogram in float64, by the definition. mel is frames×p.Bands, and
// the result is frames×p.Coefficients, both row-major. Reference panics if p is out of its range.
func Reference(p Params, mel []float32) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	peak := least
	for _, v := range mel {
		if float64(v) > peak {
			peak = float64(v)
		}
	}
	decibels := func(power float64) float64 { return 10 * math.Log10(max(least, power)) }
	floor := decibels(peak) - topDB
	out := make([]float64, 0, len(mel)/p.Bands*p.Coefficients)
	for frame := range slices.Chunk(mel, p.Bands) {
		for k := range p.Coefficients {
			var sum float64
			for m, v := range frame {
				sum += max(decibels(float64(v)), floor) * cosine(k, m, p.Bands)
			}
			out = append(out, sum)
		}
	}
	return out
}
