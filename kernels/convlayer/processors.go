package convlayer

import (
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// own multiplies by package gemm, which gets the unrolled matrix in panels.
type own struct {
	Params
	weights    *gemm.PackedRows
	multiplier *gemm.Multiplier
	workers    *pool.Pool // nil for none
	input      arranged
}

func newOwn(p Params) kernels.Runner {
	return &own{Params: p, weights: gemm.PackRows(p.Weights, p.Out, p.terms()), multiplier: gemm.NewSerial()}
}

func newOwnParallel(p Params, workers *pool.Pool) kernels.Runner {
	return &own{Params: p, weights: gemm.PackRows(p.Weights, p.Out, p.terms()), multiplier: gemm.NewParallel(workers), workers: workers}
}

// Run computes a call.
func (o *own) Run(s kernels.Shape, a *kernels.Args) error {
	g := o.at(s)
	o.input.arrange(g, a[1], o.workers)
	o.multiplier.MultiplyComputed(a[0], o.weights, &o.input, g.positions(), o.Bias)
	o.input.forget()
	return nil
}

// blockValues is the number of values of the unrolled matrix, 1 MiB, that a library multiplies at a time.
const blockValues = 256 << 10

// library multiplies by a library, which gets the unrolled matrix in blocks. One thread unrolls.
type library struct {
	Params
	input    arranged
	unrolled []float32
	// multiply adds to C, which is m×n with rows ldc values apart, the product of the m×k matrix A and the k×n matrix B.
	multiply func(m, n, k int, a, b, c []float32, ldc int)
}

func newBLAS(p Params, threads int) kernels.Runner {
	return &library{Params: p, multiply: func(m, n, k int, a, b, c []float32, ldc int) {
		openblas.Gemm(threads, false, false, m, n, k, 1, a, k, b, n, 1, c, ldc)
	}}
}

// newFramework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func newFramework(p Params) (kernels.Runner, error) {
	return &library{Params: p, multiply: func(m, n, k int, a, b, c []float32, ldc int) {
		accelerate.GemmInto(false, false, m, n, k, 1, a, b, 1, c, ldc)
	}}, nil
}

// Run computes a call.
func (b *library) Run(s kernels.Shape, a *kernels.Args) error {
	g := b.at(s)
	n, y := g.positions(), a[0]
	for o, bias := range b.Bias {
		row := y[o*n:][:n]
		for i := range row {
			row[i] = bias
		}
	}
	b.input.arrange(g, a[1], nil)
	if g.kernelWidth*g.kernelHeight == 1 && g.stride == 1 && g.paddingWidth == 0 { // the unrolled matrix is x
		b.multiply(g.out, n, g.in, b.Weights, a[1], y, n)
	} else {
		b.blocks(g, y)
	}
	b.input.forget()
	return nil
}

// blocks unrolls and multiplies one block of columns after the other.
func (b *library) blocks(g geometry, y []float32) {
	n, k := g.positions(), g.terms()
	most := min(n, max(1, blockValues/k))
	if len(b.unrolled) < most*k {
		b.unrolled = make([]float32, most*k)
	}
	for first := 0; first < n; first += most {
		count := min(most, n-first)
		b.input.unroll(b.unrolled, first, count)
		b.multiply(g.out, count, k, b.Weights, b.unrolled[:count*k], y[first:], n)
	}
}
