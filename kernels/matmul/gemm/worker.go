package gemm

// worker is the memory into which one goroutine packs.
type worker struct {
	number int // of the pool
	a, b   []float32
	own    PackedRows // all of A
	call   uint64     // whose A that is
	few    strip
	edge   [mostTileRows * tileColumns]float32 // a tile that would reach beyond C
	_      [64]byte                            // keeps workers off each other's cache line
}

// part computes rows i to lastI−1 and columns j to lastJ−1 of C. j is a multiple of tileColumns.
func (w *worker) part(p *product, i, lastI, j, lastJ int) {
	if p.beta != 0 && !(p.beta == 1 && &p.before[0] == &p.c[0]) {
		for row := i; row < lastI; row++ {
			scaled(p.c[row*p.n+j:row*p.n+lastJ], p.before[row*p.n+j:row*p.n+lastJ], p.beta)
		}
	}
	if p.bias != nil {
		for row := i; row < lastI; row++ {
			p.biased(p.c[row*p.n+j:row*p.n+lastJ], j)
		}
	}
	switch {
	case p.x != nil:
		w.dots(p, i, lastI, j, lastJ)
		return
	case p.thin:
		w.thin(p, j, lastJ)
		return
	case p.lone:
		w.lone(p, j, lastJ)
		return
	}
	most := blockColumns
	if p.computed != nil {
		most = computedColumns
	}
	for ; j < lastJ; j += most {
		columns := min(most, lastJ-j)
		for l := 0; l < p.k; l += p.depth {
			terms := min(p.depth, p.k-l)
			b := w.columns(p, l, terms, j, columns)
			for first := i; first < lastI; first += blockRows {
				rows := min(blockRows, lastI-first)
				w.block(p, w.rows(p, l, terms, first, rows), b, first, rows, j, columns, terms, p.add || l > 0)
			}
		}
	}
}

// Fill sets every value of dst to v. A loop would set one value a cycle, and copy sets a vector.
func Fill(dst []float32, v float32) {
	n := min(len(dst), tileColumns)
	for i := range dst[:n] {
		dst[i] = v
	}
	for n < len(dst) {
		n += copy(dst[n:], dst[:min(n, 64*tileColumns)])
	}
}

// rows returns the packed rows of a block of A, with terms columns from l on.
func (w *worker) rows(p *product, l, terms, first, count int) []float32 {
	if p.packedRows != nil {
		return p.packedRows.panels(l, terms, first)
	}
	if p.call > 0 {
		return w.ownRows(p).panels(l, terms, first)
	}
	if count == 1 && p.alpha == 1 && p.computedA == nil && (!p.turnedA || p.m == 1) {
		return p.a[first*p.k+l:][:terms] // a single row lies as kernels read it
	}
	w.a = grown(w.a, count*terms+slack)
	w.packRows(p, w.a, l, terms, first, count)
	return w.a
}

// ownRows returns all of A, packed by the worker itself.
func (w *worker) ownRows(p *product) *PackedRows {
	if w.call != p.call {
		w.own.pack(p, w)
		w.call = p.call
	}
	return &w.own
}

// packRows packs count rows of A from the row first on, with terms columns from l on. dst is at least slack longer than that.
func (w *worker) packRows(p *product, dst []float32, l, terms, first, count int) {
	switch {
	case p.computedA != nil:
		for row := 0; row < count; row += tileRows {
			panel(w.number, dst[row*terms:], p.computedA, l, terms, first+row, min(tileRows, count-row))
		}
		return
	case p.turnedA:
		packTurnedA(dst, p.a[l*p.m+first:], p.m, terms, count)
	default:
		packA(dst, p.a[first*p.k+l:], p.k, terms, count, &w.few)
	}
	scaled(dst[:count*terms], dst, p.alpha)
}

// columns are some columns of a block of B, for kernels to read.
type columns struct {
	panels []float32 // packed panels of tileColumns columns; of unpacked rows that are narrower than a panel, the only one
	rows   []float32 // the rows where they lie, if B is not packed
	rowB   int       // values from one row to the next
	// If the last panel of unpacked rows would reach beyond B, last has the last tileColumns columns in its place. The first skip of
	// them belong to the panel before.
	last []float32
	skip int
}

// columns returns count columns from j on, of terms rows from l on.
func (w *worker) columns(p *product, l, terms, j, count int) columns {
	if p.packed != nil {
		return columns{panels: p.packed.panels(l, terms, j), rowB: tileColumns}
	}
	if p.turnedB {
		w.b = grown(w.b, terms*roundUp(count, tileColumns))
		packTurnedB(w.b, p.b[j*p.k+l:], p.k, terms, count)
		return columns{panels: w.b, rowB: tileColumns}
	}
	if p.computed != nil {
		w.b = grown(w.b, terms*roundUp(count, tileColumns)+slack)
		for column := 0; column < count; column += tileColumns {
			panel(w.number, w.b[column*terms:], p.computed, l, terms, j+column, tileColumns)
		}
		return columns{panels: w.b, rowB: tileColumns}
	}
	b := p.b[l*p.n+j:]
	if !p.unpacked() {
		w.b = grown(w.b, terms*roundUp(count, tileColumns))
		packB(w.b, b, p.n, terms, count)
		return columns{panels: w.b, rowB: tileColumns}
	}
	over := count % tileColumns
	if over == 0 || (terms-1)*p.n+roundUp(count, tileColumns) <= len(b) {
		return columns{rows: b, rowB: p.n}
	}
	// A kernel reads tileColumns columns, and B ends before.
	if first := j + count - tileColumns; first >= 0 {
		return columns{rows: b, rowB: p.n, last: p.b[l*p.n+first:], skip: tileColumns - over}
	}
	w.b = grown(w.b, terms*tileColumns) // for fewer columns than a panel has
	packB(w.b, b, p.n, terms, over)
	return columns{panels: w.b, rowB: tileColumns}
}

// panel computes some columns of rows l to l+terms−1 of a computed matrix. Its first row are the factors of the biases.
func panel(worker int, dst []float32, of Computed, l, terms, j, columns int) {
	if l == 0 {
		Fill(dst[:columns], 1)
		dst, l, terms = dst[columns:], 1, terms-1
	}
	of.Panel(worker, dst, l-1, terms, j, columns)
}

// panel returns the panel with column j of count, the distance between its rows, and that to the next panel. skip is the number of
// columns before column j in the panel.
func (b *columns) panel(j, count, terms int) (panel []float32, row, next, skip int) {
	switch {
	case b.rows == nil:
		return b.panels[j*terms:], b.rowB, terms * tileColumns, 0
	case j+tileColumns > count && b.skip > 0:
		return b.last, b.rowB, 0, b.skip
	}
	return b.rows[j:], b.rowB, tileColumns, 0
}

// block multiplies the packed rows of A by columns of B. If there are few terms, a tile of A meets several panels of B at a
// time, which have no more values than one panel of depth terms.
func (w *worker) block(p *product, packed []float32, b columns, first, rows, j, count, terms int, add bool) {
	most := max(1, depth/terms)
	for column, panels := 0, 0; column < count; column += panels * tileColumns {
		panel, rowB, next, skip := b.panel(column, count, terms)
		within := count - column
		panels = min(max(1, within/tileColumns), most)
		for row := 0; row < rows; row += tileRows {
			tall := min(tileRows, rows-row)
			a, c := packed[row*terms:], p.c[(first+row)*p.n+j+column:]
			if within >= tileColumns {
				multiply(c, p.n, a, panel, rowB, next, tall, terms, panels, add)
				continue
			}
			multiply(w.edge[:], tileColumns, a, panel, rowB, next, tall, terms, 1, false)
			for r := range tall {
				put(c[r*p.n:][:within], w.edge[r*tileColumns+skip:], add)
			}
		}
	}
}

// put writes sums to C, or adds them to it.
func put(c, sums []float32, add bool) {
	if !add {
		copy(c, sums)
		return
	}
	for j := range c {
		c[j] += sums[j]
	}
}

// scaled sets dst to factor times the beginning of src, which may be dst.
func scaled(dst, src []float32, factor float32) {
	if factor == 1 && &dst[0] == &src[0] {
		return
	}
	for i, v := range src[:len(dst)] {
		dst[i] = factor * v
	}
}

// grown returns x, or a new slice of n values if x is shorter.
func grown(x []float32, n int) []float32 {
	if len(x) < n {
		return make([]float32, n)
	}
	return x
}
