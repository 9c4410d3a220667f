// Package recurrent computes the recurrent layers of neural networks, LSTM and GRU, in float32: one layer, in one direction,
// with the order of gates, the two biases, and the initial and final states of PyTorch.
//
// There are two operations. A call takes sequences x of steps×batch×in values, row-major, and the state h0 of batch×hidden
// values. It computes the output y of every step, steps×batch×hidden, and the last state hn. An LSTM has a second state, c0
// and cn. The sequences of a batch do not depend on each other.
//
// The product of x and the input's weights does not depend on earlier steps. So all implementations compute it for many steps
// at once. The product of the state and its weights has to wait for the step before. With one sequence it is a product of a
// matrix and a vector, which takes one core a microsecond or some. To compute it, a GPU starts a kernel, and several cores wait
// for each other, at every step. Each of them takes about the same time for every step, so one implementation is expected to
// win at every number of steps: one core if the state is small, several cores or a GPU if it is large. With many sequences a
// GPU has more work at each step.
//
// A NaN in a sequence reaches the later outputs of this sequence, and no other sequence. An infinity saturates the gates
// that it reaches, or makes them NaN where infinities of both signs meet. The package does not train, and does not take packed
// sequences, dropout, projections, several layers or two directions.
//
// The usual steps are [NewLSTM] or [NewGRU] with [Params], once, and Forward for each batch of sequences. To continue
// sequences, pass the final state of a call as the initial state of the next.
//
// Sources: S. Hochreiter, J. Schmidhuber, Long Short-Term Memory, Neural Computation 9(8), 1997; K. Cho et al., Learning
// Phrase Representations using RNN Encoder–Decoder, 2014, arXiv:1406.1078, with the reset gate behind the product as PyTorch
// has it: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html, …/torch.nn.GRU.html.
package recurrent
