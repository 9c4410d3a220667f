// Package tiles multiplies row-major float32 matrices in Go, on one core or on the shared pool.
//
// The arithmetic is gonum's sgemm and sgemv. What this package adds is the division of the product into tiles that
// gonum computes on the calling goroutine: its sgemm starts goroutines of its own from four blocks of 64×64 upwards,
// on every call, which can be neither held to one core nor free of allocation.
//
// Source: gonum.org/v1/gonum/blas/gonum, methods Sgemm and Sgemv.
package tiles

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"crossover/pool"
)

// Both of gonum's routines add scaled rows of B to rows of C, and a long row repays the call that adds it. So a tile
// is as wide as C, up to wideColumns, and is computed row by row with sgemv; a tile of at most narrowColumns goes
// through sgemm, which has less to do for each row, in parts of narrowRows: three of gonum's blocks, one fewer than
// make it start goroutines.
//
// The sum over l is taken some terms at a time, so that the panel of B that all rows of the tile use stays in a cache:
// narrowDepth×narrowColumns values are 48 KiB, wideDepth×wideColumns values 2 MiB.
const (
	narrowRows    = 64
	narrowColumns = 192
	narrowDepth   = 64
	wideColumns   = 2048
	wideDepth     = 256
)

// Multiply computes C = A·B + beta·C on the calling goroutine. A is m×k, B is k×n, C is m×n, all dense and row-major.
// C is not read when beta is 0, and must not overlap A or B. Multiply panics if a slice is shorter than its matrix or
// a dimension is below 1.
func Multiply(c, a, b []float32, m, k, n int, beta float32) {
	check(c, a, b, m, k, n)
	p := product{c: c, a: a, b: b, k: k, n: n, beta: beta}
	for j := 0; j < n; j += wideColumns {
		p.tile(0, j, m, min(wideColumns, n-j))
	}
}

// Parallel multiplies on the shared pool. It must not be used by two goroutines at once.
type Parallel struct {
	pool    *pool.Pool
	product product
}

// NewParallel returns a Parallel on pool.Shared.
func NewParallel() *Parallel { return &Parallel{pool: pool.Shared()} }

// Multiply is the function Multiply with the tiles of C divided among the pool's workers. It allocates nothing.
func (p *Parallel) Multiply(c, a, b []float32, m, k, n int, beta float32) {
	check(c, a, b, m, k, n)
	// About two tiles for each worker: C is divided by rows, and by columns too where it has too few rows for that.
	want := 2 * p.pool.Workers()
	rows := ceilDiv(m, want)
	down := ceilDiv(m, rows)
	columns := min(wideColumns, max(narrowColumns, ceilDiv(n, ceilDiv(want, down))))
	across := ceilDiv(n, columns)
	p.product = product{c: c, a: a, b: b, m: m, k: k, n: n, beta: beta, rows: rows, columns: columns, across: across}
	p.pool.Run(down*across, 1, &p.product)
	p.product = product{}
}

// product is one Multiply. For the pool its index is the tiles of C in row-major order.
type product struct {
	c, a, b       []float32
	m, k, n       int
	beta          float32
	rows, columns int // of a tile
	across        int // tiles side by side
}

func (p *product) Do(_, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, j := t/p.across*p.rows, t%p.across*p.columns
		p.tile(i, j, min(p.rows, p.m-i), min(p.columns, p.n-j))
	}
}

// tile computes the rows×columns elements of C whose first is at row i and column j.
func (p *product) tile(i, j, rows, columns int) {
	depth := wideDepth
	if columns <= narrowColumns {
		depth = narrowDepth
	}
	beta := p.beta
	for l := 0; l < p.k; l += depth {
		terms := min(depth, p.k-l)
		b := p.b[l*p.n+j:]
		if columns <= narrowColumns {
			for r := i; r < i+rows; r += narrowRows {
				gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, min(narrowRows, i+rows-r), columns, terms,
					1, p.a[r*p.k+l:], p.k, b, p.n, beta, p.c[r*p.n+j:], p.n)
			}
		} else {
			for r := i; r < i+rows; r++ {
				c := p.c[r*p.n+j:][:columns] // exactly, because Sgemv scales all of its y, however long
				gonum.Implementation{}.Sgemv(blas.Trans, terms, columns, 1, b, p.n, p.a[r*p.k+l:], 1, beta, c, 1)
			}
		}
		beta = 1
	}
}

func check(c, a, b []float32, m, k, n int) {
	if m < 1 || k < 1 || n < 1 {
		panic("tiles: dimension below 1")
	}
	if len(a) < m*k || len(b) < k*n || len(c) < m*n {
		panic("tiles: slice shorter than its matrix")
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
