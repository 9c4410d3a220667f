package songs

import (
	"fmt"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/conv1d"
	"crossover/kernels/recurrence"
)

// EffectsParams describe a chain of effects on one channel, in blocks of samples.
type EffectsParams struct {
	Filter     []biquad.Coefficients
	Compressor recurrence.CompressorParams
	Response   []float32 // impulse response of the room
	Block      int       // samples of a block
}

// EffectsGraph declares a block of a chain of effects: a cascade of biquads, a compressor, and a reverberation by partitioned
// convolution. Its input is x, one block of samples, and its output is reverb, one block. All three go on from call to call.
// EffectsGraph fails if a parameter is out of its range.
func EffectsGraph(p EffectsParams) (*Graph, error) {
	if p.Block < 1 {
		return nil, fmt.Errorf("songs: Block is %d (want at least 1)", p.Block)
	}
	stages, derived, err := effects(p, "x")
	if err != nil {
		return nil, err
	}
	return &Graph{
		Name:    "effects",
		Inputs:  []Input{{"x", kernels.Float32, p.Block}},
		Stages:  stages,
		Derived: derived,
		Outputs: []string{"reverb"},
	}, nil
}

// effects returns the stages of the chain, which read a tensor, and what they leave to the next call.
func effects(p EffectsParams, reads string) ([]Stage, []Derived, error) {
	cascade, err := biquad.NewCascade(nil, biquad.CascadeParams{Sections: p.Filter}, 1)
	if err != nil {
		return nil, nil, err
	}
	compressor, err := recurrence.NewCompressor(nil, p.Compressor, 1)
	if err != nil {
		return nil, nil, err
	}
	room, err := conv1d.NewStream(nil, p.Response, p.Block)
	if err != nil {
		return nil, nil, err
	}
	return []Stage{
			withState(sized("filter", cascade.SizedPlan, 1, reads), "filter.before"),
			withState(sized("compressor", compressor.SizedPlan, 1, "filter"), "compressor.before"),
			withState(sized("reverb", room.SizedPlan, 1, "compressor"), "reverb.before"),
		}, []Derived{
			{Name: "filter.before", Of: "filter.after", How: Last},
			{Name: "compressor.before", Of: "compressor.after", How: Last},
			{Name: "reverb.before", Of: "reverb.after", How: Last},
		}, nil
}

// withState returns a stage that reads a state too.
func withState(s Stage, state string) Stage {
	s.Reads = append(s.Reads, state)
	return s
}
