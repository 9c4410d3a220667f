package oscillator

import (
	"fmt"
	"math"

	"crossover/kernels"
)

const (
	caseName     = "oscillator-bank/n=512"
	blockSamples = 512
)

// Cases returns the case of the family: one block of 512 samples at 44.1 kHz from Reset on.
//
// Voice v sounds at 110·2^((v mod 48)/12) Hz, a semitone above the voice before over four octaves, with a sawtooth 7
// cents higher. Its envelope goes through all of its stages within the block: attack 1 + (v mod 4)/2 ms, decay 2 ms to
// a sustain of 0.6, gate 7 + (v mod 8)/4 ms, release 2 ms.
func Cases() []kernels.Case {
	return []kernels.Case{{
		Name:       caseName,
		Operation:  "oscillator-bank",
		Definition: "y[n] = 1/V · Σᵥ eᵥ(n/R)·½·(sin 2πφ + 2φ'), φ and φ' phases in cycles, e an ADSR envelope, R = 44 100 Hz",
		Source:     "F. R. Moore, Elements of Computer Music, 3.2 and 3.3",
		Params:     []kernels.Param{{Name: "n", Value: blockSamples}},
		Axis:       kernels.Axis{Name: "voices", Unit: "voices", Min: 1, Max: 256},
		Tolerance:  func(int) float64 { return 1e-4 },
		// Seven parameters a voice, and the block.
		Bytes:           func(voices int) float64 { return 4 * (7*float64(voices) + blockSamples) },
		Implementations: contenders.Implementations(),
		Problem:         func(voices int, _ kernels.Input) kernels.Problem { return problem{testBank(voices), blockSamples} },
	}}
}

// LongCase returns a case that is not in the catalogue: a bank of so many voices, which sound all the way through a
// stretch of n samples. It says what a device computes where it has enough to do.
func LongCase(voices int) kernels.Case {
	c := Cases()[0]
	c.Name = fmt.Sprintf("oscillator-bank/voices=%d", voices)
	c.Params = []kernels.Param{{Name: "voices", Value: voices}}
	c.Axis = kernels.Axis{Name: "n", Unit: "samples", Min: 1, Max: 1 << 24}
	c.Bytes = func(n int) float64 { return 4 * (7*float64(voices) + float64(n)) }
	c.Problem = func(n int, _ kernels.Input) kernels.Problem {
		p := testBank(voices)
		for v := range p.Voices {
			p.Voices[v].Gate = float64(n) / p.SampleRate
		}
		return problem{p, n}
	}
	return c
}

// testBank is the bank of the case.
func testBank(voices int) Params {
	p := Params{SampleRate: 44100, Voices: make([]Voice, voices)}
	for v := range p.Voices {
		p.Voices[v] = Voice{
			Frequency: 110 * math.Exp2(float64(v%48)/12),
			Detune:    7,
			Attack:    0.001 + 0.0005*float64(v%4),
			Decay:     0.002,
			Sustain:   0.6,
			Gate:      0.007 + 0.00025*float64(v%8),
			Release:   0.002,
		}
	}
	return p
}

// problem is a stretch of a bank, from Reset on.
type problem struct {
	bank    Params
	samples int
}

func (p problem) Reference() []float64 { return Reference(p.bank, p.samples) }

func (p problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, p.bank)
	if err != nil {
		return kernels.Call{}, fmt.Errorf("oscillator: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.samples)
	}
	dst := make([]float32, p.samples)
	return kernels.Call{
		Run:    func() error { return engine.render(dst, 0) },
		Output: func() []float32 { return dst },
	}, nil
}
