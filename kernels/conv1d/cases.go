package conv1d

import (
	"fmt"
	"math"
	"math/rand/v2"

	"crossover/kernels"
)

const (
	definition = "y[i] = sum over k of h[k]·x[i-k], 0 <= i < n+taps-1; the filter's transform is made before the call"
	source     = "A. Oppenheim and R. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, section 8.7"
	tolerance  = 1e-6
)

// The fixed parameters of the two cases.
const (
	fixedLength = 32768 // samples, of the case that sweeps the taps
	fixedTaps   = 512   // of the case that sweeps the signal's length
)

// Cases returns the operation over the taps of its filter and over the length of its signal.
func Cases() []kernels.Case {
	return []kernels.Case{
		{
			Name:            caseName("n", fixedLength),
			Operation:       "conv1d",
			Definition:      definition,
			Source:          source,
			Params:          []kernels.Param{{Name: "n", Value: fixedLength}},
			Axis:            kernels.Axis{Name: "taps", Unit: "taps", Min: 8, Max: 32768},
			Tolerance:       func(int) float64 { return tolerance },
			Bytes:           func(taps int) float64 { return leastBytes(fixedLength, taps) },
			Implementations: contenders.Implementations(),
			Problem: func(taps int, in kernels.Input) kernels.Problem {
				return newProblem(fixedLength, taps, in)
			},
		},
		{
			Name:            caseName("taps", fixedTaps),
			Operation:       "conv1d",
			Definition:      definition,
			Source:          source,
			Params:          []kernels.Param{{Name: "taps", Value: fixedTaps}},
			Axis:            kernels.Axis{Name: "n", Unit: "samples", Min: 512, Max: 1 << 20},
			Tolerance:       func(int) float64 { return tolerance },
			Bytes:           func(n int) float64 { return leastBytes(n, fixedTaps) },
			Implementations: contenders.Implementations(),
			Problem: func(n int, in kernels.Input) kernels.Problem {
				return newProblem(n, fixedTaps, in)
			},
		},
	}
}

func caseName(param string, value int) string { return fmt.Sprintf("conv1d/%s=%d", param, value) }

// leastBytes is the signal and the filter read once and the output written once, in bytes.
func leastBytes(n, taps int) float64 { return 4 * (float64(n) + float64(taps) + float64(n+taps-1)) }

// ImpulseResponse returns the filter that the cases convolve with: a direct sound, and behind it seeded uniform noise
// that decays by 60 dB over the filter's length and holds a sixteenth of the direct sound's energy, as close to a source
// in a room. Noise alone would let some lengths cancel the recording's few strong partials, and the error relative to
// what is left would say more about the filter than about the implementation.
func ImpulseResponse(taps int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(taps), 0x69726573))
	h := make([]float64, taps)
	var energy float64
	for k := 1; k < taps; k++ {
		h[k] = (2*rng.Float64() - 1) * math.Pow(10, -3*float64(k)/float64(taps))
		energy += h[k] * h[k]
	}
	out := make([]float32, taps)
	for k := 1; k < taps; k++ {
		out[k] = float32(0.25 * h[k] / math.Sqrt(energy))
	}
	out[0] = 1
	return out
}

// problem is the convolution of n samples of a recording with an impulse response.
type problem struct {
	x, h []float32
}

func newProblem(n, taps int, in kernels.Input) *problem {
	p := &problem{x: make([]float32, n), h: ImpulseResponse(taps)}
	in.Fill(p.x)
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.x, p.h) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	e, err := contenders.New(implementation, p.h)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("conv1d: %w", err)
	}
	if launched, ok := e.(*launched); ok {
		return launched.bind(p.x)
	}
	if err := e.prepare(len(p.x)); err != nil {
		return kernels.Call{}, fmt.Errorf("conv1d: %w", err)
	}
	y := make([]float32, len(p.x)+len(p.h)-1)
	return kernels.Call{
		Run:    func() error { return e.convolve(y, p.x) },
		Output: func() []float32 { return y },
	}, nil
}
