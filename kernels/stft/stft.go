// Package stft computes short-time Fourier transforms, as librosa.stft does with its defaults:
//
//	S[f,k] = Σ_j w[j]·x[f·hop − n_fft/2 + j]·exp(−2πi·jk/n_fft),   0 ≤ j < n_fft,   0 ≤ k ≤ n_fft/2
//	w[j]   = ½ − ½·cos(2πj/n_fft)
//
// x is mono and zero outside of its samples, so frame f is centred at sample f·hop and there are 1 + samples/hop
// frames. The window is the periodic Hann window, and the transform is unscaled. A spectrogram is stored frame by
// frame: frames×bins, row-major, with bins = n_fft/2 + 1. librosa's arrays are its transpose.
//
// It does not invert, and it takes no other window and no other padding. The usual steps are New with [Params], and
// Transform as often as there are samples.
//
// Source: B. McFee et al., "librosa: audio and music signal analysis in Python", Proc. 14th Python in Science Conf.,
// 2015; https://librosa.org/doc/0.10.2/generated/librosa.stft.html.
package stft

import (
	"fmt"
	"math"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params are the two lengths of a short-time Fourier transform, in samples.
type Params struct {
	NFFT int // of the window and of the transform: even, at least 2
	Hop  int // from one frame to the next: at least 1
}

func (p Params) check() error {
	if p.NFFT < 2 || p.NFFT%2 != 0 {
		return fmt.Errorf("stft: NFFT is %d: want an even number, at least 2", p.NFFT)
	}
	if p.Hop < 1 {
		return fmt.Errorf("stft: Hop is %d: want at least 1", p.Hop)
	}
	return nil
}

// bins returns the number of bins of a frame.
func (p Params) bins() int { return p.NFFT/2 + 1 }

// frames returns the number of frames of a spectrogram.
func (p Params) frames(samples int) int { return 1 + samples/p.Hop }

func (p Params) caseName() string { return fmt.Sprintf("stft/n_fft=%d,hop=%d", p.NFFT, p.Hop) }

// hann returns the periodic Hann window of n points.
func hann(n int) []float64 {
	w := make([]float64, n)
	for j := range w {
		w[j] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(j)/float64(n))
	}
	return w
}

// Plan computes spectrograms by the implementation that is fastest at their length. It is for one goroutine at a time.
type Plan struct {
	params  Params
	engines *kernels.Engines[Params, engine]
}

// New returns a plan. Where d is nil the implementation in Go on one core computes. It fails where a parameter is out
// of its range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	engines, err := kernels.NewEngines(d, p.caseName(), contenders, p)
	if err != nil {
		return nil, err
	}
	return &Plan{params: p, engines: engines}, nil
}

// Frames returns the number of frames of a spectrogram: 1 + samples/Hop.
func (p *Plan) Frames(samples int) int { return p.params.frames(samples) }

// Bins returns the number of bins of a frame: NFFT/2 + 1. Bin k is at k·(sample rate)/NFFT Hz.
func (p *Plan) Bins() int { return p.params.bins() }

// Transform returns the spectrogram of samples, Frames(len(samples))×Bins(), row-major, in dst's memory if its
// capacity suffices and in new memory otherwise. What dst holds is overwritten. With a dst of sufficient capacity it
// allocates nothing once the implementation for that many samples has been used. The
// first use of FFTW plans, for up to a second. It fails where the chosen implementation cannot be made ready or fails
// itself; what it returns then is not to be used.
func (p *Plan) Transform(dst []complex64, samples []float32) ([]complex64, error) {
	e, err := p.engines.For(len(samples))
	if err != nil {
		return nil, err
	}
	size := p.params.frames(len(samples)) * p.params.bins()
	dst = slices.Grow(dst[:0], size)[:size]
	return dst, e.transform(dst, samples)
}

// Explain says why Transform computes that many samples the way it does.
func (p *Plan) Explain(samples int) dispatch.Explanation { return p.engines.Explain(samples) }
