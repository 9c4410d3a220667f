package convlayer

import (
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// own multiplies by package gemm, which gets the unrolled matrix in panels. If each group has few outputs, it slides the weights
// along x instead. Many parts are computed at the same time, and few parts one after the other by all workers. The bits are the
// same. It is the pool's task: its indexes are the parts.
type own struct {
	Params
	rows    []*gemm.PackedRows // the weights of each group; nil if the layer always slides
	slides  slides             // the weights too, if the layer may slide
	strips  strips             // the task of a part that slides, for one part after the other
	workers *pool.Pool         // nil for none
	all     multiplier         // by all workers, for one part after the other
	each    []multiplier       // by one worker each, for parts at the same time
	copies  copies             // a part in the inputs of each

	// Of a call.
	geometry geometry
	y, x     []float32
}

// multiplier computes one part at a time.
type multiplier struct {
	*gemm.Multiplier
	slider gemm.Slider
	input  arranged
	_      [64]byte // keeps workers off each other's cache line
}

func newOwn(p Params) kernels.Runner { return newOwnParallel(p, nil) }

func newOwnParallel(p Params, workers *pool.Pool) kernels.Runner {
	o := &own{Params: p, workers: workers}
	o.all.Multiplier = gemm.NewSerial()
	if workers != nil {
		o.all.Multiplier = gemm.NewParallel(workers)
		o.each = make([]multiplier, workers.Workers())
		for i := range o.each {
			o.each[i].Multiplier = gemm.NewSerial()
		}
	}
	o.strips.own, o.copies.own = o, o
	g := p.geometry(1, 1)
	if g.out <= gemm.SliderRows() {
		o.slides = newSlides(&p)
	}
	if g.slides() {
		return o
	}
	for group := range p.Groups {
		o.rows = append(o.rows, gemm.PackRows(p.weightsOf(group), p.Out/p.Groups, p.terms(), p.biasesOf(group)))
	}
	return o
}

const (
	// leastSliding is the least number of outputs in a row of a layer that slides and might not.
	leastSliding = 2 * panelColumns
	// leastSlide is the least number of products in a row of outputs for a row of a kernel of such a layer, and slideEach the same
	// for each output of a group. On one core of an EPYC of family 25, layers of 1 to 64 channels to one of 4 outputs took 0.3 to 0.6
	// of the time of products with 100 to 4000 outputs in a row by 3 to 16 weights, to one of 12 outputs 0.5 to 0.9 with 600 and
	// more, and 0.6 to 1.3 with 100. 40 outputs by 2 weights took up to 1.9 times as long.
	leastSlide, slideEach = 192, 48
)

// sliding reports whether the layer of a call slides.
func (o *own) sliding() bool {
	g := &o.geometry
	return o.rows == nil ||
		o.slides.weights != nil && g.outWidth >= leastSliding && g.outWidth*g.kernel.Width >= max(leastSlide, slideEach*g.out)
}

// narrow reports whether the panels of the unrolled matrix have outputs of more than one row each.
func (o *own) narrow() bool {
	return !o.sliding() && o.geometry.outWidth < panelColumns && o.geometry.outHeight > 1
}

// products is the number of multiplications that take about a microsecond.
const products = 1 << 15

// Run computes a call.
func (o *own) Run(s kernels.Shape, a *kernels.Args) error {
	o.geometry, o.y, o.x = o.at(s), a[0], a[1]
	if o.together() {
		each, parts := float64(o.geometry.out)*float64(o.geometry.terms())*float64(o.geometry.positions()), o.geometry.parts()
		for i := range o.each {
			o.each[i].input.reserve(o.geometry, o.narrow())
		}
		o.workers.Run(parts, o.workers.Grain(parts, products/each, 1), o)
	} else {
		for part := range o.geometry.parts() {
			o.part(&o.all, part, o.workers)
		}
	}
	o.y, o.x = nil, nil
	return nil
}

// together reports whether parts are computed at the same time: none of the workers waits long for the last part.
func (o *own) together() bool {
	if o.workers == nil || o.geometry.parts() == 1 {
		return false
	}
	n := len(o.each)
	if o.sliding() {
		return o.geometry.parts() >= n
	}
	return o.geometry.parts()%n == 0 || o.geometry.parts() >= 4*n
}

// Do computes the parts from lo to hi−1.
func (o *own) Do(worker, lo, hi int) {
	for part := lo; part < hi; part++ {
		o.part(&o.each[worker], part, nil)
	}
}

// part computes a part. workers arrange it; they may be nil.
func (o *own) part(by *multiplier, part int, workers *pool.Pool) {
	g, group := &o.geometry, part%o.geometry.groups
	x, y := g.read(o.x, part), g.written(o.y, part)
	if workers != nil && o.copies.begin(x) {
		if o.sliding() {
			o.slide(by, y, group, workers)
		} else {
			by.MultiplyComputed(y, o.rows[group], &o.copies, g.positions())
		}
		o.copies.x = nil
		return
	}
	by.input.arrange(*g, o.narrow(), x, workers)
	if o.sliding() {
		o.slide(by, y, group, workers)
	} else {
		by.MultiplyComputed(y, o.rows[group], &by.input, g.positions())
	}
	by.input.forget()
}

// slide computes a part that slides from its arranged input, or from copies if there are any. workers may be nil.
func (o *own) slide(by *multiplier, y []float32, group int, workers *pool.Pool) {
	g := &o.geometry
	count := g.outHeight * ceilDiv(g.outWidth, stripColumns)
	if workers == nil {
		for strip := range count {
			o.slides.strip(y, &by.slider, &by.input, group, o.biasesOf(group), strip)
		}
		return
	}
	o.strips.y, o.strips.group = y, group
	if o.copies.x == nil {
		o.strips.input = &by.input
	}
	each := float64(g.out) * float64(g.terms()) * float64(min(g.outWidth, stripColumns))
	workers.Run(count, workers.Grain(count, products/each, 1), &o.strips)
	o.strips.input, o.strips.y = nil, nil
}

// slides are the weights of a layer whose groups have few outputs each. In a row of a kernel, those whose values of x lie at the
// same distance from each other in an arranged row come one after the other. Those of the outputs of a group alternate.
type slides struct {
	weights []float32
	runs    []slide
	step    int // values of an arranged row from one weight of a run to the next
	each    int // weights of an output
	outputs int // of a group
}

// slide is a run of weights in a row of the kernel.
type slide struct {
	column int // of its first weight
	at, to int // its weights within those of the row
}

func newSlides(p *Params) slides {
	width, stride, dilation := p.Kernel.Width, p.Stride.Width, p.Dilation.Width
	common := gcd(stride, dilation)
	apart := stride / common // columns of the kernel from one weight of a run to the next
	s := slides{step: dilation / common, each: p.terms(), outputs: p.Out / p.Groups, weights: make([]float32, len(p.Weights))}
	place := func(row, i int) int { // of weight i of the row of a kernel that begins at row
		output, l := row/s.each, row%s.each+i
		return output/s.outputs*s.outputs*s.each + l*s.outputs + output%s.outputs
	}
	at := 0
	for column := range min(width, apart) {
		run := slide{column: column, at: at, to: at + ceilDiv(width-column, apart)}
		for row := 0; row < len(p.Weights); row += width {
			for i := run.at; i < run.to; i++ {
				s.weights[place(row, i)] = p.Weights[row+column+(i-run.at)*apart]
			}
		}
		s.runs = append(s.runs, run)
		at = run.to
	}
	return s
}

// stripColumns is the number of outputs in a strip, a multiple of a panel's. Those of a group, 24 KiB at most, stay in the nearest
// cache while the weights slide.
const stripColumns = 32 * panelColumns

// strip computes a strip of the outputs of a group from its arranged input: some columns of a row of each output. The strips
// are numbered row by row.
func (s *slides) strip(y []float32, by *gemm.Slider, a *arranged, group int, biases []float32, strip int) {
	weights, width, positions := s.weights[group*s.outputs*s.each:][:s.outputs*s.each], a.kernel.Width, a.positions()
	across := ceilDiv(a.outWidth, stripColumns)
	i, first := strip/across, strip%across*stripColumns
	n := min(stripColumns, a.outWidth-first)
	y = y[i*a.outWidth+first:]
	for o, bias := range biases {
		gemm.Fill(y[o*positions:][:n], bias)
	}
	for t := (term{}); len(weights) > 0; t.skip(&a.geometry, width) {
		x := a.values[a.kernelRow(t)+i*a.stride.Height*a.row()+first:]
		for _, run := range s.runs {
			by.Add(y, positions, n, weights[run.at*s.outputs:run.to*s.outputs], s.outputs, x[a.columns[run.column]:], s.step)
		}
		weights = weights[width*s.outputs:]
	}
}

// strips are a part that workers slide along together. It is the pool's task: its indexes are the strips.
type strips struct {
	own   *own
	input *arranged // nil for copies
	y     []float32
	group int
}

// Do computes the strips from lo to hi−1.
func (s *strips) Do(worker, lo, hi int) {
	input := s.input
	if input == nil {
		input = s.own.copies.of(worker)
	}
	for strip := lo; strip < hi; strip++ {
		s.own.slides.strip(s.y, &s.own.each[worker].slider, input, s.group, s.own.biasesOf(s.group), strip)
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// blockValues is the number of values of the unrolled matrix, 1 MiB, that a library multiplies at a time.
const blockValues = 256 << 10

// library multiplies by a library, which gets the unrolled matrix in blocks, one part after the other. One thread unrolls.
type library struct {
	Params
	input    arranged
	unrolled []float32
	// multiply adds to C, which is m×n with rows ldc values apart, the product of the m×k matrix A and the k×n matrix B.
	multiply func(m, n, k int, a, b, c []float32, ldc int)
}

func newBLAS(p Params, threads int) kernels.Runner {
	return &library{Params: p, multiply: func(m, n, k int, a, b, c []float32, ldc int) {
		openblas.Gemm(threads, false, false, m, n, k, 1, a, k, b, n, 1, c, ldc)
	}}
}

// newFramework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func newFramework(p Params) (kernels.Runner, error) {
	return &library{Params: p, multiply: func(m, n, k int, a, b, c []float32, ldc int) {
		accelerate.GemmInto(false, false, m, n, k, 1, a, b, 1, c, ldc)
	}}, nil
}

// Run computes a call.
func (b *library) Run(s kernels.Shape, a *kernels.Args) error {
	g := b.at(s)
	n := g.positions()
	for part := range g.parts() {
		y, x, group := g.written(a[0], part), g.read(a[1], part), part%g.groups
		for o, bias := range b.biasesOf(group) {
			gemm.Fill(y[o*n:][:n], bias)
		}
		b.input.arrange(g, false, x, nil)
		weights := b.weightsOf(group)
		if g.kernel == Both(1) && g.stride == Both(1) && g.padding == (Pair{}) { // the unrolled matrix is x
			b.multiply(g.out, n, g.in, weights, x, y, n)
		} else {
			b.blocks(g, weights, y)
		}
		b.input.forget()
	}
	return nil
}

// blocks unrolls and multiplies one block of columns after the other.
func (b *library) blocks(g geometry, weights, y []float32) {
	n, k := g.positions(), g.terms()
	most := min(n, max(1, blockValues/k))
	if len(b.unrolled) < most*k {
		b.unrolled = make([]float32, most*k)
	}
	for first := 0; first < n; first += most {
		count := min(most, n-first)
		b.input.unroll(b.unrolled, first, count)
		b.multiply(g.out, count, k, weights, b.unrolled[:count*k], y[first:], n)
	}
}
