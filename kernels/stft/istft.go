package stft

import (
	"errors"
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/fft/double"
	"crossover/native/fftw"
)

// InverseOp declares the inverse.
var InverseOp = kernels.Declare(kernels.Op[Params]{
	Name: "istft",
	Formula: "x[i] = (sum over f of w[j]·y[f,j]) / (sum over f of w[j]²), j = i+n_fft/2-f·hop, y[f] the samples with the bins " +
		"S[f], frames×bins, w = hann",
	Source:   "librosa 0.10.2, librosa.istft with center=True, window='hann', length=n",
	Axes:     axes,
	Features: Op.Features,
	Family:   Op.Family,
	Draw:     draw,
	Lines:    Op.Lines,
	Params:   Op.Params,
	Check:    Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "x", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[samples]}},
			{Name: "S", Role: kernels.In, Type: kernels.Complex64, Dims: []int{p.frames(s[samples]), p.bins()}},
		}
	},
	Fill: fillSpectrogram,
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		return InverseReference(p, kernels.Complex(a[1]), s[samples])
	},
	Tolerance: func(s kernels.Shape) float64 { return inverseTolerance(s[nFFT], s[hop], s[samples]) },
	Work: func(s kernels.Shape, variant string) kernels.Work {
		w := work(s, variant) // of as many bytes
		w.Launches++          // adds the frames up, unless the kernel of the transforms does
		return w
	},
	By: []kernels.Makers[Params]{
		kernels.Revised(1, addUp("go", "go-parallel", inverseInGo), "go-parallel"), // no frame is inverted twice
		kernels.Probed(fftw.Probe, fftw.Version,
			kernels.Revised(1, addUp("fftw", "fftw-parallel", inverseWithFFTW), "fftw-parallel")), // as above
		kernels.Framework("", alone(inverseWithAccelerate)),
		kernels.Revised(3, kernels.KernelText("", appendInverse)), // a barrier less, and weights are loaded two pairs at a time
		kernels.VendorFFT("", newInverseVendor),
	},
})

// inverseTolerance returns the greatest relative error of so many samples: 10⁻⁴, or more where windows hardly reach. A sample is
// divided by its sum of squared weights, so the rounding errors of its frames are multiplied by 1/√sum: by 100 000 where the only
// frame at the last sample of a signal ends right behind it.
func inverseTolerance(n, hop, count int) float64 {
	const (
		least = 1e-4
		each  = 5e-7 // of a frame's samples; go is at most at 1.7·10⁻⁷, FFTW and a GPU are nearly as far off
	)
	if count < 1 {
		return least
	}
	// Between two frames, samples lie on both sides of the middle. Those behind the last frame lie on one side.
	behind := count % hop
	between := float64(count-behind) / float64(hop)
	return max(least, each*math.Sqrt((2*between*inverseWeights(n, (hop+1)/2)+inverseWeights(n, behind))/float64(count)))
}

// inverseWeights returns at least the sum of 1/w² for the Hann window's weights w at 0 to k−1 samples from its middle. Where the window
// has ended, there is nothing to add. The sum is the last term and the integral before it, which is that of a power of the
// secant.
func inverseWeights(n, k int) float64 {
	if k = min(k, n/2); k < 1 {
		return 0
	}
	tangent := math.Tan(math.Pi * float64(k-1) / float64(n))
	last := (1 + tangent*tangent) * (1 + tangent*tangent)
	return last + float64(n)/math.Pi*(tangent+tangent*tangent*tangent/3)
}

// fillSpectrogram fills the input with the spectrogram of a recording.
func fillSpectrogram(p Params, s kernels.Shape, in kernels.Input, a *kernels.Args) {
	forward := kernels.Args{a[1], make([]float32, s[samples])}
	in.Fill(forward[1])
	framers, err := newFramers(p, 1, inGo)
	if err != nil {
		panic(err) // inGo does not fail
	}
	framers[0].span(kernels.Complex(a[1]), forward[1], 0, p.frames(s[samples]))
}

// InversePlan computes signals of their spectrograms by the implementation that is fastest at their length. Only one goroutine
// at a time may use an InversePlan.
type InversePlan struct {
	// Explain takes a number of samples.
	*kernels.SizedPlan[Params]

	params Params
}

// NewInverse returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. Padding does not matter. NewInverse
// fails if a parameter is out of its range, and if p.Uncentred is set: the first samples of such a spectrogram have hardly any
// weight, and cannot be recovered.
func NewInverse(d *dispatch.Dispatcher, p Params) (*InversePlan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Uncentred {
		return nil, errors.New("stft: Uncentred is set: want a spectrogram of centred frames")
	}
	return &InversePlan{kernels.NewPlan(d, &InverseOp, p).Along(samples, kernels.Shape{nFFT: p.NFFT, hop: p.Hop}), p}, nil
}

// Frames returns the number of frames of the spectrogram of a number of samples: 1 + samples/Hop. A negative number of
// samples counts as 0. It is at most [math.MaxInt].
func (p *InversePlan) Frames(samples int) int {
	kernels.Made(p.SizedPlan)
	return p.params.frames(samples)
}

// Bins returns the number of bins of a frame: NFFT/2 + 1.
func (p *InversePlan) Bins() int { return p.params.bins() }

// Transform writes the signal whose spectrogram is src to dst. src is Frames(len(dst))×Bins(), row-major, and unchanged. So
// Transform undoes [Plan.Transform] at every sample that a window reaches. Samples that no window reaches become 0; there are
// some if Hop is more than NFFT/2. A sample that only the end of a window reaches has large rounding errors, because it is divided by
// the window's small weight: the last samples of a signal, if Hop is NFFT/2 and the next frame would begin right behind them. The
// imaginary parts of bins 0 and NFFT/2 are taken as 0. dst and src must not overlap. If a
// bin is infinite or NaN, no sample within NFFT/2 of its frame has a meaning.
//
// Transform panics if the lengths do not fit. It fails only if every implementation fails. It allocates nothing at a length at
// which the implementation has run twice. An implementation on a GPU remembers only the last few lengths.
func (p *InversePlan) Transform(dst []float32, src []complex64) error {
	kernels.Made(p.SizedPlan)
	if frames, bins := p.params.frames(len(dst)), p.params.bins(); len(src) != frames*bins {
		panic(fmt.Sprintf("stft: %d samples of a spectrogram of %d values (want %d frames of %d bins)", len(dst), len(src), frames, bins))
	}
	return kernels.RunSized(p.SizedPlan, len(dst), &kernels.Args{dst, kernels.ComplexWords(src)})
}

// InverseProgram is the [kernels.Program] of InverseOp.
var InverseProgram = kernels.NewProgram(NewInverse, func(p *InversePlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Transform(a[0], kernels.Complex(a[1]))
})

// InverseReference returns count samples in float64, of which src is the spectrogram. It computes the definition, frame by
// frame. It panics if p is out of its range.
func InverseReference(p Params, src []complex64, count int) []float64 {
	if err := p.check(); err != nil {
		panic(err)
	}
	n, bins := p.NFFT, p.bins()
	window := p.Window.Weights(n)
	sums, weights := make([]float64, count), make([]float64, count)
	forward, conjugates, row := double.New(n), make([]complex128, n), make([]complex128, n)
	for f := range len(src) / bins {
		for k, v := range src[f*bins : (f+1)*bins] {
			value := complex128(v)
			if k == 0 || k == n/2 {
				value = complex(real(value), 0)
			}
			// The transform of the conjugates is n times the samples, which are real.
			conjugates[k] = complex(real(value), -imag(value))
			conjugates[(n-k)%n] = value
		}
		forward(row, conjugates)
		for j, w := range window {
			if i := f*p.Hop - p.lead() + j; 0 <= i && i < count {
				sums[i] += w * real(row[j]) / float64(n)
				weights[i] += w * w
			}
		}
	}
	for i, w := range weights {
		if w > leastWeight {
			sums[i] /= w
		}
	}
	return sums
}
