package gemm

import "crossover/kernels/turn"

// A product is narrow if its C has few columns, or few rows while B is stored as its transpose. It is computed as dot products of
// rows of op(A) and columns of op(B), both contiguous. A tile would compute columns that C does not have, and packing A or B for
// tiles would take about as long as the product. The bounds below hold for one core of an EPYC of family 26, with AVX-512 and
// with AVX2. Nearly everywhere within them, medians of dot products were below those of tiles. At most they were equal.
const (
	// dotTerms is the least number of terms. With 8 terms, 512 rows by 8 columns took as long either way.
	dotTerms = 16
	// mostDotColumns is the greatest number of columns, and mostDotRows the greatest number of rows of a product whose B is stored
	// as its transpose. 512 rows by 12 columns took 0.89 of the time of tiles with 16 terms and 0.5 with 1024 terms. 32 rows took
	// 0.77 to 0.87 of it with 128 terms or more, 4 rows 0.35.
	mostDotColumns = 12
	mostDotRows    = 32
	// termsPerRow is the least number of terms for each row of such a product. With 16 terms, 4 rows took 0.7 to 0.9 of the time
	// of tiles and 8 rows 1.1 times as long. With 64 terms, 16 rows took 0.8 of it and 48 rows as long.
	termsPerRow = 4
	// dotDepth is the number of terms of dot products that are added up in registers. With half or twice as many, 512 rows of 4096
	// terms by 4 or 8 columns took up to 1.4 times as long.
	dotDepth = 1024
	// singleDepth is dotDepth for a single row, which stays in a cache, so that columns of B are read from end to end. On an EPYC of
	// family 25, model 1, a row of 1536 to 4096 terms took 0.84 to 0.95 of the time. Two and four rows of 2048 took 1.1 times as long.
	singleDepth = 16 << 10
	// dotBlock is about the number of values of B, 128 KiB, that meet all rows of A before the next do.
	dotBlock = 32 << 10
)

// slim reports whether op(B) is k×n with so few columns that they are multiplied one by one.
func slim(k, n int) bool { return n <= mostDotColumns && k >= dotTerms }

// Deep reports whether a product whose B lies as it is has a single row or column and so many terms that its dot products are deeper than
// others.
func Deep(m, k, n int) bool { return k > dotDepth && (n == 1 || m == 1 && n <= turn.Rows) }

// dots makes a product one of dot products if it is narrow. The shape of all of C decides, so a division changes no bits.
func (m *Multiplier) dots(p *product) {
	contiguous := !p.turnedA || p.m == 1 // rows of op(A)
	switch {
	case p.part || p.computed != nil || p.packedRows != nil || p.packed != nil && !p.packed.slim:
		return
	case p.packed != nil:
		p.x, p.y = p.a[:p.m*p.k], p.packed.values
	case slim(p.k, p.n) && contiguous && (p.turnedB || p.n <= turn.Rows*p.m): // a single row is not worth two strips
		p.x, p.y = p.a[:p.m*p.k], m.columns(p)
	case p.turnedB && p.n >= dotColumns && p.k >= dotTerms && p.m <= min(mostDotRows, p.k/termsPerRow):
		p.x, p.y = m.rowsOf(p, contiguous), p.b[:p.k*p.n]
	default:
		return
	}
	if p.n == 1 { // C lies in memory as if it were a row
		p.x, p.y, p.m, p.n = p.y, p.x, 1, p.m
	}
	p.depth = dotDepth
	if p.m == 1 && p.packed == nil { // a packed B may meet other rows in other calls
		p.depth = singleDepth
	}
}

// columns returns the columns of op(B), times alpha, one after the other. If they are fewer than dotColumns, there is room for
// as many.
func (m *Multiplier) columns(p *product) []float32 {
	if p.turnedB && p.alpha == 1 && p.n >= dotColumns {
		return p.b[:p.k*p.n]
	}
	m.narrow = grown(m.narrow, p.k*roundUp(p.n, turn.Rows))
	if p.turnedB {
		copy(m.narrow, p.b[:p.k*p.n])
	} else {
		transpose(m.narrow, p.b, p.k, p.n)
	}
	scaled(m.narrow[:p.k*p.n], m.narrow, p.alpha)
	return m.narrow
}

// rowsOf returns the rows of op(A), times alpha, one after the other. contiguous says that they lie so in A.
func (m *Multiplier) rowsOf(p *product, contiguous bool) []float32 {
	if contiguous && p.alpha == 1 {
		return p.a
	}
	m.narrow = grown(m.narrow, p.k*roundUp(p.m, turn.Rows))
	if contiguous {
		copy(m.narrow, p.a[:p.k*p.m])
	} else {
		transpose(m.narrow, p.a, p.k, p.m)
	}
	scaled(m.narrow[:p.k*p.m], m.narrow, p.alpha)
	return m.narrow
}

// transpose writes the transpose of the k×n matrix src, in strips of eight columns. dst has room for whole strips. Its rows from n
// on become undefined.
func transpose(dst, src []float32, k, n int) {
	for j := 0; j < n; j += turn.Rows {
		l := 0
		for ; l+turn.Rows <= k && (l+turn.Rows-1)*n+j+turn.Rows <= len(src); l += turn.Rows {
			turn.Aside(dst[j*k+l:], k, src[l*n+j:], n, turn.Rows)
		}
		for ; l < k; l++ {
			for i, v := range src[l*n+j : l*n+min(n, j+turn.Rows)] {
				dst[(j+i)*k+l] = v
			}
		}
	}
}

// transposeInto writes the transpose of the k×n matrix src to dst, which has no room for more. If src has fewer than eight rows, it
// has room for as many, and what is there does not matter.
func transposeInto(dst, src []float32, k, n int) {
	if k >= turn.Rows {
		for l := 0; l < k; l += turn.Rows {
			l := min(l, k-turn.Rows) // some rows a second time
			turn.Aside(dst[l:], k, src[l*n:], n, n)
		}
		return
	}
	whole := max(0, n-turn.Rows) // eight values are written at a time, of which those that follow overwrite some
	if whole > 0 {
		turn.Aside(dst, k, src, n, whole)
	}
	for i := whole; i < n; i++ {
		for l := range k {
			dst[i*k+l] = src[l*n+i]
		}
	}
}

// dots computes rows i to lastI−1 and columns j to lastJ−1 of C by dot products.
func (w *worker) dots(p *product, i, lastI, j, lastJ int) {
	for l := 0; l < p.k; l += p.depth {
		terms := min(p.depth, p.k-l)
		most := max(1, dotBlock/terms/tileColumns) * tileColumns
		for first := j; first < lastJ; first += most {
			count := min(most, lastJ-first)
			for row := i; row < lastI; row += dotRows {
				w.dotRow(p, row, min(dotRows, lastI-row), first, count, l, terms)
			}
		}
	}
}

// dotRow computes count columns of tall rows of C from terms terms, the first of which is l.
func (w *worker) dotRow(p *product, row, tall, first, count, l, terms int) {
	c, x, add := p.c[row*p.n+first:], p.x[row*p.k+l:], p.add || l > 0
	whole := count / dotColumns * dotColumns
	if whole > 0 {
		dot(c, p.n, x, p.k, p.y[first*p.k+l:], p.k, tall, terms, whole/dotColumns, add)
	}
	if whole == count {
		return
	}
	at := first + whole // of a last group
	switch {
	case (at+dotColumns)*p.k <= len(p.y):
		w.dotEdge(p, c[whole:], x, at, at, count-whole, tall, l, terms, p.k, add)
	case p.n >= dotColumns: // there is nothing behind: the group has earlier columns too
		w.dotEdge(p, c[whole:], x, p.n-dotColumns, at, count-whole, tall, l, terms, p.k, add)
	default: // a group of the same column
		for j := range count {
			w.dotEdge(p, c[j:], x, at+j, at+j, 1, tall, l, terms, 0, add)
		}
	}
}

// dotEdge computes some columns of C, from column at on, within a group that begins at column group. rowY is the distance between
// the rows of y.
func (w *worker) dotEdge(p *product, c, x []float32, group, at, count, tall, l, terms, rowY int, add bool) {
	dot(w.edge[:], dotColumns, x, p.k, p.y[group*p.k+l:], rowY, tall, terms, 1, false)
	for r := range tall {
		put(c[r*p.n:][:count], w.edge[r*dotColumns+at-group:], add)
	}
}
