//go:build amd64 || arm64

package transform

import "crossover/pool"

// From these numbers of real samples on, several cores are faster than one, although they must be woken three or four times
// for a transform. Sixteen and four cores of a Xeon take 0.84 and 0.97 times as long as one at parallelLength, 0.75 and 0.83 times
// at 44 100 samples, and 0.60 and 0.36 times at 65 536. At 24 000 samples both take 1.8 times as long. Two cores of an EPYC take 1.3
// to 1.4 times as long as one at 65 536 samples, and 1.1 times as long at 96 000 and 108 000. They are 1.1 to 1.2 times as fast at
// 116 640 to 135 000 samples, and 1.6 times at 262 144. A complex value counts as two samples.
const (
	parallelLength    = 1 << 15
	parallelLengthFew = 112_000 // with at most fewWorkers
	fewWorkers        = 3
)

// Splits reports whether NewSplit and NewComplexSplit can divide transforms on this processor.
func Splits() bool { return haveLanes }

// division is a complex transform on the workers of a pool. Each stage is a parallel loop. Most passes share a stage, because
// vectors that another worker has written are slow to load. If the length allows eight blocks, these are independent
// transforms after the first pass. Otherwise the columns of a grid are the independent transforms.
type division struct {
	pool    *pool.Pool
	stage   stage
	blocks  *lanes        // nil if there is a grid
	grid    *grid         // nil if there are blocks
	scratch []gridScratch // one for each worker
	length  int

	// Of the current call: the input of the first stages, and the rows or the values that the last one writes.
	src              []float32
	sign             uint32
	re, im           []float32
	pitch            int
	dst              []complex64 // nil if the last stage writes rows
	scaleRe, scaleIm float32
}

type stage int

const (
	firstPass stage = iota
	blockPasses
	acrossLanes
	gridColumns
	acrossGrid
)

// newDivision returns the transform of n complex values on the workers of a pool. It returns nil if dividing would not pay,
// if n has a prime factor above 7, or if Splits is false.
func newDivision(n int, p *pool.Pool) *division {
	least := parallelLength
	if p.Workers() <= fewWorkers {
		least = parallelLengthFew
	}
	if 2*n < least || p.Workers() == 1 {
		return nil
	}
	if blocks := newLanes(n, 8); blocks != nil {
		return &division{pool: p, blocks: blocks, length: n}
	}
	if width, _ := gridWidth(n); haveLanes && width > 0 {
		return newGridDivision(newGrid(n, width), p)
	}
	return nil
}

func newGridDivision(g *grid, p *pool.Pool) *division {
	d := &division{pool: p, grid: g, length: g.n}
	for range p.Workers() {
		d.scratch = append(d.scratch, g.newScratch())
	}
	return d
}

// transform returns the transform that is divided.
func (d *division) transform() laneTransform {
	if d.grid != nil {
		return d.grid
	}
	return d.blocks
}

// split computes the transform of interleaved src. Its results go to re and im: see laneTransform.
func (d *division) split(src, re, im []float32, pitch int) {
	d.src, d.re, d.im, d.pitch = src, re, im, pitch
	d.runAll()
}

// interleaved computes the transform of interleaved src. It flips the signs of imaginary parts if sign is signBit. Its
// results go to dst, with real and imaginary parts scaled.
func (d *division) interleaved(dst []complex64, src []float32, sign uint32, scaleRe, scaleIm float32) {
	d.dst, d.src, d.sign, d.scaleRe, d.scaleIm = dst, src, sign, scaleRe, scaleIm
	d.runAll()
}

func (d *division) runAll() {
	if d.grid != nil {
		d.run(gridColumns, eights(d.grid.width), 1)
		d.run(acrossGrid, d.gridSteps(), 1)
	} else {
		d.run(firstPass, d.blocks.passes[0].m, 32)
		d.run(blockPasses, d.blocks.blocks, 1)
		d.run(acrossLanes, d.blocks.groups(), 16)
	}
	d.src, d.dst, d.re, d.im, d.sign = nil, nil, nil, nil, 0
}

// gridSteps returns the number of steps of acrossGrid. A step is a group of eight k, but the last two groups are one step.
// They may overlap, and the values in both may differ in their last bits, so one worker must write them in order.
func (d *division) gridSteps() int { return max(1, eights(d.grid.m)-1) }

// run runs n steps of a stage. least steps take about half a microsecond.
func (d *division) run(stage stage, n, least int) {
	d.stage = stage
	d.pool.Run(n, d.pool.Grain(n, 2*float64(least), 1), d)
}

// Do computes steps lo to hi−1 of the current stage.
func (d *division) Do(worker, lo, hi int) {
	switch d.stage {
	case firstPass:
		d.blocks.first(d.src, d.sign, lo, hi)
	case blockPasses:
		for b := lo; b < hi; b++ {
			d.blocks.block(b)
		}
	case acrossLanes:
		// If the last two groups overlap, both write the same bits.
		if d.dst != nil {
			d.blocks.interleavedGroups(d.dst, d.scaleRe, d.scaleIm, lo, hi)
		} else {
			d.blocks.splitGroups(d.re, d.im, d.pitch, lo, hi)
		}
	case gridColumns:
		d.grid.columnGroups(d.src, d.sign, d.scratch[worker], lo, hi)
	case acrossGrid:
		if hi == d.gridSteps() {
			hi = eights(d.grid.m)
		}
		if d.dst != nil {
			d.grid.interleavedGroups(d.dst, d.scaleRe, d.scaleIm, d.scratch[worker], lo, hi)
		} else {
			d.grid.splitGroups(d.re, d.im, d.pitch, d.scratch[worker], lo, hi)
		}
	}
}

// complexSplit is a complex transform on the workers of a pool.
type complexSplit struct{ *division }

// NewComplexSplit returns a transform of n complex values on the workers of a pool. It returns nil if dividing would not pay,
// if n has a prime factor above 7, or if Splits is false.
func NewComplexSplit(n int, p *pool.Pool) ComplexSplit {
	if d := newDivision(n, p); d != nil {
		return complexSplit{d}
	}
	return nil
}

// Forward does what Complex.Forward does.
func (s complexSplit) Forward(dst, src []complex64) { s.interleaved(dst, floats(src), 0, 1, 1) }

// Inverse does what Complex.Inverse does.
func (s complexSplit) Inverse(dst, src []complex64) {
	scale := float32(1 / float64(s.length))
	s.interleaved(dst, floats(src), signBit, scale, -scale)
}

// split is a real transform on the workers of a pool, by a complex one of half the length.
type split struct {
	t    *laneReal
	half *division

	// The current loop before or after the complex transform.
	tangling bool
	bins     []complex64
}

// NewSplit returns a transform of n real samples on the workers of a pool. It returns nil if dividing would not pay, if n is
// odd or has a prime factor above 7, or if Splits is false.
func NewSplit(n int, p *pool.Pool) Split {
	if n%2 != 0 {
		return nil
	}
	if half := newDivision(n/2, p); half != nil {
		return newSplitBy(half)
	}
	return nil
}

// newSplitBy returns the real transform by a complex one of half the length.
func newSplitBy(half *division) *split {
	return &split{t: newLaneRealBy(half.transform(), 2*half.length), half: half}
}

// Forward does what Real.Forward does.
func (s *split) Forward(dst []complex64, src []float32) {
	t := s.t
	re, im := t.spectrum()
	s.half.split(src, re, im, t.pitch)
	t.wrap()
	s.bins, s.tangling = dst, false
	groups := t.rows * t.groups
	if t.rows > 1 {
		s.run(groups)
		t.middle(dst)
	} else {
		// The last group writes some bins that the one before it writes too.
		s.run(groups - 1)
		t.untangle(dst, 0, groups-1, groups)
	}
	s.bins = nil
}

// Inverse does what Real.Inverse does.
func (s *split) Inverse(dst []float32, src []complex64) {
	t := s.t
	s.bins, s.tangling = src, true
	s.run(t.tangled() - 1) // the last group writes some values that the one before it writes too
	t.tangle(src, t.tangled()-1, t.tangled())
	t.tangleEnds(src)
	s.bins = nil
	scale := t.inverseScale()
	s.half.interleaved(pairs(dst), t.half.input(), 0, scale, -scale)
}

// run runs n steps of a loop over groups of bins.
func (s *split) run(n int) { s.half.pool.Run(n, s.half.pool.Grain(n, 128, 1), s) }

// Do computes groups lo to hi−1.
func (s *split) Do(_, lo, hi int) {
	t := s.t
	if s.tangling {
		t.tangle(s.bins, lo, hi)
		return
	}
	for lo < hi {
		row := lo / t.groups
		end := min(hi, (row+1)*t.groups)
		t.untangle(s.bins, row, lo-row*t.groups, end-row*t.groups)
		lo = end
	}
}
