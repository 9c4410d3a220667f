package mfcc

import (
	"math"
	"slices"

	"crossover/kernels"
	"crossover/kernels/elementwise"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// valuesPerChunk is the greatest number of powers that a worker takes at a time. Their logarithms stay in the first-level cache.
// About valuesPerMicrosecond of them take a microsecond. Each worker gets at least chunksPerWorker chunks, so that the others help
// with the last one.
const (
	valuesPerChunk       = 8 << 10
	valuesPerMicrosecond = 512
	chunksPerWorker      = 2
)

// arithmetic is what implementations on the processor differ in. product multiplies logarithms, frames×bands, by the matrix
// of the cosines.
type arithmetic struct {
	logarithms func(dst, src []float32)
	product    func(dst, logarithms []float32, frames int)
}

// inGo returns the arithmetic by our own loops, one for each of some goroutines.
func inGo(p Params, count int) (all []arithmetic) {
	packed := gemm.Pack(p.matrix(), p.Bands, p.Coefficients)
	for range count {
		multiplier := gemm.NewSerial()
		all = append(all, arithmetic{elementwise.Logs, func(dst, logarithms []float32, frames int) {
			multiplier.MultiplyPacked(dst, logarithms, packed, frames, false)
		}})
	}
	return all
}

// byOpenBLAS returns the arithmetic with products by OpenBLAS, each on one thread.
func byOpenBLAS(p Params, count int) []arithmetic {
	matrix := p.matrix()
	return slices.Repeat([]arithmetic{{elementwise.Logs, func(dst, logarithms []float32, frames int) {
		openblas.Gemm(1, false, false, frames, p.Coefficients, p.Bands, 1, logarithms, p.Bands, matrix, p.Coefficients, 0, dst,
			p.Coefficients)
	}}}, count)
}

// newFramework computes by Apple's vForce and the BLAS of Accelerate, which chooses its number of threads itself.
func newFramework(p Params) (kernels.Runner, error) {
	matrix := p.matrix()
	return newProcessor(p, pool.New(1), []arithmetic{{accelerate.Log, func(dst, logarithms []float32, frames int) {
		accelerate.Gemm(false, false, frames, p.Coefficients, p.Bands, 1, logarithms, matrix, 0, dst)
	}}}), nil
}

// onCores returns two implementations by the same arithmetic: on the calling goroutine, and on the workers of the pool.
func onCores(serial, parallel string, each func(p Params, count int) []arithmetic) kernels.Makers[Params] {
	return func(b *kernels.Backends, op *kernels.Op[Params]) []kernels.Maker[Params] {
		return slices.Concat(
			kernels.Named(serial, func(_ *kernels.Backends, p Params) (kernels.Runner, error) {
				return newProcessor(p, pool.New(1), each(p, 1)), nil
			})(b, op),
			kernels.OnPool(kernels.Named(parallel, func(b *kernels.Backends, p Params) (kernels.Runner, error) {
				return newProcessor(p, b.Pool, each(p, b.Pool.Workers())), nil
			}))(b, op))
	}
}

// onOpenBLAS returns the implementations by OpenBLAS. Frames are divided among workers, because the logarithms take about as
// long as the products.
func onOpenBLAS() kernels.Makers[Params] {
	return kernels.Revised(openblas.Revision,
		kernels.Probed(openblas.Probe, openblas.Version, onCores("openblas", "openblas-parallel", byOpenBLAS)))
}

// matrix returns the cosines, bands×coefficients, times the decibels of a natural logarithm of 1.
func (p Params) matrix() []float32 {
	matrix := make([]float32, p.Bands*p.Coefficients)
	for i := range matrix {
		matrix[i] = float32(10 / math.Ln10 * cosine(i%p.Coefficients, i/p.Coefficients, p.Bands))
	}
	return matrix
}

// processor computes on the workers of a pool: first the greatest power, then chunks of frames.
type processor struct {
	Params
	pool *pool.Pool
	most int // frames of a chunk
	each []worker

	dst, mel []float32 // of the current call
	peaking  bool      // whether the greatest power is being searched
	floor    float32   // power that smaller ones are raised to
}

type worker struct {
	arithmetic
	logarithms []float32 // of a chunk
	peak       float32   // of the worker's chunks
}

func newProcessor(p Params, workers *pool.Pool, each []arithmetic) kernels.Runner {
	r := &processor{Params: p, pool: workers, most: max(1, valuesPerChunk/p.Bands)}
	for _, a := range each {
		r.each = append(r.each, worker{arithmetic: a, logarithms: make([]float32, r.most*p.Bands)})
	}
	return r
}

// Run computes a call.
func (r *processor) Run(s kernels.Shape, a *kernels.Args) error {
	r.dst, r.mel = a[0], a[1]
	chunk := r.most
	if workers := len(r.each); workers > 1 {
		chunk = min(chunk, max((s[frames]-1)/(chunksPerWorker*workers)+1, r.pool.Grain(s[frames], valuesPerMicrosecond/float64(r.Bands), 1)))
	}
	for i := range r.each {
		r.each[i].peak = least
	}
	r.peaking = true
	r.pool.Run(s[frames], chunk, r)
	r.peaking = false
	peak := float32(least)
	for i := range r.each {
		peak = max(peak, r.each[i].peak)
	}
	r.floor = max(least, peak*topPower)
	r.pool.Run(s[frames], chunk, r)
	r.dst, r.mel = nil, nil
	return nil
}

// Do computes a chunk of frames, from lo to hi−1.
func (r *processor) Do(index, lo, hi int) {
	w, powers := &r.each[index], r.mel[lo*r.Bands:hi*r.Bands]
	if r.peaking {
		w.peak = greatest(powers, w.peak)
		return
	}
	l := w.logarithms[:len(powers)]
	for i, v := range powers {
		if v < r.floor { // not for a NaN
			v = r.floor
		}
		l[i] = v
	}
	w.arithmetic.logarithms(l, l)
	w.product(r.dst[lo*r.Coefficients:hi*r.Coefficients], l, hi-lo)
}

// greatest returns the greatest of x and a number. NaNs do not count.
func greatest(x []float32, m float32) float32 {
	m0, m1, m2, m3 := m, m, m, m
	for ; len(x) >= 4; x = x[4:] {
		if x[0] > m0 {
			m0 = x[0]
		}
		if x[1] > m1 {
			m1 = x[1]
		}
		if x[2] > m2 {
			m2 = x[2]
		}
		if x[3] > m3 {
			m3 = x[3]
		}
	}
	for _, v := range x {
		if v > m0 {
			m0 = v
		}
	}
	return max(m0, m1, m2, m3)
}
