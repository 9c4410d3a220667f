package mel

import (
	"fmt"

	"crossover/kernels"
	"crossover/kernels/stft"
)

const (
	tolerance = 1e-4
	hop       = 512 // samples between the frames of the problem's input
)

// Cases returns the operation over its number of frames, with librosa's default bands, transform and sample rate.
func Cases() []kernels.Case {
	p := Params{SampleRate: 22050, NFFT: 2048, Bands: 128}
	return []kernels.Case{{
		Name:      p.caseName(),
		Operation: "mel",
		Definition: "M[f,m] = sum over k of W[m,k]·P[f,k], W Slaney's triangles at 22050 Hz, P frames×(n_fft/2+1); " +
			"go, cuda and metal sum the nonzero bands of W, BLAS libraries multiply by all of W",
		Source: "M. Slaney, Auditory Toolbox, 1998; librosa 0.10.2, librosa.filters.mel",
		Params: []kernels.Param{{Name: "bands", Value: p.Bands}, {Name: "n_fft", Value: p.NFFT}},
		// 8192 frames are three minutes of audio and 32 MiB of input.
		Axis:            kernels.Axis{Name: "frames", Unit: "frames", Min: 1, Max: 8192},
		Tolerance:       func(int) float64 { return tolerance },
		Bytes:           func(frames int) float64 { return 4 * float64(frames) * float64(p.bins()+p.Bands) },
		Implementations: contenders.Implementations(),
		Problem:         func(frames int, in kernels.Input) kernels.Problem { return newProblem(p, frames, in) },
	}}
}

// problem is a power spectrogram of a recording, from its beginning and over again until there are enough frames. The
// recording's own sample rate is not looked at: it would change the numbers and not the work.
type problem struct {
	params Params
	power  []float32
}

func newProblem(params Params, frames int, in kernels.Input) *problem {
	p := &problem{params: params, power: make([]float32, frames*params.bins())}
	samples := in.Samples[:min(len(in.Samples), (frames-1)*hop+params.NFFT/2)]
	spectrum := stft.Reference(stft.Params{NFFT: params.NFFT, Hop: hop}, samples)
	powers := make([]float32, len(spectrum))
	for i, v := range spectrum {
		powers[i] = float32(real(v)*real(v) + imag(v)*imag(v))
	}
	kernels.Input{Samples: powers}.Fill(p.power)
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.params, p.power) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	e, err := contenders.New(implementation, p.params)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("mel: %w", err)
	}
	if e, ok := e.(*launch); ok {
		return e.bind(p.power)
	}
	dst := make([]float32, len(p.power)/p.params.bins()*p.params.Bands)
	return kernels.Call{
		Run:    func() error { return e.transform(dst, p.power) },
		Output: func() []float32 { return dst },
	}, nil
}
