package songs

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/linear"
	"crossover/kernels/lora"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/sampling"
)

// DecoderParams describe the last layer of a decoder of tokens. All weights are row-major.
type DecoderParams struct {
	Width  int                 // of a token's vector, a multiple of Heads
	Heads  int                 // of the attention
	Norm   []float32           // Width weights of the RMS norm
	Query  []float32           // Width×Width: a row for each output
	Key    []float32           // Width×Width
	Value  []float32           // Width×Width
	Logits lora.Params         // from Width to the vocabulary: a layer with an adapter
	TopK   sampling.TopKParams // of the vocabulary
}

// DecoderGraph declares a step of a decoder: RMS norm, attention to the tokens of all steps so far, a linear layer with a LoRA
// adapter, and the choice of a token among the best K. Its inputs are x, the token's vector, and u, a random number from 0 to
// 1. Its outputs are best, the K greatest logits, best.indices, their tokens, and best.token, the chosen one. Keys and values
// of all steps are kept until Reset: 8·Width bytes a step. While attention runs on a GPU, they are kept there too, with room for at
// most twice as many steps and at least 64, and a step carries its own alone. DecoderGraph fails if a parameter is out of its range.
func DecoderGraph(p DecoderParams) (*Graph, error) {
	if p.Heads < 1 || p.Width < 1 || p.Width%p.Heads != 0 {
		return nil, fmt.Errorf("songs: a width of %d and %d heads (want a multiple)", p.Width, p.Heads)
	}
	if len(p.Norm) != p.Width {
		return nil, fmt.Errorf("songs: %d weights of the norm (want %d)", len(p.Norm), p.Width)
	}
	normalise, err := rmsnorm.New(nil, rmsnorm.Params{Weights: p.Norm})
	if err != nil {
		return nil, err
	}
	stages := []Stage{sized("norm", normalise.SizedPlan, p.Width, "x")}
	for _, of := range []struct {
		name    string
		weights []float32
	}{{"query", p.Query}, {"key", p.Key}, {"value", p.Value}} {
		layer, err := linear.New(nil, of.weights, make([]float32, p.Width), p.Width, p.Width)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.name, err)
		}
		stages = append(stages, sized(of.name, layer.SizedPlan, p.Width, "norm"))
	}
	logits, err := lora.New(nil, p.Logits)
	if err != nil {
		return nil, err
	}
	best, err := sampling.NewTopK(nil, p.TopK)
	if err != nil {
		return nil, err
	}
	head := p.Width / p.Heads
	attend := Stage{
		Name: "attention", Reads: []string{"query", "keys", "values"},
		Step: kernels.StepOf(&attention.Op, attention.Params{Heads: p.Heads, Width: head}),
		Shape: func(of Lengths) kernels.Shape {
			return kernels.Shape{p.Heads, head, of("query") / p.Width, of("keys") / p.Width}
		},
	}
	token := sized("best", best.SizedPlan, p.TopK.Columns, "logits")
	token.Reads = append(token.Reads, "u")
	return &Graph{
		Name:    "decoder",
		Inputs:  []Input{{"x", kernels.Float32, p.Width}, {"u", kernels.Float32, 1}},
		Stages:  append(stages, attend, sized("logits", logits.SizedPlan, p.Width, "attention"), token),
		Derived: []Derived{{"keys", "key", All, head}, {"values", "value", All, head}},
		Outputs: []string{"best", "best.indices", "best.token"},
	}, nil
}

// Decoder chooses tokens step by step. Only one goroutine at a time may use a Decoder.
type Decoder struct {
	*Pipeline
	u [1]float32
}

// NewDecoder returns a decoder that chooses implementations by d, which may be nil. It fails if a parameter is out of its range.
func NewDecoder(d *dispatch.Dispatcher, p DecoderParams) (*Decoder, error) {
	g, err := DecoderGraph(p)
	if err != nil {
		return nil, err
	}
	pipeline, err := New(d, g)
	if err != nil {
		return nil, err
	}
	return &Decoder{Pipeline: pipeline}, nil
}

// Step returns the token that follows one with vector x. u is a random number from 0 to 1: see package sampling. Step fails if
// x does not have Width values, and if every implementation of a stage fails. Then the step did not happen. Step allocates
// nothing in steps that are at most as many as before a Reset, up to 4096 of them.
func (d *Decoder) Step(x []float32, u float32) (token uint32, err error) {
	kernels.Made(d.Pipeline)
	d.u[0] = u
	if err := d.Run(x, d.u[:]); err != nil {
		return 0, err
	}
	return d.Uint32s("best.token")[0], nil
}
