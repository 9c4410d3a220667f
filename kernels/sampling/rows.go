package sampling

import (
	"crossover/kernels"
	"crossover/pool"
)

// rowsInGo finds the best entries of each row, on one core or on the workers of a pool. Few long rows are divided into pieces.
type rowsInGo struct {
	input      int // place of x among the tensors of a call
	columns, k int
	besides    int                                                // columns that would take as long as the rest of a row
	workers    *pool.Pool                                         // nil for one core
	scan       func(best []entry, x []float32, first int) []entry // adds the best of x, and keeps k at most
	finish     func(a *kernels.Args, row int, found []entry)      // writes the results of a row

	args   *kernels.Args // of the current call
	pieces int           // of a row
	found  []entry       // k for each piece of each row or, if rows are whole, for each worker
}

const (
	leastPiece = 16 << 10 // values of a piece: about a microsecond
	perBest    = 512      // values of a piece for each one that it keeps, so that finding the first ones takes little of the time
	leastRows  = 8 << 10  // values of rows that are handed to a worker together: about a microsecond
)

func (r *rowsInGo) Run(s kernels.Shape, a *kernels.Args) error {
	r.args, r.pieces = a, 1
	short := s[rows]*(r.columns+r.besides) < 2*leastRows
	if r.workers != nil && !short && s[rows] < r.workers.Workers() {
		r.pieces = max(1, min(r.workers.Workers()/s[rows], r.columns/max(leastPiece, perBest*r.k)))
	}
	switch {
	case r.workers == nil || short:
		r.room(1)
		r.Do(0, 0, s[rows])
	case r.pieces == 1:
		r.room(r.workers.Workers())
		r.workers.Run(s[rows], r.workers.Grain(s[rows], leastRows/float64(r.columns+r.besides), 1), r)
	default:
		r.room(s[rows]*r.pieces + 1)
		r.workers.Run(s[rows]*r.pieces, 1, r)
		r.join(s[rows])
	}
	r.args = nil
	return nil
}

// join joins what was found in the pieces of each row, in their order.
func (r *rowsInGo) join(n int) {
	for row := range n {
		joined := r.of(n * r.pieces)
		for piece := range r.pieces {
			for _, e := range r.of(row*r.pieces + piece)[:r.k] {
				if len(joined) < r.k || e.key > joined[r.k-1].key {
					joined = insert(joined, e)
				}
			}
		}
		r.finish(r.args, row, joined)
	}
}

// room makes room for n lists of entries.
func (r *rowsInGo) room(n int) {
	if len(r.found) < n*r.apart() {
		r.found = make([]entry, n*r.apart())
	}
}

// of returns an empty list of at most k entries.
func (r *rowsInGo) of(i int) []entry {
	first := i * r.apart()
	return r.found[first : first : first+r.k]
}

// apart is the number of entries from one list to the next. Lists share no lines of the cache, because two workers that write to
// one line wait for each other at every row.
func (r *rowsInGo) apart() int {
	const line = 128 / 8 // entries of two lines, which processors load together
	return (r.k + line - 1) / line * line
}

// Do computes the rows, or the pieces of rows, from lo to hi−1.
func (r *rowsInGo) Do(worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		row, piece := i/r.pieces, i%r.pieces
		x := r.args[r.input][row*r.columns : (row+1)*r.columns]
		if r.pieces == 1 {
			r.finish(r.args, row, r.scan(r.of(worker), x, 0))
			continue
		}
		first, end := piece*r.columns/r.pieces, (piece+1)*r.columns/r.pieces
		r.scan(r.of(i), x[first:end], first)
	}
}
