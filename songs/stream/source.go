package stream

import (
	"errors"
	"fmt"
	"math"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/conv1d"
	"crossover/kernels/oscillator"
	"crossover/kernels/recurrence"
	"crossover/songs"
)

// Source is what a stream plays.
type Source struct {
	Graph  *songs.Graph
	Block  int     // samples
	Rate   float64 // samples a second
	Output string  // of the graph: one block of samples
	// Fill writes the inputs of a block, which counts from 0, over those of another one. It must not allocate.
	Fill func(inputs [][]float32, block uint64)
}

// The ranges of a source.
const (
	MostBlock = 1 << 16 // samples
	LeastRate = 4000    // samples a second
	MostRate  = 768_000
)

// check fails if a block or a rate is out of its range.
func check(block int, rate float64) error {
	switch {
	case block < 1 || block > MostBlock:
		return fmt.Errorf("stream: blocks of %d samples (want 1 to %d)", block, MostBlock)
	case !(rate >= LeastRate && rate <= MostRate):
		return fmt.Errorf("stream: %g samples a second (want %d to %d)", rate, LeastRate, MostRate)
	}
	return nil
}

// reverberation is how long the room of the sources sounds, in seconds.
const reverberation = 1

// chain returns the effects of the sources: a low-pass of four sections, a compressor, and a room.
func chain(block int, rate float64) (p songs.EffectsParams, err error) {
	if err := check(block, rate); err != nil {
		return p, err
	}
	p.Filter, err = biquad.LowpassCascade(math.Min(8000, 0.4*rate), rate, 4)
	p.Compressor = recurrence.CompressorParams{Threshold: -20, Ratio: 4, Knee: 6, Attack: 0.005, Release: 0.1, Makeup: 6, SampleRate: rate}
	p.Response = conv1d.ImpulseResponse(int(reverberation * rate))
	p.Block = block
	return p, err
}

// Voices is the number of voices of [Synthesiser].
const Voices = 64

// Synthesiser returns a source of so many samples a block and a second: 64 voices that go on for ever, a low-pass, a compressor
// and a room that sounds for a second. It fails if the block is not 1 to 65 536 samples, or the rate not 4 to 768 kHz.
func Synthesiser(block int, rate float64) (*Source, error) {
	effects, err := chain(block, rate)
	if err != nil {
		return nil, err
	}
	p := songs.SynthesiserParams{
		Voices: oscillator.Params{SampleRate: rate}, Level: 4,
		Filter: effects.Filter, Compressor: effects.Compressor, Response: effects.Response, Block: block,
	}
	for v := range Voices {
		p.Voices.Voices = append(p.Voices.Voices, oscillator.Voice{
			Frequency: 55 * math.Exp2(float64(v)/16), Detune: 7, Attack: 0.01, Decay: 0.3, Sustain: 0.7, Gate: 1e6, Release: 0.5,
		})
	}
	g, err := songs.SynthesiserGraph(p)
	if err != nil {
		return nil, err
	}
	return &Source{g, block, rate, "reverb", func(inputs [][]float32, at uint64) {
		sample := at * uint64(block)
		words := kernels.Uint32s(inputs[0])
		words[0], words[1] = uint32(sample), uint32(sample>>32)
	}}, nil
}

// Effects returns a source that plays a recording, again and again, through the effects of [Synthesiser]. The samples of the
// recording are mono, and become those of the stream, whatever its rate was. Effects fails as Synthesiser does, and if the
// recording is empty or has a sample that is NaN or infinite. The recording must not change afterwards.
func Effects(block int, rate float64, recording []float32) (*Source, error) {
	if len(recording) == 0 {
		return nil, errors.New("stream: the recording is empty")
	}
	for i, v := range recording {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("stream: sample %d of the recording is %g (want numbers)", i, v)
		}
	}
	p, err := chain(block, rate)
	if err != nil {
		return nil, err
	}
	g, err := songs.EffectsGraph(p)
	if err != nil {
		return nil, err
	}
	return &Source{g, block, rate, "reverb", func(inputs [][]float32, at uint64) {
		from := int(at * uint64(block) % uint64(len(recording)))
		for to := inputs[0]; len(to) > 0; from = 0 {
			to = to[copy(to, recording[from:]):]
		}
	}}, nil
}

// inputs returns the memory of a call's inputs.
func (s *Source) inputs() (all [][]float32) {
	for _, in := range s.Graph.Inputs {
		words := kernels.Tensor{Type: in.Type, Dims: []int{in.Usual}}.Len()
		all = append(all, kernels.Float64Words(make([]float64, (words+1)/2))[:words])
	}
	return all
}

// elements returns the lengths of a call's inputs.
func (s *Source) elements() (all []int) {
	for _, in := range s.Graph.Inputs {
		all = append(all, in.Usual)
	}
	return all
}
