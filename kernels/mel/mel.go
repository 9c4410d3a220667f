// Package mel sums the bins of a power spectrogram into bands of the mel scale, as librosa does with its defaults:
//
//	M[f,m] = Σ_k W[m,k]·P[f,k]
//
// W is a bank of triangular filters on Slaney's mel scale (linear, f·3/200, below 1 kHz; logarithmic,
// 15 + 27·ln(f/1000)/ln 6.4, above) with Slaney's norm: filter m spans the frequencies f(m) to f(m+2), peaks at
// f(m+1), and is scaled by 2/(f(m+2) − f(m)). P is frames×bins and M is frames×bands, both row-major; bins are those
// of a transform of n_fft points, n_fft/2 + 1.
//
// It does not compute the power spectrogram, nor decibels. The usual steps are New with [Params], and Transform.
//
// Sources: M. Slaney, Auditory Toolbox, version 2, Interval Research technical report 1998-010;
// https://librosa.org/doc/0.10.2/generated/librosa.filters.mel.html.
package mel

import (
	"fmt"
	"math"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// Params say which power spectra come in and how many bands go out.
type Params struct {
	SampleRate float64 // Hz, above 0
	NFFT       int     // points of the transform behind the spectra: even, at least 2
	Bands      int     // at least 1
}

func (p Params) check() error {
	if !(p.SampleRate > 0) || math.IsInf(p.SampleRate, 1) {
		return fmt.Errorf("mel: SampleRate is %v: want a number of Hz above 0", p.SampleRate)
	}
	if p.NFFT < 2 || p.NFFT%2 != 0 {
		return fmt.Errorf("mel: NFFT is %d: want an even number, at least 2", p.NFFT)
	}
	if p.Bands < 1 {
		return fmt.Errorf("mel: Bands is %d: want at least 1", p.Bands)
	}
	return nil
}

func (p Params) bins() int { return p.NFFT/2 + 1 }

// caseName leaves the sample rate out: it moves weights from band to band, and hardly changes how many there are.
func (p Params) caseName() string { return fmt.Sprintf("mel/bands=%d,n_fft=%d", p.Bands, p.NFFT) }

// Plan computes mel spectrograms by the implementation that is fastest at their number of frames. It is for one
// goroutine at a time.
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

// Bins returns the number of values of a power spectrum: NFFT/2 + 1.
func (p *Plan) Bins() int { return p.params.bins() }

// Transform returns the mel spectrogram of a power spectrogram: power is frames×Bins(), the result frames×Bands, both
// row-major. The result is in dst's memory if its capacity suffices and in new memory otherwise; it must not overlap
// power. With a dst of sufficient capacity it allocates nothing once the implementation for that many frames has been
// used. It panics where the length of power is not a multiple of Bins(), and fails where the chosen implementation
// does.
func (p *Plan) Transform(dst, power []float32) ([]float32, error) {
	bins := p.params.bins()
	if len(power)%bins != 0 {
		panic(fmt.Sprintf("mel: %d values of power are not a number of frames of %d bins", len(power), bins))
	}
	frames := len(power) / bins
	if frames == 0 {
		return dst[:0], nil
	}
	e, err := p.engines.For(frames)
	if err != nil {
		return nil, err
	}
	dst = slices.Grow(dst[:0], frames*p.params.Bands)[:frames*p.params.Bands]
	if err := e.transform(dst, power); err != nil {
		return nil, err
	}
	return dst, nil
}

// Explain says why Transform computes that many frames the way it does.
func (p *Plan) Explain(frames int) dispatch.Explanation { return p.engines.Explain(frames) }
