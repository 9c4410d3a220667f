package stft

import (
	"fmt"
	"unsafe"

	"crossover/kernels"
)

// Cases returns the operation over the length of its signal, at the lengths of window and hop that librosa defaults
// to.
func Cases() []kernels.Case {
	p := Params{NFFT: 2048, Hop: 512}
	return []kernels.Case{{
		Name:      p.caseName(),
		Operation: "stft",
		Definition: "S[f,k] = sum over j of hann[j]·x[f·hop-n_fft/2+j]·exp(-2πi·jk/n_fft), x zero outside of its " +
			"samples, frames×bins",
		Source: "librosa 0.10.2, librosa.stft with center=True, pad_mode='constant', window='hann'",
		Params: []kernels.Param{{Name: "n_fft", Value: p.NFFT}, {Name: "hop", Value: p.Hop}},
		// 4Mi samples are three minutes of audio and 64 MiB of output, far past every cache; each implementation
		// that is bound holds an output of its own, and the reference is twice as large again.
		Axis:            kernels.Axis{Name: "n", Unit: "samples", Min: 1 << 10, Max: 1 << 22},
		Tolerance:       func(int) float64 { return tolerance },
		Bytes:           func(n int) float64 { return 4*float64(n) + 8*float64(p.frames(n))*float64(p.bins()) },
		Implementations: contenders.Implementations(),
		Problem:         func(n int, in kernels.Input) kernels.Problem { return newProblem(p, n, in) },
	}}
}

const tolerance = 1e-4

// problem is the spectrogram of n samples of a recording.
type problem struct {
	params Params
	x      []float32
}

func newProblem(params Params, n int, in kernels.Input) *problem {
	p := &problem{params: params, x: make([]float32, n)}
	in.Fill(p.x)
	return p
}

func (p *problem) Reference() []float64 {
	s := Reference(p.params, p.x)
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), 2*len(s))
}

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	e, err := contenders.New(implementation, p.params)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("stft: %w", err)
	}
	if l, ok := e.(*launch); ok {
		return l.bind(p.x)
	}
	dst := make([]complex64, p.params.frames(len(p.x))*p.params.bins())
	return kernels.Call{
		Run:    func() error { return e.transform(dst, p.x) },
		Output: func() []float32 { return floats(dst) },
	}, nil
}
