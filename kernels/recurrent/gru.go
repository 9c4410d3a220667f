package recurrent

import (
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// GRU declares a layer of gated recurrent units. The gates r, z and n have the products of x, and r', z' and n' have those of
// the state h before the step, each with its bias:
//
//	h ← (1 − σ(z+z'))·tanh(n + σ(r+r')·n') + σ(z+z')·h
var GRU = declare(&gru)

var gru = cell{
	name: "gru",
	formula: "h ← (1−z)·tanh(n + r·n') + z·h with r, z = σ(W_ih·x + b_ih + W_hh·h + b_hh), n = W_in·x + b_in and " +
		"n' = W_hn·h + b_hn at each step; x steps×batch×in, y = h steps×batch×hidden",
	source: "Cho et al., Learning Phrase Representations using RNN Encoder–Decoder, 2014, arXiv:1406.1078; PyTorch 2, torch.nn.GRU",
	gates:  3,
	reference: func(input, own []float64, h, _ float64) (nextH, nextC float64) {
		r, z := logistic(input[0]+own[0]), logistic(input[1]+own[1])
		return (1-z)*math.Tanh(input[2]+r*own[2]) + z*h, 0
	},
	advance: func(y, _, h, gates, parts []float32) { advanceGRU(y, h, gates, parts) },
}

// GRUPlan computes one GRU layer by the implementation that is fastest at the numbers of sequences and steps. Only one goroutine
// at a time may use a GRUPlan.
type GRUPlan struct{ plan }

// NewGRU returns the plan of a layer that chooses by d, which may be nil: see [kernels.NewPlan]. It copies the parameters. It
// fails if p.In or p.Hidden is not 1 to 1 Mi or the length of a field does not fit.
func NewGRU(d *dispatch.Dispatcher, p Params) (*GRUPlan, error) {
	plan, err := newPlan(d, &GRU, &gru, p)
	if err != nil {
		return nil, err
	}
	return &GRUPlan{*plan}, nil
}

// Forward computes the outputs of all steps in y and the final state in hn, from the sequences in x and the initial state in
// h0. x is steps×batch×In and y is steps×batch×Hidden. The states are batch×Hidden. All are row-major. With no steps the final
// state is the initial one. [LSTMPlan.Forward] says which slices may be nil or the same, what decides on the implementation,
// what allocates, and what panics or fails.
func (p *GRUPlan) Forward(y, hn, x, h0 []float32) error {
	return p.forward(tensors{y: y, hn: hn, x: x, h0: h0})
}

// GRUProgram is the [kernels.Program] of the GRU.
var GRUProgram = kernels.NewProgram(NewGRU, func(p *GRUPlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Forward(a[0], a[1], a[2], a[3])
})
