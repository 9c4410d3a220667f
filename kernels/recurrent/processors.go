package recurrent

import (
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// chunkRows is the number of rows of x, of several sequences together, that are multiplied by the weights of the input at a time.
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
}

// scratch is the memory of a task, whichever worker computes it: of a block of units, or of some sequences. So a call allocates
// nothing once the task has run.
type scratch struct {
	parts    []float32 // the products with h in a step
	gates, x []float32 // of some sequences in a chunk: the products with x, by block, and x
}

// advance computes a step of a block for some rows. h and y are the rows of the states before and after the step, and so is c.
// gates has the products with x, of the block's units alone.
func (w *worker) advance(c *cell, b *block, own *scratch, y, memory, h, gates []float32, units int) {
	width, rows := c.gates*b.units, len(h)/units
	parts := gates
	if b.ownBias != nil {
		own.parts = grown(own.parts, rows*width)
		parts = own.parts[:rows*width]
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
// On a pool there are two ways. With enough sequences each worker has some of them, and computes all steps without waiting.
// With few sequences and a large state each worker has some of the hidden units, and all wait for each other at every step.
type own struct {
	cell   *cell
	params Params
	blocks []block
	pool   *pool.Pool // nil for none
	worker []worker
	tasks  []scratch // by block, or by the sequences of a worker

	gates []float32 // the products with x in a chunk, by block, where workers have hidden units each

	// The call, for the pool's tasks.
	t           tensors
	rows        int
	grain       int // of sequences
	first, last int // steps of the chunk
	step        int
	kind        task
}

// task is what a worker of the pool computes.
type task int

const (
	sequences task = iota // all steps for some sequences
	products              // the products with x in a chunk for some blocks
	oneStep               // a step for some blocks
)

const (
	// leastRows is the number of sequences that is worth a worker if hidden units can be divided instead. With fewer, reading the
	// weights takes the time. On two cores of an EPYC of family 25, four sequences of 256 units took 935 µs by sequences and 628
	// by units (50 steps of gru), and eight of 64 to 512 units the same both ways.
	leastRows = 4
	// leastProducts is the number of multiplications of a state that is worth a worker of its own at every step. On two
	// cores of an EPYC 9004, 100 steps of one sequence took 387 µs on one core and 237 on both at 128 units, and 1606 and
	// 780 at 256 units, where both cores together have room for the weights (go test -bench Workers/lstm).
	leastProducts = 1 << 15
	// productsPerMicrosecond is the number of multiplications that take about a microsecond.
	productsPerMicrosecond = 1 << 15
)

func (c *cell) newOwn(p Params) kernels.Runner { return c.own(p, nil) }

func (c *cell) newOwnParallel(p Params, workers *pool.Pool) kernels.Runner { return c.own(p, workers) }

func (c *cell) own(p Params, workers *pool.Pool) *own {
	o := &own{cell: c, params: p, pool: workers}
	count, blocks := 1, 1
	if workers != nil {
		count = workers.Workers()
		blocks = min(count, max(1, (c.gates*p.Hidden*p.Hidden+leastProducts/2)/leastProducts))
	}
	o.blocks = c.blocks(p, blocks)
	o.worker, o.tasks = make([]worker, count), make([]scratch, count)
	for i := range o.worker {
		o.worker[i].multiplier = gemm.NewSerial()
	}
	return o
}

// Run computes a call.
func (o *own) Run(s kernels.Shape, a *kernels.Args) error {
	o.t, o.rows = o.cell.tensors(a), s[batch]
	copy(o.t.cn, o.t.c0)
	teams := o.teams(s[steps])
	if len(o.blocks) > teams {
		o.together(s[steps])
	} else {
		o.first, o.last, o.grain = 0, s[steps], (o.rows-1)/teams+1
		o.run(sequences, o.rows, o.grain)
	}
	o.t.finish()
	o.t = tensors{}
	return nil
}

// teams returns the number of workers that are worth some sequences each.
func (o *own) teams(steps int) int {
	if o.pool == nil {
		return 1
	}
	each := float64(steps) * float64(o.params.In+o.params.Hidden) * float64(o.cell.gates*o.params.Hidden)
	if o.pool.Grain(o.rows, productsPerMicrosecond/each, 1) >= o.rows { // a call as short as that is not worth dividing
		return 1
	}
	least := 1
	if len(o.blocks) > 1 {
		least = leastRows
	}
	return min(len(o.worker), max(1, o.rows/least))
}

// together computes a call whose workers have some of the hidden units each.
func (o *own) together(steps int) {
	n := chunk(o.rows)
	o.gates = grown(o.gates, o.cell.products(&o.params, min(n, steps)*o.rows))
	for o.first = 0; o.first < steps; o.first = o.last {
		o.last = min(o.first+n, steps)
		o.run(products, len(o.blocks), 1)
		for o.step = o.first; o.step < o.last; o.step++ {
			o.run(oneStep, len(o.blocks), 1)
		}
	}
}

// products returns the number of products of some rows of x with the weights of the input.
func (c *cell) products(p *Params, rows int) int { return rows * c.gates * p.Hidden }

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
		rows := (o.last - o.first) * o.rows
		for i := lo; i < hi; i++ {
			b := &o.blocks[i]
			w.multiply(b, o.gatesOf(b, o.gates, rows), o.t.x[o.first*o.rows*o.params.In:], rows)
		}
	case oneStep:
		for i := lo; i < hi; i++ {
			b := &o.blocks[i]
			gates := o.gatesOf(b, o.gates, (o.last-o.first)*o.rows)
			o.advance(w, b, &o.tasks[i], o.step, 0, o.rows, gates[(o.step-o.first)*o.rows*o.cell.gates*b.units:])
		}
	case sequences:
		o.sequences(w, lo, hi)
	}
}

// sequences computes all steps of the sequences lo to hi−1. So a worker waits for nobody, and reads no product from the cache of
// another one.
func (o *own) sequences(w *worker, lo, hi int) {
	rows, in, own := hi-lo, o.params.In, &o.tasks[lo/o.grain]
	n := chunk(rows)
	own.gates = grown(own.gates, o.cell.products(&o.params, min(n, o.last)*rows))
	if rows < o.rows {
		own.x = grown(own.x, min(n, o.last)*rows*in)
	}
	for first := 0; first < o.last; first += n {
		last := min(first+n, o.last)
		x := o.t.x[first*o.rows*in:]
		if rows < o.rows {
			for step := first; step < last; step++ {
				copy(own.x[(step-first)*rows*in:], o.t.x[(step*o.rows+lo)*in:][:rows*in])
			}
			x = own.x
		}
		all := (last - first) * rows
		for i := range o.blocks {
			w.multiply(&o.blocks[i], o.gatesOf(&o.blocks[i], own.gates, all), x, all)
		}
		for step := first; step < last; step++ {
			for i := range o.blocks {
				b := &o.blocks[i]
				o.advance(w, b, own, step, lo, hi, o.gatesOf(b, own.gates, all)[(step-first)*rows*o.cell.gates*b.units:])
			}
		}
	}
}

// gatesOf returns a block's part of the products of some rows.
func (o *own) gatesOf(b *block, gates []float32, rows int) []float32 {
	return gates[rows*o.cell.gates*b.first:][:rows*o.cell.gates*b.units]
}

// multiply computes a block's products of some rows of x.
func (w *worker) multiply(b *block, gates, x []float32, rows int) {
	fill(gates, b.inputBias)
	w.multiplier.MultiplyPacked(gates, x, b.input, rows, true)
}

// advance computes a step of a block for rows lo to hi−1. gates begins with their products.
func (o *own) advance(w *worker, b *block, own *scratch, step, lo, hi int, gates []float32) {
	units := o.params.Hidden
	var memory []float32
	if o.cell.memory {
		memory = o.t.cn[lo*units : hi*units]
	}
	w.advance(o.cell, b, own, o.t.y[(step*o.rows+lo)*units:(step*o.rows+hi)*units], memory,
		o.t.before(step, o.rows, units, lo, hi), gates[:(hi-lo)*o.cell.gates*b.units], units)
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

func (c *cell) newOpenBLAS(p Params, threads int) kernels.Runner {
	return c.library(p, func(rows, n, k int, a, w, c []float32) {
		openblas.Gemm(threads, false, true, rows, n, k, 1, a, k, w, k, 1, c, n)
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
