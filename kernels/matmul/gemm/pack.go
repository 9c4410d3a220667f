package gemm

import (
	"fmt"
	"sync"

	"crossover/kernels/turn"
)

// Packed is a matrix B in the order in which kernels read it. It consists of its columns if there are few. Otherwise it
// consists of blocks of depth rows, or of rowsDepth if it is the transpose of a PackedRows. A block consists of panels of
// tileColumns columns, and a panel is row-major. The last panel is padded with zeros. A Packed never changes, so any number of
// goroutines may use it.
type Packed struct {
	k, n   int
	slim   bool // of few columns
	lone   bool // a single row by it is a product of its own: see isLone
	values []float32
}

// Pack packs the k×n matrix B. It panics if b is shorter than its matrix or a dimension is below 1.
func Pack(b []float32, k, n int) *Packed { return pack(b, k, n, slim(k, n)) }

// PackWhole is [Pack] for products that are never some rows of a larger one. A single row then has a kernel of its own, and so has other
// bits than the same row among others.
func PackWhole(b []float32, k, n int) *Packed {
	p := Pack(b, k, n)
	p.lone = n >= leastLoneColumns
	return p
}

// PackPart is [Pack] for some columns of a larger matrix, which begin at a multiple of 16. Their products are never computed as
// narrow ones: see [Product]. So the bits do not depend on how a caller divides the larger matrix.
func PackPart(b []float32, k, n int) *Packed { return pack(b, k, n, false) }

func pack(b []float32, k, n int, slim bool) *Packed {
	positive(1, k, n)
	holds("B", b, k, n)
	p := &Packed{k: k, n: n, slim: slim}
	if slim {
		p.values = make([]float32, k*roundUp(n, turn.Rows))
		transpose(p.values, b, k, n)
		return p
	}
	p.pack(b, depth)
	return p
}

// pack packs B in panels, in blocks of so many rows.
func (p *Packed) pack(b []float32, depth int) {
	width := roundUp(p.n, tileColumns)
	p.values = make([]float32, p.k*width)
	for l := 0; l < p.k; l += depth {
		terms := min(depth, p.k-l)
		packB(p.values[l*width:(l+terms)*width], b[l*p.n:], p.n, terms, p.n)
	}
}

// panels returns the panels of rows l to l+terms−1, from column j on. l is a multiple of depth, and j of tileColumns.
func (p *Packed) panels(l, terms, j int) []float32 {
	width := roundUp(p.n, tileColumns)
	return p.values[l*width+j*terms : (l+terms)*width]
}

// PackedRows is a matrix A in the order in which kernels read it, with a bias for each row as its first column. It consists of
// blocks of rowsDepth columns. A block consists of panels of as many rows as the kernels of this processor compute. A PackedRows
// never changes, so any number of goroutines may use it.
type PackedRows struct {
	m, k   int // without the biases
	values []float32
	turned func() *Packed // the transpose, in blocks of rowsDepth rows, which is packed at the first call; nil within a product
}

// PackRows packs the m×k matrix A and the biases of its rows. It panics if a is shorter than its matrix, a dimension is below 1, or
// there are not m biases.
func PackRows(a []float32, m, k int, bias []float32) *PackedRows {
	positive(m, k, 1)
	holds("A", a, m, k)
	if len(bias) != m {
		panic(fmt.Sprintf("gemm: %d biases, want one for each of %d rows", len(bias), m))
	}
	columns := k + 1
	all := make([]float32, 0, m*columns)
	for i, b := range bias {
		all = append(append(all, b), a[i*k:][:k]...)
	}
	p := &PackedRows{m: m, k: k, values: make([]float32, m*columns+slack)}
	var few strip
	for l := 0; l < columns; l += rowsDepth {
		terms := min(rowsDepth, columns-l)
		packA(p.values[l*m:], all[l:], columns, terms, m, &few)
	}
	p.turned = sync.OnceValue(p.turn)
	return p
}

// turn packs the transpose.
func (p *PackedRows) turn() *Packed {
	columns := p.k + 1
	b := make([]float32, 0, p.m*columns)
	for l := range columns {
		first := l / rowsDepth * rowsDepth
		terms := min(rowsDepth, columns-first)
		for i := 0; i < p.m; i += tileRows {
			tall := min(tileRows, p.m-i)
			b = append(b, p.values[first*p.m+i*terms+(l-first)*tall:][:tall]...)
		}
	}
	t := &Packed{k: columns, n: p.m}
	t.pack(b, rowsDepth)
	return t
}

// panels returns the panels of columns l to l+terms−1, from row i on. l is a multiple of the depth, and i of tileRows.
func (p *PackedRows) panels(l, terms, i int) []float32 {
	return p.values[l*p.m+i*terms : (l+terms)*p.m]
}

// Row is a row of a panel: see [Computed].
type Row [tileColumns]float32

// CopyRow sets dst to src. The compiler makes one move of 16 bytes, and calls a function for a longer array, which takes half as
// long again.
func CopyRow(dst, src *Row) {
	*(*[4]float32)(dst[0:]) = *(*[4]float32)(src[0:])
	*(*[4]float32)(dst[4:]) = *(*[4]float32)(src[4:])
	*(*[4]float32)(dst[8:]) = *(*[4]float32)(src[8:])
	*(*[4]float32)(dst[12:]) = *(*[4]float32)(src[12:])
}

// packB packs rows of the given number of columns. There are terms rows, n values apart.
func packB(dst, b []float32, n, terms, columns int) {
	for ; columns >= tileColumns; columns -= tileColumns {
		for l := range terms {
			CopyRow((*Row)(dst[l*tileColumns:]), (*Row)(b[l*n:]))
		}
		dst = dst[terms*tileColumns:]
		b = b[tileColumns:]
	}
	if columns == 0 {
		return
	}
	for l := range terms {
		row := dst[l*tileColumns:][:tileColumns]
		copy(row, b[l*n:][:columns])
		clear(row[columns:])
	}
}

// packTurnedB is packB for a matrix that is stored as its transpose: columns lie k values apart.
func packTurnedB(dst, b []float32, k, terms, columns int) {
	for ; columns > 0; columns -= tileColumns {
		if columns >= tileColumns {
			turn.Aside(dst, tileColumns, b, k, terms)
			turn.Aside(dst[turn.Rows:], tileColumns, b[turn.Rows*k:], k, terms)
		} else {
			clear(dst[:terms*tileColumns])
			for j := range columns {
				for l, v := range b[j*k:][:terms] {
					dst[l*tileColumns+j] = v
				}
			}
			return
		}
		dst = dst[terms*tileColumns:]
		b = b[min(tileColumns*k, len(b)):]
	}
}

// packTurnedA is packA for a matrix that is stored as its transpose: its columns lie m values apart.
func packTurnedA(dst, a []float32, m, terms, rows int) {
	for row := 0; row < rows; row += tileRows {
		tall := min(tileRows, rows-row)
		panel := dst[row*terms:][:tall*terms]
		for l := range terms {
			copy(panel[l*tall:][:tall], a[l*m+row:])
		}
	}
}

// slack is the room that packA and a [Computed] need behind their panels.
const slack = tileColumns

// strip is memory for eight rows of a block.
type strip [turn.Rows * rowsDepth]float32

// packA packs terms values of each row, at most rowsDepth. Rows are k values apart. A panel holds tileRows rows: the first value of
// each row, then the second, and so on. The last panel holds the rest of the rows. dst is at least slack longer than the panels.
func packA(dst, a []float32, k, terms, rows int, few *strip) {
	for row := 0; row < rows; row += tileRows {
		tall := min(tileRows, rows-row)
		panel, from, apart := dst[row*terms:], a[row*k:], k
		if rows-row < turn.Rows { // so that eight can be read
			for r := range tall {
				copy(few[r*rowsDepth:][:terms], from[r*k:][:terms])
			}
			from, apart = few[:], rowsDepth
		}
		// Where a panel is lower than eight rows, the values beyond it are overwritten by those that follow.
		turn.Aside(panel, tall, from, apart, terms)
		for r := turn.Rows; r < tall; r += turn.Rows {
			last := min(r, tall-turn.Rows)
			turn.Aside(panel[last:], tall, a[(row+last)*k:], k, terms)
		}
	}
}
