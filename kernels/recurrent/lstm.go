package recurrent

import (
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// LSTM declares a layer of long short-term memory. With the products of x and of the state h before the step, and both biases,
// in the gates i, f, g and o,
//
//	c ← σ(f)·c + σ(i)·tanh g,   h = σ(o)·tanh c
var LSTM = declare(&lstm)

var lstm = cell{
	name: "lstm",
	formula: "c ← σ(f)·c + σ(i)·tanh g, h = σ(o)·tanh c, with i, f, g, o = W_ih·x + b_ih + W_hh·h + b_hh at each step; " +
		"x steps×batch×in, y = h steps×batch×hidden",
	source: "Hochreiter, Schmidhuber, Long Short-Term Memory, Neural Computation 9(8), 1997; PyTorch 2, torch.nn.LSTM",
	gates:  4,
	memory: true,
	reference: func(input, own []float64, _, c float64) (nextH, nextC float64) {
		c = logistic(input[1]+own[1])*c + logistic(input[0]+own[0])*math.Tanh(input[2]+own[2])
		return logistic(input[3]+own[3]) * math.Tanh(c), c
	},
	advance: func(y, c, _, gates, _ []float32) { advanceLSTM(y, c, gates) },
}

// LSTMPlan computes one LSTM layer by the implementation that is fastest at the numbers of sequences and steps. Only one
// goroutine at a time may use an LSTMPlan.
type LSTMPlan struct{ plan }

// NewLSTM returns the plan of a layer that chooses by d, which may be nil: see [kernels.NewPlan]. It copies the parameters. It
// fails if p.In or p.Hidden is not 1 to 1 Mi or the length of a field does not fit.
func NewLSTM(d *dispatch.Dispatcher, p Params) (*LSTMPlan, error) {
	plan, err := newPlan(d, &LSTM, &lstm, p)
	if err != nil {
		return nil, err
	}
	return &LSTMPlan{*plan}, nil
}

// Forward computes the outputs of all steps in y and the final states in hn and cn, from the sequences in x and the initial
// states in h0 and c0. x is steps×batch×In and y is steps×batch×Hidden. The states are batch×Hidden. All are row-major. With no
// steps the final states are the initial ones.
//
// A nil h0 or c0 stands for zeros, and a nil hn or cn for a state that is not wanted. The batch is that of the states, and 1 if
// all of them are nil. hn may be h0 itself, and cn may be c0 itself. Otherwise outputs must not overlap each other or an input.
//
// The times that the calibration predicts decide on the implementation. In a calibration without predictions, the number of
// steps decides for one sequence, and for several the number of sequences. Forward allocates nothing at a shape at which the
// implementation has run twice. An implementation on a GPU remembers only the last few shapes.
//
// Forward panics if the lengths do not fit. It fails only if every implementation fails.
func (p *LSTMPlan) Forward(y, hn, cn, x, h0, c0 []float32) error {
	return p.forward(tensors{y, hn, cn, x, h0, c0})
}

// LSTMProgram is the [kernels.Program] of the LSTM.
var LSTMProgram = kernels.NewProgram(NewLSTM, func(p *LSTMPlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Forward(a[0], a[1], a[2], a[3], a[4], a[5])
})
