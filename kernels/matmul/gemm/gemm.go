// Package gemm multiplies row-major float32 matrices in Go, on one core or on a pool: C = A·B, C = A·B + C, or in general
// C = α·op(A)·op(B) + β·C, where op(X) is X or its transpose.
//
// No product is skipped. So a NaN or an infinity in A or B reaches every sum to which it belongs, at every size and on every
// processor. Libraries that skip zeros lose NaNs. The package does not take strided operands. [Pack] and [PackRows] pack a
// matrix that is used many times, such as a layer's weights. A [Computed] matrix exists only in the panels that a product is
// just multiplying.
//
// A product is cut to fit the caches. A panel of 16 columns of B stays in the first-level cache, and a block of rows of A in
// the second-level cache. A kernel (AVX2 and FMA, AVX-512, NEON, or Go) computes tiles of 6×16 or 12×16 sums in registers. Panels
// are copied first, so that a kernel reads one piece of memory from its beginning to its end. A narrow product has few columns, or
// few rows and a B that is stored as its transpose. Other kernels compute its elements as dot products of rows and columns. A thin
// product has few rows and a B that lies as it is. Kernels read B where it lies, in long pieces of its rows.
//
// Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34(3), 2008; F. Van Zee,
// R. van de Geijn, BLIS, ACM TOMS 41(3), 2015.
package gemm

import (
	"fmt"
	"math"

	"crossover/kernels/turn"
	"crossover/pool"
)

const (
	// depth is the number of terms of the sums that are added up in registers. A panel of B with so many rows has 16 KiB.
	depth = 256
	// blockRows is the number of rows in a block of A. With depth terms each, they have 120 KiB.
	blockRows = 10 * mostTileRows
	// blockColumns is the number of columns of B that are packed at a time. With depth rows, they have 1 MiB.
	blockColumns = 64 * tileColumns
	// If A has at most fewRows rows, B is not packed: see fewDepth.
	fewRows = 96
	// computedColumns is blockColumns for a computed B. A block of 128 columns and the weights of a common layer fit into the
	// second-level cache together.
	computedColumns = 8 * tileColumns
	// rowsDepth is the depth of packed rows. Their first column are biases, so that a common number of terms and the biases are
	// added up at a time.
	rowsDepth = depth + 1
	// leastProducts is the number of multiplications, one to five microseconds of work, that is worth another worker. On 16
	// cores of an Intel Xeon of family 6, model 207, one row by 512×512 took 18.9 µs on one core, as with four times as many,
	// and takes 10.8, and 32 rows took 79 µs and take 54. On two cores of the kind, products of 128 Ki lose up to a microsecond.
	leastProducts = 1 << 16
	// leastParts is the least number of parts into which a product is divided. On two cores of an EPYC of family 26, which are
	// far apart, products of 128 Ki took 3 µs on one core and 9 on both.
	leastParts = 3
	// shortProducts is the number of multiplications below which no worker has two parts. The worker that comes first would compute
	// parts of another, whose values lie in the other's cache. On two cores of an EPYC of family 26, a dozen products with 260 Ki to 1 Mi
	// took 6 % less in the mean.
	shortProducts = 1 << 20
)

// Multiplier multiplies matrices, and keeps the memory into which it packs. Only one goroutine at a time may use a
// Multiplier. It allocates nothing once it has multiplied matrices as large, and of packed rows also one with as few columns.
type Multiplier struct {
	pool    *pool.Pool // nil for none
	workers []worker
	product product
	calls   uint64     // whose rows of A were packed by each worker
	rows    PackedRows // of a product in parts
	narrow  []float32  // of a narrow product, the rows of op(A) or the columns of op(B)
	turned  []float32  // the transpose of C, if that is what is computed
}

// NewSerial returns a Multiplier that computes on the calling goroutine.
func NewSerial() *Multiplier { return &Multiplier{workers: make([]worker, 1)} }

// NewParallel returns a Multiplier that divides C among the workers of a pool. The results have the same bits as those of a
// serial one.
func NewParallel(p *pool.Pool) *Multiplier {
	m := &Multiplier{pool: p, workers: make([]worker, p.Workers())}
	for i := range m.workers {
		m.workers[i].number = i
	}
	return m
}

// product holds the operands of a call and the division of C into parts. It is the pool's task. The index of the task
// numbers the parts of C in row-major order.
type product struct {
	workers       []worker
	c, a, b       []float32
	packed        *Packed     // takes the place of b; nil for none
	computed      Computed    // the same
	packedRows    *PackedRows // takes the place of a, in blocks of the depth's columns; nil for none
	computedA     Computed    // its transpose takes the place of a; nil for none
	bias          []float32   // of the columns, to which the product is added; nil for none
	x, y          []float32   // of a narrow product, take the place of a and b: see dots
	m, k, n       int
	add           bool
	part          bool      // of a larger product
	thin          bool      // see isThin
	lone          bool      // see isLone
	turnedA       bool      // a is k×m
	turnedB       bool      // b is n×k
	alpha, beta   float32   // of A·B, and of before
	before        []float32 // is read if beta is not 0
	depth         int       // terms of the sums at a time
	rows, columns int       // of a part
	across        int       // parts side by side
	call          uint64    // whose rows each worker packs for itself; 0 if it does not
}

// unpacked reports whether B is read without packing.
func (p *product) unpacked() bool {
	return p.packed == nil && p.computed == nil && p.m <= fewRows && !p.turnedB
}

// fewDepth is the depth of a product whose B is not packed. A kernel then reads so many rows of B at a time, tileColumns of each.
// More rows mean that C is read and written less often. But long rows lie in as many pages of memory, and rows that lie a multiple of a
// few KiB apart push each other out of the first-level cache. A product of fewer rows than a tile mostly waits for B, if B does not
// fit into the second-level cache. A processor notices a few rows that are read from their beginning to their end, and fetches ahead.
// The depth of a part depends on nothing that a division changes.
//
// On an EPYC of family 25, model 1, 12 rows by 1024×16 took 16 µs with a depth of 32, 11 with 128 and 23 with 16. On one core of a Xeon
// of family 6, model 207, they took 4.9, 4.2 and 7.3.
func (p *product) fewDepth() int {
	const long, page, secondLevel = 512, 1024, 1 << 18 // values
	switch {
	case p.part, p.n < long, p.m >= mostTileRows && p.n < page:
		return 128
	case p.m < mostTileRows && p.k > secondLevel/p.n:
		return 16
	}
	return 32
}

// positive panics if a dimension is below 1.
func positive(m, k, n int) {
	if m < 1 || k < 1 || n < 1 {
		panic(fmt.Sprintf("gemm: %d×%d by %d×%d: want dimensions of at least 1", m, k, k, n))
	}
}

// holds panics if a slice is shorter than its matrix, whose dimensions are at least 1. Their product might overflow.
func holds(name string, x []float32, rows, columns int) {
	if len(x)/columns < rows {
		panic(fmt.Sprintf("gemm: %s has %d values, want at least %d×%d", name, len(x), rows, columns))
	}
}

// Multiply computes C = A·B, or C = A·B + C if add is set. A is rows×k, B is k×n, C is rows×n, all dense and row-major. C
// must not overlap A or B, and it is read only if add is set. Multiply panics if a slice is shorter than its matrix or a
// dimension is below 1.
func (m *Multiplier) Multiply(c, a, b []float32, rows, k, n int, add bool) {
	positive(rows, k, n)
	holds("A", a, rows, k)
	holds("B", b, k, n)
	holds("C", c, rows, n)
	m.run(product{c: c, a: a, b: b, m: rows, k: k, n: n, add: add, alpha: 1})
}

// Product is a product in general: C = Alpha·op(A)·op(B) + Beta·Before. op(A) is M×K, op(B) is K×N, C and Before are M×N, all
// dense and row-major. op(A) is the transpose of A, which then is K×M, if TransposeA is set. It is A otherwise. Likewise B is
// N×K if TransposeB is set.
type Product struct {
	C, A, B                []float32
	M, K, N                int
	TransposeA, TransposeB bool
	// Alpha multiplies the values of A before they are multiplied by those of B, or those of B if it has few columns.
	Alpha, Beta float32
	// Before is not read if Beta is 0, and may then be nil. It may be C itself.
	Before []float32
	// Part says that C is some rows or columns of a larger product. It is then never computed as a narrow or a thin one. So its bits do not
	// depend on how a caller divides the larger product, if parts begin at multiples of 12 rows and of 16 columns, and have at most
	// 96 rows.
	Part bool
}

// Compute computes a product. C must not overlap A or B, and it is read only if it is Before. Compute panics if a slice is
// shorter than its matrix or a dimension is below 1.
func (m *Multiplier) Compute(p Product) {
	positive(p.M, p.K, p.N)
	holds("A", p.A, p.M, p.K)
	holds("B", p.B, p.K, p.N)
	holds("C", p.C, p.M, p.N)
	if p.Beta != 0 {
		holds("Before", p.Before, p.M, p.N)
	}
	m.run(product{c: p.C, a: p.A, b: p.B, m: p.M, k: p.K, n: p.N, turnedA: p.TransposeA, turnedB: p.TransposeB, part: p.Part,
		alpha: p.Alpha, beta: p.Beta, before: p.Before, add: p.Beta != 0})
}

// MultiplyPacked is [Multiplier.Multiply] with a packed B. A caller may multiply some rows of A at a time. That changes no bits if parts
// begin at multiples of 12 rows. Otherwise the kernels of the last few rows of each part add terms in another order.
func (m *Multiplier) MultiplyPacked(c, a []float32, b *Packed, rows int, add bool) {
	positive(rows, b.k, b.n)
	holds("A", a, rows, b.k)
	holds("C", c, rows, b.n)
	m.run(product{c: c, a: a, packed: b, m: rows, k: b.k, n: b.n, add: add, alpha: 1})
}

// MultiplyBiased is [Multiplier.MultiplyPacked] for C = A·B + bias, with a bias for each column. It panics too if there are not as many.
func (m *Multiplier) MultiplyBiased(c, a []float32, b *Packed, rows int, bias []float32) {
	positive(rows, b.k, b.n)
	holds("A", a, rows, b.k)
	holds("C", c, rows, b.n)
	if len(bias) != b.n {
		panic(fmt.Sprintf("gemm: %d biases, want one for each of %d columns", len(bias), b.n))
	}
	m.run(product{c: c, a: a, packed: b, m: rows, k: b.k, n: b.n, bias: bias, add: true, alpha: 1})
}

// Computed is a matrix B that is computed where it is multiplied. The workers of a pool may call Panel at the same time.
type Computed interface {
	// Panel writes some columns of B, at most 16, from column j on, in the rows l to l+terms−1, row-major without gaps. If B has fewer
	// columns, the values of the others do not matter. dst is at least 16 values longer than that, and Panel may write there. worker is the
	// pool's number of the worker that calls.
	Panel(worker int, dst []float32, l, terms, j, columns int)
}

// MultiplyComputed computes C[i,j] = bias[i] + Σₗ A[i,l]·B[l,j], where A and the biases are packed. A is rows×k, B is k×n, C is
// rows×n, dense and row-major. C is not read and must not overlap what B is computed from. Every value of B is computed at least
// once, and again by each worker that needs it. MultiplyComputed panics if C is shorter than its matrix or n is below 1.
func (m *Multiplier) MultiplyComputed(c []float32, a *PackedRows, b Computed, n int) {
	positive(a.m, a.k, n)
	holds("C", c, a.m, n)
	if !isTurned(a.m, n) {
		m.run(product{c: c, packedRows: a, computed: b, m: a.m, k: a.k + 1, n: n, alpha: 1})
		return
	}
	m.turned = grown(m.turned, a.m*roundUp(n, turn.Rows))
	m.run(product{c: m.turned, computedA: b, packed: a.turned(), m: n, k: a.k + 1, n: a.m, alpha: 1})
	transposeInto(c[:a.m*n], m.turned, n, a.m)
}

// isTurned reports whether a product of m rows with n computed columns is computed as its transpose, which is then turned back. A tile
// has 16 columns, of which all are computed, and only as many rows as are left. So the transpose takes less if n is small and not just
// below a multiple of 16.
func isTurned(m, n int) bool {
	return n <= fewRows && turnedCost*n*ceilDiv(m, tileColumns) < 16*m*ceilDiv(n, tileColumns)
}

// turnedCost is by how much a tile takes longer in a transpose, with what it takes to turn it, in sixteenths.
const turnedCost = 18

func (m *Multiplier) run(p product) {
	p.workers = m.workers
	p.depth = depth
	switch {
	case p.computed != nil || p.computedA != nil:
		p.depth = rowsDepth
	case p.unpacked():
		p.depth = p.fewDepth()
	}
	m.dots(&p)
	p.thin, p.lone = p.isThin(), p.isLone()
	m.product = p
	m.product.divide()
	if p.thin {
		m.product.depth = m.product.thinDepth()
	}
	parts := ceilDiv(p.m, m.product.rows) * m.product.across
	if parts == 1 {
		m.product.Do(0, 0, 1)
	} else {
		if p.x == nil && p.packedRows == nil && p.m > 1 && m.product.rows >= p.m {
			m.packRows()
		}
		m.pool.Run(parts, 1, &m.product)
	}
	m.product = product{}
}

// mostOwnRows is the number of values of A up to which each worker packs them for itself, because it reads its own cache faster than
// that of another processor. On two cores of an EPYC of family 26, which were far apart, 8 rows by 1536×80 took 22.3 µs while the caller
// packed them, and then 10.8.
const mostOwnRows = 1 << 18

// packRows packs A before a product is divided whose parts all have its rows, or lets each worker do so. Otherwise every part would pack
// them.
func (m *Multiplier) packRows() {
	p := &m.product
	if p.m*p.k <= mostOwnRows {
		m.calls++
		p.call = m.calls
		return
	}
	m.rows.pack(p, &m.workers[0])
	p.packedRows = &m.rows
}

// pack packs all rows of a product's A, in blocks of its depth's columns.
func (r *PackedRows) pack(p *product, by *worker) {
	*r = PackedRows{m: p.m, k: p.k, values: grown(r.values, p.m*p.k+slack)}
	for l := 0; l < p.k; l += p.depth {
		terms := min(p.depth, p.k-l)
		by.packRows(p, r.values[l*p.m:], l, terms, 0, p.m)
	}
}

// biased sets values of a row of C, from column j on, to their biases.
func (p *product) biased(c []float32, j int) {
	if len(p.bias) == 1 { // C is a column, which lies as if it were a row
		Fill(c, p.bias[0])
		return
	}
	copy(c, p.bias[j:])
}

// Divides reports whether a product with so many multiplications is worth dividing.
func Divides(products float64) bool { return products >= leastParts*leastProducts }

// divide cuts C into parts, one or about two for each worker, so that as little as possible is packed twice or written by two workers.
// They consist of whole tiles, so the sums do not depend on the division.
func (p *product) divide() {
	want := 1
	if products := float64(p.m) * float64(p.k) * float64(p.n); len(p.workers) > 1 && Divides(products) {
		want = 2 * len(p.workers)
		if products < shortProducts {
			want = len(p.workers)
		}
		want = int(min(float64(want), products/leastProducts))
	}
	unit := tileColumns
	switch {
	case p.lone:
		unit = loneColumns
	case p.thin && p.m <= 3:
		unit = leastThinColumns // one row of 1024×1024 took 24 µs in place of 61 so, and four rows took 68 in place of 52
	}
	if want == 1 {
		p.cut(1, 1, unit)
		return
	}
	least, bestDown, bestAcross := math.Inf(1), 1, 1
	for down := 1; down <= min(want, ceilDiv(p.m, tileRows)); down++ {
		for across := want / down; across <= ceilDiv(want, down); across++ {
			p.cut(down, across, unit)
			cost := p.cost()
			if parts := ceilDiv(p.m, p.rows) * p.across; want > len(p.workers) && 2*parts <= 3*len(p.workers) {
				cost *= costOfOnePart
			}
			if cost < least {
				least, bestDown, bestAcross = cost, down, across
			}
		}
	}
	p.cut(bestDown, bestAcross, unit)
}

// cut cuts C into about so many parts one below the other, and side by side.
func (p *product) cut(down, across, unit int) {
	p.rows = roundUp(ceilDiv(p.m, down), tileRows)
	p.columns = roundUp(ceilDiv(p.n, across), unit)
	p.across = ceilDiv(p.n, p.columns)
}

// Other work in units of a multiplication. The figures are from two cores of an EPYC of family 26, which were far apart, and from 16 of a
// Xeon of family 6. On the two, 294 rows by 25×671 took 57 µs while parts were about square, and 40 in parts that lie one below the other.
const (
	costOfCutLine  = 2000 // of a row that ends within a line of the cache, which two processors write
	costOfCut      = 250  // of a row that ends between two lines, which some processors fetch together
	costOfPacking  = 16   // of a value
	costOfComputed = 16   // of a value of a Computed matrix

	// costOfOnePart is the factor if workers have one part each of a long product, because then all wait for the slowest one.
	costOfOnePart = 1.5
	// fewWorkers is the greatest number of workers with which every part counts as a whole one. More of them even out parts that
	// are smaller.
	fewWorkers = 4
)

// cost returns how many multiplications take about as long as the parts of the worker with the most of them.
func (p *product) cost() float64 {
	down := ceilDiv(p.m, p.rows)
	parts := down * p.across
	terms, all := float64(p.k), float64(p.m)*float64(p.n)
	rows, columns := float64(min(p.rows, p.m)), float64(min(p.columns, p.n))
	beside, once := 0.0, 0.0 // in each part, and by each worker
	switch {
	case p.across == 1:
	case p.n%tileColumns != 0:
		beside = costOfCutLine * rows
	default:
		beside = costOfCut * rows
	}
	if p.x == nil {
		switch {
		case p.computed != nil:
			beside += costOfComputed * columns * terms
		case p.packed == nil && !p.unpacked():
			beside += costOfPacking * columns * terms
		}
		switch {
		case p.packedRows != nil:
		case down == 1: // see packRows
			once = costOfPacking * rows * terms
		default:
			beside += costOfPacking * rows * terms
		}
	}
	rounds := float64(ceilDiv(parts, len(p.workers)))
	most := max(rows*columns, rounds*all/float64(parts))
	if len(p.workers) <= fewWorkers {
		most = rounds * rows * columns
	}
	return most*terms + rounds*beside + once
}

// Do computes the parts from lo to hi−1.
func (p *product) Do(worker, lo, hi int) {
	w := &p.workers[worker]
	for t := lo; t < hi; t++ {
		i, j := t/p.across*p.rows, t%p.across*p.columns
		w.part(p, i, min(i+p.rows, p.m), j, min(j+p.columns, p.n))
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, unit int) int { return ceilDiv(a, unit) * unit }
