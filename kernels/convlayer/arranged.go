package convlayer

import (
	"crossover/kernels/matmul/gemm"
	"crossover/pool"
)

// arranged is a part of x as the processor's implementations read it, with its padding. In a row, the values that are a stride
// apart lie next to each other: first the columns 0, stride, 2·stride …, then 1, stride + 1 … So the values that one weight
// multiplies in a row of outputs are consecutive, whatever the stride and the dilation. Columns that no weight reaches are left
// out if they lie behind the kernel. Rows that are narrow keep their order, because a panel has several of them and takes their
// values one by one anyway. It is the pool's task: its indexes are the rows of all channels of the part.
type arranged struct {
	geometry
	x      []float32
	values []float32 // x itself if it lies in the right order
	memory []float32 // for values, if it does not
	rows   int       // of a channel, with padding
	apart  int       // columns from one value of a row to the next: 1 if the row keeps its order, or else the stride
	phases int       // of a row: columns from which one counts so
	phase  int       // values of a phase
	// columns says where in a row the values of output 0 begin, for each column of the kernel. Divisions would take longer.
	columns    []int
	lastColumn int // the greatest of them

	call uint64 // of copies, for which it was arranged
}

// valuesPerMicrosecond is the number of values that are copied in about a microsecond.
const valuesPerMicrosecond = 8192

// reserve takes the memory that a call needs. narrow says that rows keep their order.
func (a *arranged) reserve(g geometry, narrow bool) {
	a.lay(g, narrow)
	if n := a.arrangedValues(); !a.inOrder() && len(a.memory) < n {
		a.memory = make([]float32, n)
	}
}

// arrangedValues returns the number of values of the part as it is arranged. A panel may read behind its last column.
func (a *arranged) arrangedValues() int { return a.in*a.rows*a.row() + panelColumns }

// lay lays out the rows of a part.
func (a *arranged) lay(g geometry, narrow bool) {
	a.geometry = g
	a.rows = g.height + 2*g.padding.Height
	a.apart = g.stride.Width
	if narrow {
		a.apart = 1
	}
	a.phases = min(a.apart, reach(g.kernel.Width, g.dilation.Width))
	a.phase = ceilDiv(g.width+2*g.padding.Width, a.apart)
	a.columns, a.lastColumn = a.columns[:0], 0
	for column := range g.kernel.Width {
		from := column * g.dilation.Width
		a.columns = append(a.columns, from%a.apart*a.phase+from/a.apart)
		a.lastColumn = max(a.lastColumn, a.columns[column])
	}
}

// inOrder reports whether x lies in the right order.
func (a *arranged) inOrder() bool { return a.apart == 1 && a.padding == (Pair{}) }

// arrange arranges the values of a part. narrow says that rows keep their order. workers may be nil.
func (a *arranged) arrange(g geometry, narrow bool, x []float32, workers *pool.Pool) {
	a.reserve(g, narrow)
	a.x = x
	if a.inOrder() {
		a.values = x
		return
	}
	a.values = a.memory[:a.arrangedValues()]
	if workers == nil {
		a.Do(0, 0, g.in*a.rows)
	} else {
		workers.Run(g.in*a.rows, workers.Grain(g.in*a.rows, valuesPerMicrosecond/float64(a.row()), 1), a)
	}
}

// copies is a part of x that each worker of a pool arranges for itself, in each's input, when it first needs it. A worker reads
// its own cache faster than that of another processor.
type copies struct {
	own  *own
	x    []float32
	call uint64
	room int // values of the memory of each
}

// mostCopied is the number of values of all copies together up to which workers arrange a part for themselves. They arrange a larger
// one together. On two cores of an EPYC of family 26, which were far apart, a layer of 27 channels to 256 by 3 weights and 480 steps took
// 65 to 71 µs while its input was arranged once, and takes 49 to 54.
const mostCopied = 1 << 19

// leastReused is the number of multiplications for each value of a copy without which arranging takes a good part of the time.
const leastReused = 32

// begin begins a call. It returns false if the part is to be arranged by all workers together, or lies in the right order.
func (c *copies) begin(x []float32) bool {
	c.x = nil // after a panic it has that of another call
	g, first := &c.own.geometry, &c.own.each[0].input
	first.lay(*g, c.own.narrow())
	n := first.arrangedValues()
	if first.inOrder() || n > mostCopied/len(c.own.each) || g.out*g.terms()*g.positions()/n < leastReused {
		return false
	}
	if c.room < n {
		for i := range c.own.each {
			c.own.each[i].input.reserve(c.own.geometry, c.own.narrow())
		}
		c.room = n
	}
	c.x = x
	c.call++
	return true
}

// of returns a worker's copy.
func (c *copies) of(worker int) *arranged {
	a := &c.own.each[worker].input
	if a.call != c.call {
		a.arrange(c.own.geometry, c.own.narrow(), c.x, nil)
		a.x = nil
		a.call = c.call
	}
	return a
}

// Panel writes a panel of the unrolled matrix: see [gemm.Computed].
func (c *copies) Panel(worker int, dst []float32, l, terms, j, columns int) {
	c.of(worker).Panel(worker, dst, l, terms, j, columns)
}

// forget drops the caller's memory.
func (a *arranged) forget() { a.x, a.values = nil, nil }

// row returns the length of an arranged row.
func (a *arranged) row() int { return a.phase * a.phases }

// Do arranges the rows from lo to hi−1.
func (a *arranged) Do(_, lo, hi int) {
	for r := lo; r < hi; r++ {
		to := a.values[r*a.row():][:a.row()]
		c, i := r/a.rows, r%a.rows-a.padding.Height
		if i < 0 || i >= a.height {
			clear(to)
			continue
		}
		from := a.x[(c*a.height+i)*a.width:][:a.width]
		for first := range a.phases {
			scatter(to[first*a.phase:][:a.phase], from, first-a.padding.Width, a.apart)
		}
	}
}

// scatter sets to[i] to from[first+i·stride], or to 0 where from has no such value.
func scatter(to, from []float32, first, stride int) {
	i := 0
	if first < 0 {
		i = min(len(to), ceilDiv(-first, stride))
		first += i * stride
		clear(to[:i])
	}
	if stride == 1 && first >= 0 {
		i += copy(to[i:], from[min(first, len(from)):])
	} else {
		for ; i < len(to) && first < len(from); i++ {
			to[i] = from[first]
			first += stride
		}
	}
	clear(to[i:])
}

// term is a row of the unrolled matrix: a weight's place in the kernel.
type term struct{ channel, row, column int }

// term returns row l of the unrolled matrix.
func (g *geometry) term(l int) term {
	return term{l / g.kernel.Width / g.kernel.Height, l / g.kernel.Width % g.kernel.Height, l % g.kernel.Width}
}

// next moves to the next row.
func (t *term) next(g *geometry) { t.skip(g, 1) }

// skip moves on by some rows, at most as far as the next row of the kernel.
func (t *term) skip(g *geometry, columns int) {
	if t.column += columns; t.column < g.kernel.Width {
		return
	}
	t.column = 0
	if t.row++; t.row < g.kernel.Height {
		return
	}
	t.row = 0
	t.channel++
}

// start returns where the values lie that a weight multiplies, beginning with that of output 0, 0. The value of output i, j is
// i·stride.Height·row() + j·stride.Width/apart values behind.
func (a *arranged) start(t term) int {
	return a.kernelRow(t) + a.columns[t.column]
}

// kernelRow returns where the arranged row begins that a row of the kernel multiplies.
func (a *arranged) kernelRow(t term) int {
	return (t.channel*a.rows + t.row*a.dilation.Height) * a.row()
}

// panelColumns is the greatest number of columns of a panel: see [gemm.Computed].
const panelColumns = len(gemm.Row{})

// Panel writes a panel of the unrolled matrix: see [gemm.Computed].
func (a *arranged) Panel(_ int, dst []float32, l, terms, j, columns int) {
	t, perRow := a.term(l), a.stride.Height*a.row() // values of x from one row of outputs to the next
	down, across := j/a.outWidth, j%a.outWidth
	there, step := min(columns, a.positions()-j), a.stride.Width/a.apart
	if step == 1 && (across+there <= a.outWidth || perRow == a.outWidth) { // all lie next to each other
		first := down*perRow + across
		for terms > 0 {
			n, from := min(a.kernel.Width-t.column, terms), a.kernelRow(t)+first // terms of a row of the kernel
			if from+a.lastColumn+panelColumns > len(a.values) {
				break
			}
			for i, column := range a.columns[t.column:][:n] {
				gemm.CopyRow((*gemm.Row)(dst[i*columns:]), (*gemm.Row)(a.values[from+column:]))
			}
			dst, terms = dst[n*columns:], terms-n
			t.skip(&a.geometry, n)
		}
	}
	if terms == 0 {
		return
	}
	var at [panelColumns]int
	for i := range there {
		at[i] = down*perRow + across*step
		if across++; across == a.outWidth {
			across = 0
			down++
		}
	}
	for i := range terms {
		to, from := dst[i*columns:][:there], a.values[a.start(t):]
		for m := range to {
			to[m] = from[at[m]]
		}
		t.next(&a.geometry)
	}
}

// unroll writes count columns of the unrolled matrix from column first on, row-major without gaps. Rows do not keep their order.
func (a *arranged) unroll(dst []float32, first, count int) {
	for t := (term{}); t.channel < a.in; t.next(&a.geometry) {
		from, row := a.start(t), dst[:count]
		dst = dst[count:]
		down, across := first/a.outWidth, first%a.outWidth
		for len(row) > 0 {
			n := min(len(row), a.outWidth-across)
			copy(row[:n], a.values[from+down*a.stride.Height*a.row()+across:][:n])
			row, down, across = row[n:], down+1, 0
		}
	}
}
