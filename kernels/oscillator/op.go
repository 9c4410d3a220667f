package oscillator

import (
	"math"

	"crossover/calibration/surface"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/pool"
)

// The axes of the operation.
const (
	voices = iota
	samples
)

var axes = []kernels.Axis{
	{Name: "voices", Unit: "voices", Min: 1, Max: 256},
	{Name: "n", Unit: "samples", Min: 1, Max: 1 << 24},
}

// blockSamples is the length of the block that is measured.
const blockSamples = 512

// draw returns a number of voices, and of samples up to a long block.
func draw(at []float64) kernels.Shape {
	const longest = 1 << 16
	s := kernels.Spread(axes, at)
	s[samples] = int(math.Round(16 * math.Pow(longest/16, at[samples])))
	return s
}

// Op declares the operation. Measured blocks begin at Reset.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "oscillator-bank",
	Formula:  "y[n] = 1/V · Σᵥ eᵥ(n/R)·½·(sin 2πφ + 2φ'), φ and φ' phases in cycles, e an ADSR envelope, R = 44 100 Hz",
	Source:   "F. R. Moore, Elements of Computer Music, 3.2 and 3.3",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Draw:     draw,
	Lines:    []kernels.Line{kernels.Along(axes, "voices", kernels.Param{Name: "n", Value: blockSamples})},
	Params:   usualBank,
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[samples]}},
			{Name: "position", Role: kernels.In, Type: kernels.Uint32, Dims: []int{2}}, // of y[0] since Reset, low word first
		}
	},
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) { clear(a[1]) },
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		return referenceFrom(p, positionOf(a), s[samples])
	},
	Tolerance: func(kernels.Shape) float64 { return 1e-4 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 50 // per voice and sample: a sine, a sawtooth, an envelope
		v, n := float64(s[voices]), float64(s[samples])
		// Seven parameters for each voice, and the block.
		return kernels.Work{Bytes: 4 * (7*v + n), Flops: flops * v * n, Pieces: v, Threads: v * n}
	},
	// The number of voices decides, at every length of the block.
	Judged: func(_ Params, s kernels.Shape) (line, size int) { return 0, s[voices] },
	By: []kernels.Makers[Params]{
		kernels.OverRows(newLoop),
		// Several samples of a thread have sines of sums of angles.
		kernels.Revised(1, kernels.KernelTextFor("", func(_ *gpu.Device, p Params) (kernels.Append[Params], error) { return bankOf(newVoices(p)), nil })),
	},
})

// usualBank returns the bank with which a shape is measured. Voice v sounds at 110·2^((v mod 48)/12) Hz, with a sawtooth 7
// cents higher. So voices are a semitone apart over four octaves. The envelope goes through all of its stages within a block
// of 512 samples at 44.1 kHz: attack 1 + (v mod 4)/2 ms, decay 2 ms to a sustain of 0.6, gate 7 + (v mod 8)/4 ms, release 2
// ms. In a longer block, voices are sustained to the end, so that there is something to render all the time.
func usualBank(s kernels.Shape) Params {
	p := Params{SampleRate: 44100, Voices: make([]Voice, s[voices])}
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
		if s[samples] > blockSamples {
			p.Voices[v].Gate = float64(s[samples]) / p.SampleRate
		}
	}
	return p
}

const (
	// leastSamples is the least number of samples in a stretch. Finding the stage of a voice costs as much as some six
	// samples.
	leastSamples = 32
	// leastTones is the least number of tones (voices times samples) in a stretch: a few microseconds of work.
	leastTones = 1024
	// stretchesPerWorker is more than one, so that other workers can take over the share of a late worker.
	stretchesPerWorker = 4
)

// newLoop returns a loop over the samples of a block. A worker renders all voices of a stretch, one after the other. So the
// order of additions, and the output, do not depend on the workers.
func newLoop(p Params, _ int) (kernels.Loop, error) {
	bank := newVoices(p)
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return s[samples] },
		Grain: func(_ *kernels.Shape, n int, p *pool.Pool) int {
			return max(leastSamples, leastTones/len(bank), n/(stretchesPerWorker*p.Workers()))
		},
		Do: func(_ int, _ *kernels.Shape, a *kernels.Args, lo, hi int) {
			clear(a[0][lo:hi])
			position := positionOf(a)
			for i := range bank {
				bank[i].add(a[0], position, lo, hi)
			}
		},
	}, nil
}

// positionOf returns the position of a call, in samples since Reset.
func positionOf(a *kernels.Args) int64 {
	words := kernels.Uint32s(a[1])
	return int64(words[1])<<32 | int64(words[0])
}

func positionWords(position int64) [2]uint32 {
	return [2]uint32{uint32(position), uint32(position >> 32)}
}
