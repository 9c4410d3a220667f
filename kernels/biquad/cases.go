package biquad

import (
	"fmt"

	"crossover/kernels"
)

const (
	channelCase  = "biquad/channels=1"
	blockCase    = "biquad/n=512"
	blockSamples = 512
)

// Cases returns the cases of the family: one long channel, and many channels of one audio block. Both filter with a
// low-pass at 1000 Hz for a sample rate of 22 050 Hz, whatever the recording's, so that the work is always the same.
func Cases() []kernels.Case {
	long := kernels.Case{
		Name:      channelCase,
		Params:    []kernels.Param{{Name: "channels", Value: 1}},
		Axis:      kernels.Axis{Name: "n", Unit: "samples", Min: 64, Max: 1 << 20},
		Bytes:     func(n int) float64 { return 8 * float64(n) },
		OneWinner: "recurrence over n",
		Problem:   func(n int, in kernels.Input) kernels.Problem { return newProblem(1, n, in) },
	}
	wide := kernels.Case{
		Name:    blockCase,
		Params:  []kernels.Param{{Name: "n", Value: blockSamples}},
		Axis:    kernels.Axis{Name: "channels", Unit: "channels", Min: 1, Max: 1024},
		Bytes:   func(channels int) float64 { return 8 * blockSamples * float64(channels) },
		Problem: func(channels int, in kernels.Input) kernels.Problem { return newProblem(channels, blockSamples, in) },
	}
	cases := []kernels.Case{long, wide}
	for i := range cases {
		c := &cases[i]
		c.Operation = "biquad"
		c.Definition = "y = b0·x + s1, s1 ← b1·x − a1·y + s2, s2 ← b2·x − a2·y; Butterworth low-pass, 1000 Hz at 22 050 Hz"
		c.Source = "https://ccrma.stanford.edu/~jos/filters/Transposed_Direct_Forms.html"
		c.Tolerance = func(int) float64 { return 1e-5 }
		c.Implementations = contenders.Implementations()
	}
	return cases
}

// problem filters a recording, cut into channels of n samples.
type problem struct {
	coefficients Coefficients
	channels     int
	src          []float32
}

func newProblem(channels, n int, in kernels.Input) *problem {
	coefficients, err := Lowpass(1000, 22050)
	if err != nil {
		panic(err) // the arguments are constants
	}
	p := &problem{coefficients, channels, make([]float32, channels*n)}
	in.Fill(p.src)
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.coefficients, p.src, p.channels) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, newSection(p.coefficients))
	if err != nil {
		return kernels.Call{}, fmt.Errorf("biquad: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.channels, p.src)
	}
	state := make([]state, p.channels)
	dst := make([]float32, len(p.src))
	return kernels.Call{
		Run: func() error {
			clear(state) // every call filters the same thing
			return engine.process(state, dst, p.src)
		},
		Output: func() []float32 { return dst },
	}, nil
}
