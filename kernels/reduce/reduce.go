package reduce

import (
	"math"

	"crossover/kernels"
	"crossover/pool"
)

// Params is empty, because one plan reduces slices of every length.
type Params struct{}

// elements is the axis of the operations.
const elements = 0

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24}}

// part is what a stretch of a slice reduces to.
type part struct {
	value float64
	at    int // index of the value, if the reduction has one
}

// reduction is what the operations differ in.
type reduction struct {
	name, formula, source string

	of        func(x []float32) part          // a stretch that is not empty; indexes count from its beginning
	join      func(a, b part) part            // two stretches that follow one another
	result    func(whole part, n int) float32 // the word of the result
	framework func(x []float32) part          // of, by Apple's framework
	kernel    kernels.Append[Params]
	revision  int // of the kernel
	reference func(x []float32) float64

	index     bool              // whether the result is an index
	fill      func(x []float32) // nil stands for noise
	judge     kernels.Judge
	tolerance float64
}

// declare returns the operation of a reduction.
func declare(r reduction) kernels.Op[Params] {
	element := kernels.Float32
	if r.index {
		element = kernels.Uint32
	}
	return kernels.Declare(kernels.Op[Params]{
		Name: r.name, Formula: r.formula, Source: r.source,
		Axes:   axes,
		Lines:  []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) Params { return Params{} },
		IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: element, Dims: []int{1}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[elements]}},
			}
		},
		Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
			kernels.Noise(a[1], 1)
			if r.fill != nil {
				r.fill(a[1])
			}
		},
		Reference: func(_ Params, _ kernels.Shape, a *kernels.Args) []float64 { return []float64{r.reference(a[1])} },
		Judge:     r.judge,
		Tolerance: func(kernels.Shape) float64 { return r.tolerance },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			n := float64(s[elements])
			return kernels.Work{Bytes: 4 * n, Flops: n, Threads: n / 32, Launches: 2}
		},
		By: []kernels.Makers[Params]{
			kernels.InGo(
				func(Params) kernels.Runner { return r.inPieces(r.of, math.MaxInt) },
				func(_ Params, workers *pool.Pool) kernels.Runner { return &parallel{reduction: &r, pool: workers} }),
			kernels.Framework("", func(Params) (kernels.Runner, error) { return r.inPieces(r.framework, pieceLength), nil }),
			kernels.Revised(r.revision, kernels.KernelText("", r.kernel)),
		},
	})
}

// pieceLength is the number of values that Apple's framework reduces at a time. Sums of pieces are added in float64. How the
// error of vDSP grows with the length is not documented. A single float32 accumulator would lose the tail of a long slice.
const pieceLength = 1 << 16

// inPieces returns a runner on one core. It reduces pieces of at most the given length.
func (r *reduction) inPieces(of func(x []float32) part, length int) kernels.Runner {
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		x := a[1]
		whole := of(x[:min(length, len(x))])
		for lo := length; lo < len(x); lo += length {
			next := of(x[lo:min(lo+length, len(x))])
			next.at += lo
			whole = r.join(whole, next)
		}
		a[0][0] = r.result(whole, len(x))
		return nil
	})
}

// leastChunk is the least number of values in a chunk: about a microsecond with AVX2, see pool.Pool.Grain. A slice
// of at most one chunk is reduced by the caller, without waking a helper.
const leastChunk = 6 * block

// parallel reduces chunks on the workers of the pool, and joins the results in the order of the slice. So the result does not
// depend on which worker computed which chunk.
type parallel struct {
	*reduction
	pool  *pool.Pool
	x     []float32 // of the current call
	grain int
	parts []part // of each chunk
}

// Run computes a call.
func (e *parallel) Run(_ kernels.Shape, a *kernels.Args) error {
	x := a[1]
	e.grain = e.pool.Grain(len(x), leastChunk, block)
	if len(x) <= e.grain {
		a[0][0] = e.result(e.of(x), len(x))
		return nil
	}
	e.x = x
	chunks := (len(x)-1)/e.grain + 1
	if chunks > len(e.parts) {
		e.parts = make([]part, chunks)
	}
	e.pool.Run(len(x), e.grain, e)
	e.x = nil
	whole := e.parts[0]
	for _, p := range e.parts[1:chunks] {
		whole = e.join(whole, p)
	}
	a[0][0] = e.result(whole, len(x))
	return nil
}

// Do reduces the values from lo to hi−1, which are one chunk.
func (e *parallel) Do(_, lo, hi int) {
	p := e.of(e.x[lo:hi])
	p.at += lo
	e.parts[lo/e.grain] = p
}
