package attention

import (
	"math"

	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/kernels/softmax"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// arithmetic is what one goroutine computes with.
type arithmetic struct {
	// multiply computes c = alpha·a·b + beta·c, where a is m×k. b is k×n, or n×k if transposed is set. All are without gaps. part
	// says that other blocks have the rest of a head's queries.
	multiply func(c, a, b []float32, m, n, k int, transposed, part bool, alpha, beta float32)
	// The passes of a softmax: see package softmax.
	largest      func(x []float32) float32
	exponentials func(dst, src []float32, shift float32) float32
	scale        func(x []float32, factor float32)
}

func inGo(p Params, workers int) (kernels.Loop, error) {
	return newLoop(p, workers, func() arithmetic {
		m := gemm.NewSerial()
		return arithmetic{func(c, a, b []float32, rows, n, k int, transposed, part bool, alpha, beta float32) {
			m.Compute(gemm.Product{
				C: c, A: a, B: b, M: rows, K: k, N: n, TransposeB: transposed, Part: part, Alpha: alpha, Beta: beta, Before: c,
			})
		}, softmax.Largest, softmax.Exponentials, softmax.Scale}
	}), nil
}

// byOpenBLAS returns the implementations by OpenBLAS. Each worker calls OpenBLAS on one thread, because a softmax is between
// the products.
func byOpenBLAS() kernels.Makers[Params] {
	return kernels.Revised(openblas.Revision, kernels.Probed(openblas.Probe, openblas.Version, kernels.LoopNamed("openblas", "openblas-parallel",
		func(p Params, workers int) (kernels.Loop, error) {
			return newLoop(p, workers, func() arithmetic {
				return arithmetic{func(c, a, b []float32, m, n, k int, transposed, _ bool, alpha, beta float32) {
					rowB := n
					if transposed {
						rowB = k
					}
					openblas.Gemm(1, false, transposed, m, n, k, alpha, a, k, b, rowB, beta, c, n)
				}, softmax.Largest, softmax.Exponentials, softmax.Scale}
			}), nil
		})))
}

func byAccelerate(p Params, workers int) (kernels.Loop, error) {
	return newLoop(p, workers, func() arithmetic {
		return arithmetic{
			func(c, a, b []float32, m, n, k int, transposed, _ bool, alpha, beta float32) {
				accelerate.Gemm(false, transposed, m, n, k, alpha, a, b, beta, c)
			},
			accelerate.Max,
			func(dst, src []float32, shift float32) float32 {
				accelerate.Add(dst, src, -shift)
				accelerate.Exp(dst, dst)
				return accelerate.Sum(dst)
			},
			func(x []float32, factor float32) { accelerate.Multiply(x, x, factor) },
		}
	}), nil
}

const (
	// unit is a multiple of the rows of a tile in package gemm. mostRows is the greatest number of queries in a block. More of
	// them make packing of keys and values cheaper, and their scores must fit a second-level cache.
	unit, mostRows = 12, 96
	// tileKeys is the number of keys in a tile. Their scores with the queries of a block take 96 KiB.
	tileKeys = 256
	// leastProducts is the number of multiplications, some microseconds of work, that is worth another worker.
	leastProducts = 1 << 17
)

// division says how the work of a call is cut into tasks: some queries of a head, or several heads.
type division struct {
	rows, blocks int // queries in a block, and blocks of a head
	heads        int // in a task, 1 if there are several blocks
}

func (p Params) divide(n, m, workers int) division {
	d := division{rows: mostRows, heads: 1}
	each := n * m * p.Width // of a head
	if workers > 1 && p.Heads < 2*workers {
		want := min((2*workers-1)/p.Heads+1, max(1, each/leastProducts))
		d.rows = min(ceilDiv(ceilDiv(n, want), unit)*unit, mostRows)
	}
	d.blocks = ceilDiv(n, d.rows)
	if d.blocks == 1 {
		d.heads = min(max(1, leastProducts/each), ceilDiv(p.Heads, workers))
	}
	return d
}

// tasks returns the number of tasks.
func (d division) tasks(heads int) int { return ceilDiv(heads, d.heads) * d.blocks }

// worker is the memory of one goroutine.
type worker struct {
	arithmetic
	scores []float32         // of a block and a tile, later the weights
	most   [mostRows]float32 // the greatest score of each query so far
	sums   [mostRows]float64 // of the weights
}

// newLoop returns a loop over tasks.
func newLoop(p Params, workers int, each func() arithmetic) kernels.Loop {
	all := make([]worker, workers)
	for i := range all {
		all[i].arithmetic = each()
		all[i].scores = make([]float32, mostRows*tileKeys)
	}
	return kernels.Loop{
		Rows: func(s *kernels.Shape) int { return p.divide(s[steps], s[keys], workers).tasks(p.Heads) },
		Do: func(at int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
			n, m := s[steps], s[keys]
			d := p.divide(n, m, workers)
			for t := lo; t < hi; t++ {
				first := t / d.blocks * d.heads
				for head := first; head < min(first+d.heads, p.Heads); head++ {
					query := t % d.blocks * d.rows
					others := head * m * p.Width
					all[at].block(p, a[0][head*n*p.Width:], a[1][head*n*p.Width:], a[2][others:], a[3][others:],
						query, min(d.rows, n-query), n, m)
				}
			}
		},
		Grain: func(*kernels.Shape, int, *pool.Pool) int { return 1 },
	}
}

// block computes some queries of a head. y, q, k and v begin where those of the head do.
func (w *worker) block(p Params, y, q, k, v []float32, query, rows, n, m int) {
	c := p.Width
	q, y = q[query*c:], y[query*c:(query+rows)*c]
	scale := float32(1 / math.Sqrt(float64(c)))
	for r := range rows {
		w.most[r], w.sums[r] = float32(math.Inf(-1)), 0
	}
	part := n > unit // no division of fewer queries
	end := p.visible(query+rows-1, n, m)
	for first := 0; first < end; first += tileKeys {
		count := min(tileKeys, end-first)
		keys, values := k[first*c:(first+count)*c], v[first*c:(first+count)*c]
		w.multiply(w.scores, q, keys, rows, count, c, true, part, scale, 0)
		for r := range rows {
			seen := min(count, max(0, p.visible(query+r, n, m)-first))
			w.weigh(r, w.scores[r*count:(r+1)*count], seen, y[r*c:(r+1)*c], first > 0)
		}
		beta := float32(0)
		if first > 0 {
			beta = 1
		}
		if p.visible(query, n, m)-first < count && !finite(values) {
			w.addVisible(p, y, values, query, rows, n, m, first, count, part, beta)
			continue
		}
		w.multiply(y, w.scores, values, rows, c, count, false, part, 1, beta)
	}
	for r := range rows {
		w.scale(y[r*c:(r+1)*c], float32(1/w.sums[r]))
	}
}

// weigh turns the scores of a query that it sees into weights, and the others into zeros. If out holds the sum of earlier
// tiles, weigh scales it to the greatest score so far.
func (w *worker) weigh(r int, scores []float32, seen int, out []float32, earlier bool) {
	clear(scores[seen:])
	if seen == 0 {
		return
	}
	most := max(w.most[r], w.largest(scores[:seen]))
	shift := most
	if math.IsInf(float64(most), -1) {
		shift = 0 // −Inf − −Inf would be NaN, also if a later tile has a greater score
	}
	sum := float64(w.exponentials(scores[:seen], scores[:seen], shift))
	if most != w.most[r] {
		factor := float32(math.Exp(float64(w.most[r] - most)))
		w.sums[r] *= float64(factor)
		if earlier {
			w.scale(out, factor)
		}
		w.most[r] = most
	}
	w.sums[r] += sum
}

// addVisible adds the values of a tile to each query by itself, because weights of 0 would not hide a NaN or an infinity.
func (w *worker) addVisible(p Params, y, values []float32, query, rows, n, m, first, count int, part bool, beta float32) {
	c := p.Width
	for r := range rows {
		if seen := min(count, p.visible(query+r, n, m)-first); seen > 0 {
			w.multiply(y[r*c:(r+1)*c], w.scores[r*count:], values, 1, c, seen, false, part, 1, beta)
		}
	}
}

func finite(x []float32) bool {
	var sum float32
	for _, v := range x {
		sum += v - v // NaN if v is no finite number
	}
	return sum == 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
