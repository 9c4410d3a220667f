package lora

import (
	"crossover/kernels"
	"crossover/kernels/linear"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// layerShape returns the shape of the layer.
func (p *Params) layerShape(s kernels.Shape) kernels.Shape {
	return kernels.Shape{p.In, p.Out, s[rows]}
}

// own multiplies by package gemm. A worker computes both products of some rows before it takes others, so what is between
// the two stays in its cache.
type own struct {
	params  Params
	layer   kernels.Runner // nil for none
	a, b    *gemm.Packed   // b has the scale
	pool    *pool.Pool     // nil for one core
	workers []worker

	dst, x []float32 // of the current call
	count  int       // rows of x
	block  int       // rows that a worker takes at a time
}

// worker is what one goroutine computes with.
type worker struct {
	multiplier *gemm.Multiplier
	between    []float32 // x·A of a block
}

func newOwn(p Params, workers int) *own {
	o := &own{params: p, a: gemm.Pack(p.A, p.In, p.Rank), b: gemm.Pack(p.scaledB(), p.Rank, p.Out), workers: make([]worker, workers)}
	for i := range o.workers {
		o.workers[i] = worker{gemm.NewSerial(), make([]float32, mostRows*p.Rank)}
	}
	return o
}

func inGo(p Params) kernels.Runner {
	o := newOwn(p, 1)
	if p.layer != nil {
		o.layer = linear.InGo(*p.layer)
	}
	return o
}

func inParallel(p Params, workers *pool.Pool) kernels.Runner {
	o := newOwn(p, workers.Workers())
	o.pool = workers
	if p.layer != nil {
		o.layer = linear.InParallel(*p.layer, workers)
	}
	return o
}

const (
	// unit is a multiple of the rows of a tile in package gemm. mostRows is the greatest number of rows in a block.
	unit     = 12
	mostRows = 8 * unit
	// blockValues is about the greatest number of values of x in a block, unless that is fewer than unit rows. Package gemm
	// packs the rows of a block before it multiplies them, and they stay in the cache nearest to the core until then. With
	// blocks of four times as many values, 256 rows of 1024 values and rank 8 took 1.5 times as long on one core of an EPYC
	// and 1.8 times on two.
	blockValues = 24 << 10
	// leastProducts is the number of multiplications, some microseconds of work, that is worth another worker.
	leastProducts = 1 << 17
)

// Run computes a call.
func (o *own) Run(s kernels.Shape, a *kernels.Args) error {
	p := &o.params
	if o.layer != nil {
		if err := o.layer.Run(p.layerShape(s), a); err != nil {
			return err
		}
	}
	o.dst, o.x, o.count, o.block = a[0], a[1], s[rows], min(max(blockValues/p.In/unit, 1)*unit, mostRows)
	if o.pool == nil {
		o.Do(0, 0, ceilDiv(o.count, o.block))
	} else {
		each := max(ceilDiv(o.count, 2*len(o.workers)), leastProducts/((p.In+p.Out)*p.Rank))
		o.block = min(ceilDiv(max(1, each), unit)*unit, o.block)
		o.pool.Run(ceilDiv(o.count, o.block), 1, o)
	}
	o.dst, o.x = nil, nil
	return nil
}

// Do computes the blocks from lo to hi−1.
func (o *own) Do(at, lo, hi int) {
	p, w := &o.params, &o.workers[at]
	for first := lo * o.block; first < min(hi*o.block, o.count); first += o.block {
		n := min(o.block, o.count-first)
		w.multiplier.MultiplyPacked(w.between, o.x[first*p.In:], o.a, n, false)
		w.multiplier.MultiplyPacked(o.dst[first*p.Out:], w.between, o.b, n, o.layer != nil)
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// library multiplies by a BLAS, first into memory of its own.
type library struct {
	params  Params
	layer   kernels.Runner // nil for none
	between []float32      // x·A
	// multiply computes c = alpha·a·b + beta·c, where a is m×k.
	multiply func(c, a, b []float32, m, n, k int, alpha, beta float32)
}

// Run computes a call.
func (l *library) Run(s kernels.Shape, a *kernels.Args) error {
	p, n, beta := &l.params, s[rows], float32(0)
	if l.layer != nil {
		if err := l.layer.Run(p.layerShape(s), a); err != nil {
			return err
		}
		beta = 1
	}
	if len(l.between) < n*p.Rank {
		l.between = make([]float32, n*p.Rank)
	}
	l.multiply(l.between, a[1], p.A, n, p.Rank, p.In, 1, 0)
	l.multiply(a[0], l.between, p.B, n, p.Out, p.Rank, p.Scale, beta)
	return nil
}

func byOpenBLAS(p Params, threads int) kernels.Runner {
	l := &library{params: p, multiply: func(c, a, b []float32, m, n, k int, alpha, beta float32) {
		openblas.Gemm(threads, false, false, m, n, k, alpha, a, k, b, n, beta, c, n)
	}}
	if p.layer != nil {
		l.layer = linear.ByOpenBLAS(*p.layer, threads)
	}
	return l
}

func byAccelerate(p Params) (kernels.Runner, error) {
	l := &library{params: p, multiply: func(c, a, b []float32, m, n, k int, alpha, beta float32) {
		accelerate.Gemm(false, false, m, n, k, alpha, a, b, beta, c)
	}}
	if p.layer != nil {
		l.layer = linear.ByAccelerate(*p.layer)
	}
	return l, nil
}
