package songs

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/elementwise"
	"crossover/kernels/oscillator"
	"crossover/kernels/recurrence"
)

// SynthesiserParams describe a synthesiser that renders blocks of samples.
type SynthesiserParams struct {
	Voices     oscillator.Params // and the sample rate; a bank mixes its voices
	Level      float32           // by which the mix is multiplied
	Filter     []biquad.Coefficients
	Compressor recurrence.CompressorParams
	Response   []float32 // impulse response of the room
	Block      int       // samples of a block
}

// SynthesiserGraph declares a block of a synthesiser: voices, their mix, a cascade of biquads, a compressor, and a
// reverberation by partitioned convolution. Its input is position, the number of samples before the block as two integers, low
// word first. Its output is reverb, one block. Filters, compressor and reverberation go on from call to call.
// SynthesiserGraph fails if a parameter is out of its range.
func SynthesiserGraph(p SynthesiserParams) (*Graph, error) {
	if p.Block < 1 {
		return nil, fmt.Errorf("songs: Block is %d (want at least 1)", p.Block)
	}
	bank, err := oscillator.New(nil, p.Voices)
	if err != nil {
		return nil, err
	}
	chain, derived, err := effects(EffectsParams{p.Filter, p.Compressor, p.Response, p.Block}, "mix")
	if err != nil {
		return nil, err
	}
	step, shape := kernels.StepOfPlan(bank.SizedPlan)
	return &Graph{
		Name:   "synthesiser",
		Inputs: []Input{{"position", kernels.Uint32, 2}},
		Stages: append([]Stage{
			{Name: "voices", Step: step, Reads: []string{"position"}, Shape: Always(shape(p.Block))},
			sized("mix", elementwise.NewGain(nil, p.Level).SizedPlan, 1, "voices"),
		}, chain...),
		Derived: derived,
		Outputs: []string{"reverb"},
	}, nil
}

// Synthesiser renders audio in blocks. Only one goroutine at a time may use a Synthesiser.
type Synthesiser struct {
	*Pipeline
	block    int
	position [2]uint32 // in samples, low word first
}

// NewSynthesiser returns a synthesiser that chooses by d, which may be nil. It fails if a parameter is out of its range.
func NewSynthesiser(d *dispatch.Dispatcher, p SynthesiserParams) (*Synthesiser, error) {
	g, err := SynthesiserGraph(p)
	if err != nil {
		return nil, err
	}
	pipeline, err := New(d, g)
	if err != nil {
		return nil, err
	}
	return &Synthesiser{Pipeline: pipeline, block: p.Block}, nil
}

// Render fills dst with the next samples, block by block. It panics if the length of dst is not a multiple of the block. If it
// fails, because every implementation of a stage does, the blocks before have been rendered.
func (s *Synthesiser) Render(dst []float32) error {
	kernels.Made(s.Pipeline)
	if len(dst)%s.block != 0 {
		panic("songs: the length is not a multiple of the block")
	}
	for ; len(dst) > 0; dst = dst[s.block:] {
		at := uint64(s.Calls()) * uint64(s.block)
		s.position = [2]uint32{uint32(at), uint32(at >> 32)}
		if err := s.Run(kernels.Uint32Words(s.position[:])); err != nil {
			return err
		}
		copy(dst, s.Floats("reverb"))
	}
	return nil
}
