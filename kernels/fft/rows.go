package fft

import (
	"math"

	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

// rows says what a call transforms: rows of n values, real or complex. The spectrum of a real row is its bins 0 to n/2.
type rows struct {
	n, batch         int // batch is the usual number of rows of a call
	complex, inverse bool
}

// words returns how many words a row takes as output and as input.
func (r rows) words() (out, in int) {
	spectrum, signal := 2*(r.n/2+1), r.n
	if r.complex {
		spectrum, signal = 2*r.n, 2*r.n
	}
	if r.inverse {
		return signal, spectrum
	}
	return spectrum, signal
}

// samples returns how many real samples a row has. A complex value counts as two.
func (r rows) samples() int {
	if r.complex {
		return 2 * r.n
	}
	return r.n
}

// tensors returns the tensors of a call of count rows.
func (r rows) tensors(count int) []kernels.Tensor {
	spectrum := kernels.Tensor{Name: "X", Type: kernels.Complex64, Dims: []int{count, r.n/2 + 1}}
	signal := kernels.Tensor{Name: "x", Type: kernels.Float32, Dims: []int{count, r.n}}
	if r.complex {
		spectrum.Dims, signal.Type = signal.Dims, kernels.Complex64
	}
	from, to := signal, spectrum
	if r.inverse {
		from, to = to, from
	}
	from.Role, to.Role = kernels.In, kernels.Out
	return []kernels.Tensor{to, from}
}

// work returns what a call at a shape has to do.
func (r rows) work(s kernels.Shape) kernels.Work {
	n, count := float64(r.n), float64(s[batch])
	out, in := r.words()
	w := kernels.Work{
		Bytes:   count * float64(4*(out+in)),
		Flops:   2.5 * n * math.Log2(n) * count,
		Pieces:  count,
		Threads: count * n / 16,
		Kind:    kernels.Transform,
	}
	switch {
	case r.complex:
		w.Flops, w.Threads = 2*w.Flops, 2*w.Threads
		if r.n > launch.LongestShared {
			w.Launches = 2 // columns and rows
		}
	case r.n > launch.LongestReal:
		w.Launches = 3 // columns, rows, and the bins of the real transform
	}
	return w
}
