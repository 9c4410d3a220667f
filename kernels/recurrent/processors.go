package recurrent

import (
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// chunkRows is the number of rows of x, of all sequences together, that are multiplied by the weights of the input at a time.
// It is several tiles of a product high, and the products of so many rows stay in the second-level cache of a core.
const chunkRows = 96

// chunk returns the number of steps whose products are computed at a time.
func chunk(rows int) int { return max(1, chunkRows/rows) }

// biases returns what is added to the products with x and with h. A cell that adds both products up has one bias.
func (c *cell) biases(p Params) (input, own []float32) {
	if !c.memory {
		return p.InputBias, p.HiddenBias
	}
	sum := make([]float32, len(p.InputBias))
	for i := range sum {
		sum[i] = p.InputBias[i] + p.HiddenBias[i]
	}
	return sum, nil
}

// fill copies a row into all rows of dst.
func fill(dst, row []float32) {
	for ; len(dst) > 0; dst = dst[len(row):] {
		copy(dst, row)
	}
}

// grown returns n values: those of x, or new ones if x has fewer.
func grown(x []float32, n int) []float32 {
	if len(x) < n {
		return make([]float32, n)
	}
	return x
}

// before returns the state before a step: rows lo to hi−1.
func (t *tensors) before(step, rows, units, lo, hi int) []float32 {
	if step == 0 {
		return t.h0[lo*units : hi*units]
	}
	return t.y[((step-1)*rows+lo)*units : ((step-1)*rows+hi)*units]
}

// finish copies the last output to hn.
func (t *tensors) finish() { copy(t.hn, t.y[len(t.y)-len(t.hn):]) }

// block is some of the hidden units, with their columns of both products: those of the first gate, then of the second, and so
// on.
type block struct {
	first, units int
	input, own   *gemm.Packed // in×(gates·units) and hidden×(gates·units)
	inputBias    []float32
	ownBias      []float32 // nil if the products are added up
}

// blocks divides the hidden units into blocks of whole panels of a packed product, at most count of them.
func (c *cell) blocks(p Params, count int) []block {
	const panel = 16
	inputBias, ownBias := c.biases(p)
	each := ((p.Hidden-1)/count/panel + 1) * panel
	var all []block
	for first := 0; first < p.Hidden; first += each {
		b := block{first: first, units: min(each, p.Hidden-first)}
		columns := func(weights []float32, width int) *gemm.Packed {
			matrix := make([]float32, width*c.gates*b.units)
			for gate := range c.gates {
				for unit := range b.units {
					column := gate*b.units + unit
					for i, w := range weights[(gate*p.Hidden+first+unit)*width:][:width] {
						matrix[i*c.gates*b.units+column] = w
					}
				}
			}
			return gemm.PackPart(matrix, width, c.gates*b.units)
		}
		of := func(bias []float32) (part []float32) {
			for gate := 0; bias != nil && gate < c.gates; gate++ {
				part = append(part, bias[gate*p.Hidden+first:][:b.units]...)
			}
			return part
		}
		b.input, b.own = columns(p.InputWeights, p.In), columns(p.HiddenWeights, p.Hidden)
		b.inputBias, b.ownBias = of(inputBias), of(ownBias)
		all = append(all, b)
	}
	return all
}

// worker is what a goroutine needs for itself.
type worker struct {
	multiplier *gemm.Multiplier
	parts      []float32
}

// advance computes a step of a block for some rows. h and y are the rows of the states before and after the step, and so is c.
// gates has the products with x, of the block's units alone.
func (w *worker) advance(c *cell, b *block, y, memory, h, gates []float32, units int) {
	width, rows := c.gates*b.units, len(h)/units
	parts := gates
	if b.ownBias != nil {
		w.parts = grown(w.parts, rows*width)
		parts = w.parts[:rows*width]
		fill(parts, b.ownBias)
	}
	w.multiplier.MultiplyPacked(parts, h, b.own, rows, true)
	for r := range rows {
		at := r*units + b.first
		var state []float32
		if c.memory {
			state = memory[at : at+b.units]
		}
		c.advance(y[at:at+b.units], state, h[at:at+b.units], gates[r*width:(r+1)*width], parts[r*width:(r+1)*width])
	}
}

// own computes a layer with products by package gemm and packed weights, on one core or on a pool.
//
// On a pool there are two ways. With enough sequences each worker has some of them, and computes many steps without waiting.
// With few sequences and a large state each worker has some of the hidden units, and all wait for each other at every step.
type own struct {
	cell   *cell
	params Params
	blocks []block
	pool   *pool.Pool       // nil for none
	whole  *gemm.Multiplier // of x and the weights of the input, on the pool
	worker []worker

	gates []float32 // the products with x in a chunk, by block

	// The call, for the pool's tasks.
	t           tensors
	rows        int
	first, last int // steps of the chunk
	step        int
	kind        task
}

// task is what a worker of the pool computes.
type task int

const (
	sequences task = iota // all steps of a chunk for some sequences
	products              // the products with x in a chunk for some blocks
	oneStep               // a step for some blocks
)

const (
	// leastRows is the number of sequences that is worth a worker. With fewer, reading the weights takes the time.
	leastRows = 4
	// leastProducts is the number of multiplications of a state that is worth a worker of its own at every step. On two
	// cores of an EPYC 9004, 100 steps of one sequence took 387 µs on one core and 237 on both at 128 units, and 1606 and
	// 780 at 256 units, where both cores together have room for the weights (go test -bench Workers/lstm).
	leastProducts = 1 << 15
)

func (c *cell) newOwn(p Params) kernels.Runner { return c.own(p, nil) }

func (c *cell) newOwnParallel(p Params, workers *pool.Pool) kernels.Runner { return c.own(p, workers) }

func (c *cell) own(p Params, workers *pool.Pool) *own {
	o := &own{cell: c, params: p, pool: workers}
	count, blocks := 1, 1
	if workers != nil {
		count = workers.Workers()
		blocks = min(count, max(1, (c.gates*p.Hidden*p.Hidden+leastProducts/2)/leastProducts))
		o.whole = gemm.NewParallel(workers)
	}
	o.blocks = c.blocks(p, blocks)
	o.worker = make([]worker, count)
	for i := range o.worker {
		o.worker[i].multiplier = gemm.NewSerial()
	}
	if workers == nil {
		o.whole = o.worker[0].multiplier
	}
	return o
}

// Run computes a call.
func (o *own) Run(s kernels.Shape, a *kernels.Args) error {
	o.t, o.rows = o.cell.tensors(a), s[batch]
	copy(o.t.cn, o.t.c0)
	n := chunk(o.rows)
	o.gates = grown(o.gates, min(n, s[steps])*o.rows*o.cell.gates*o.params.Hidden)
	teams := 1
	if o.pool != nil {
		teams = min(len(o.worker), max(1, o.rows/leastRows))
	}
	byBlock := len(o.blocks) > teams
	for o.first = 0; o.first < s[steps]; o.first = o.last {
		o.last = min(o.first+n, s[steps])
		if byBlock {
			o.run(products, len(o.blocks), 1)
			for o.step = o.first; o.step < o.last; o.step++ {
				o.run(oneStep, len(o.blocks), 1)
			}
			continue
		}
		whole := o.whole
		if teams == 1 { // the steps take one core, which would have to fetch what the others have computed
			whole = o.worker[0].multiplier
		}
		for i := range o.blocks {
			o.multiply(whole, &o.blocks[i])
		}
		o.run(sequences, o.rows, (o.rows-1)/teams+1)
	}
	o.t.finish()
	o.t = tensors{}
	return nil
}

// run computes tasks 0 to n−1 of a kind, grain at a time.
func (o *own) run(kind task, n, grain int) {
	o.kind = kind
	if n <= grain {
		o.Do(0, 0, n)
	} else {
		o.pool.Run(n, grain, o)
	}
}

// Do computes the tasks from lo to hi−1.
func (o *own) Do(worker, lo, hi int) {
	w := &o.worker[worker]
	switch o.kind {
	case products:
		for i := lo; i < hi; i++ {
			o.multiply(w.multiplier, &o.blocks[i])
		}
	case oneStep:
		for i := lo; i < hi; i++ {
			o.advance(w, &o.blocks[i], o.step, 0, o.rows)
		}
	case sequences:
		for step := o.first; step < o.last; step++ {
			for i := range o.blocks {
				o.advance(w, &o.blocks[i], step, lo, hi)
			}
		}
	}
}

// products returns the products of x in the chunk for a block.
func (o *own) products(b *block) []float32 {
	rows := (o.last - o.first) * o.rows * o.cell.gates
	return o.gates[rows*b.first:][:rows*b.units]
}

// multiply computes the products of x in the chunk for a block.
func (o *own) multiply(m *gemm.Multiplier, b *block) {
	in, rows, gates := o.params.In, (o.last-o.first)*o.rows, o.products(b)
	fill(gates, b.inputBias)
	m.MultiplyPacked(gates, o.t.x[o.first*o.rows*in:][:rows*in], b.input, rows, true)
}

// advance computes a step of a block for rows lo to hi−1.
func (o *own) advance(w *worker, b *block, step, lo, hi int) {
	units, width := o.params.Hidden, o.cell.gates*b.units
	var memory []float32
	if o.cell.memory {
		memory = o.t.cn[lo*units : hi*units]
	}
	gates := o.products(b)[((step-o.first)*o.rows+lo)*width:]
	w.advance(o.cell, b, o.t.y[(step*o.rows+lo)*units:(step*o.rows+hi)*units], memory,
		o.t.before(step, o.rows, units, lo, hi), gates[:(hi-lo)*width], units)
}

// library computes a layer with products by a library.
type library struct {
	cell   *cell
	params Params

	// multiply adds a·wᵀ to c. a is rows×k, w is n×k, c is rows×n.
	multiply func(rows, n, k int, a, w, c []float32)

	inputBias, ownBias []float32
	gates, parts       []float32
}

func (c *cell) library(p Params, multiply func(rows, n, k int, a, w, c []float32)) *library {
	l := &library{cell: c, params: p, multiply: multiply}
	l.inputBias, l.ownBias = c.biases(p)
	return l
}

// vectorRows is the number of sequences up to which OpenBLAS multiplies each state as a vector: see package linear.
const vectorRows = 4

func (c *cell) newOpenBLAS(p Params, threads int) kernels.Runner {
	return c.library(p, func(rows, n, k int, a, w, c []float32) {
		if rows > vectorRows {
			openblas.Gemm(threads, false, true, rows, n, k, 1, a, k, w, k, 1, c, n)
			return
		}
		for r := range rows {
			openblas.Gemv(threads, false, n, k, 1, w, k, a[r*k:], 1, c[r*n:])
		}
	})
}

// newFramework returns a layer with products by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func (c *cell) newFramework(p Params) (kernels.Runner, error) {
	return c.library(p, func(rows, n, k int, a, w, c []float32) {
		accelerate.Gemm(false, true, rows, n, k, 1, a, w, 1, c)
	}), nil
}

// Run computes a call.
func (l *library) Run(s kernels.Shape, a *kernels.Args) error {
	t, rows, in, units := l.cell.tensors(a), s[batch], l.params.In, l.params.Hidden
	width := l.cell.gates * units
	copy(t.cn, t.c0)
	n := min(chunk(rows), s[steps])
	l.gates, l.parts = grown(l.gates, n*rows*width), grown(l.parts, rows*width)
	for first := 0; first < s[steps]; first += n {
		last := min(first+n, s[steps])
		all := (last - first) * rows
		fill(l.gates[:all*width], l.inputBias)
		l.multiply(all, width, in, t.x[first*rows*in:], l.params.InputWeights, l.gates)
		for step := first; step < last; step++ {
			h, gates := t.before(step, rows, units, 0, rows), l.gates[(step-first)*rows*width:][:rows*width]
			parts := gates
			if l.ownBias != nil {
				parts = l.parts[:rows*width]
				fill(parts, l.ownBias)
			}
			l.multiply(rows, width, units, h, l.params.HiddenWeights, parts)
			for r := range rows {
				var memory []float32
				if l.cell.memory {
					memory = t.cn[r*units : (r+1)*units]
				}
				l.cell.advance(t.y[(step*rows+r)*units:][:units], memory, h[r*units:(r+1)*units], gates[r*width:(r+1)*width],
					parts[r*width:(r+1)*width])
			}
		}
	}
	t.finish()
	return nil
}
