// Package tiles multiplies row-major float32 matrices in Go, on one core or on the shared pool.
//
// The arithmetic is gonum's sgemm. What this package adds is the division of the product into tiles small enough
// that gonum computes each on the calling goroutine: from four blocks of 64×64 upwards it starts goroutines of its
// own on every call, which can be neither held to one core nor free of allocation.
//
// Source: gonum.org/v1/gonum/blas/gonum, function Sgemm.
package tiles

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"crossover/pool"
)

// A tile of C is at most rowsPerTile×columnsPerTile, three of gonum's blocks and so below its parallel threshold.
// It is wide because gonum adds scaled rows of B to rows of C, and a long row repays the call that adds it. The sum
// over k is taken depth terms at a time: the depth×columnsPerTile panel of B, 48 KiB, then stays in the caches while
// every row of the tile uses it.
const (
	rowsPerTile    = 64
	columnsPerTile = 192
	depth          = 64
)

// Multiply computes C = A·B + beta·C on the calling goroutine. A is m×k, B is k×n, C is m×n, all dense and row-major.
// C is not read when beta is 0, and must not overlap A or B. Multiply panics if a slice is shorter than its matrix or
// a dimension is below 1.
func Multiply(c, a, b []float32, m, k, n int, beta float32) {
	check(c, a, b, m, k, n)
	for i := 0; i < m; i += rowsPerTile {
		for j := 0; j < n; j += columnsPerTile {
			tile(c, a, b, k, n, i, j, min(rowsPerTile, m-i), min(columnsPerTile, n-j), beta)
		}
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
	// Tiles are made lower where C has few rows, so that there are about two for each worker; below four rows the
	// time goes into fetching B, which every tile does for itself.
	rows := min(rowsPerTile, max(4, ceilDiv(m, 2*p.pool.Workers())))
	across := ceilDiv(n, columnsPerTile)
	p.product = product{c: c, a: a, b: b, m: m, k: k, n: n, beta: beta, rows: rows, across: across}
	p.pool.Run(ceilDiv(m, rows)*across, 1, &p.product)
	p.product = product{}
}

// product is the pool's task: one Multiply, its index the tiles of C in row-major order.
type product struct {
	c, a, b      []float32
	m, k, n      int
	beta         float32
	rows, across int // rows of a tile; tiles in a row of tiles
}

func (p *product) Do(_, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, j := t/p.across*p.rows, t%p.across*columnsPerTile
		tile(p.c, p.a, p.b, p.k, p.n, i, j, min(p.rows, p.m-i), min(columnsPerTile, p.n-j), p.beta)
	}
}

// tile computes the rows×columns elements of C whose first is at row i and column j.
func tile(c, a, b []float32, k, n, i, j, rows, columns int, beta float32) {
	for l := 0; l < k; l += depth {
		gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, rows, columns, min(depth, k-l),
			1, a[i*k+l:], k, b[l*n+j:], n, beta, c[i*n+j:], n)
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
