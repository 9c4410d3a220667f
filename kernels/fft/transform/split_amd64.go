package transform

import "crossover/pool"

// From these lengths on, several cores are faster than one, although they must be woken three or four times for a transform.
// Sixteen cores of a Xeon are 2.2 times as fast as one at parallelLength. Two cores of an EPYC take 1.3 to 1.4 times as long
// as one at parallelLength, and 1.1 times as long at 96 000 and 108 000 samples. They are 1.1 to 1.2 times as fast at 116
// 640 to 135 000 samples, and 1.6 times at 262 144.
const (
	parallelLength    = 1 << 16
	parallelLengthFew = 112_000 // with at most fewWorkers
	fewWorkers        = 3
)

// Splits reports whether NewSplit can divide transforms on this processor.
func Splits() bool { return haveLanes }

// split is one forward real transform on the workers of a pool. Each stage is a parallel loop. Most passes share a stage,
// because vectors that another worker has written are slow to load. If the length allows eight blocks, these are independent
// transforms after the first pass. Otherwise the columns of a grid are the independent transforms.
type split struct {
	t       *laneReal
	pool    *pool.Pool
	stage   stage
	blocks  *lanes        // nil if there is a grid
	grid    *grid         // nil if there are blocks
	scratch []gridScratch // one for each worker
	dst     []complex64
	src     []float32
}

type stage int

const (
	firstPass stage = iota
	blockPasses
	acrossLanes
	gridColumns
	acrossGrid
	untangling
)

// NewSplit returns a transform of length n on the workers of a pool. It returns nil if dividing would not pay, if n is odd
// or has a prime factor above 5, or if Splits is false.
func NewSplit(n int, p *pool.Pool) Split {
	least := parallelLength
	if p.Workers() <= fewWorkers {
		least = parallelLengthFew
	}
	if n < least || p.Workers() == 1 || n%2 != 0 {
		return nil
	}
	if blocks := newLanes(n/2, 8); blocks != nil {
		return &split{t: newLaneRealBy(blocks, n), pool: p, blocks: blocks}
	}
	if width, _ := gridWidth(n / 2); haveLanes && width > 0 {
		return newGridSplit(newGrid(n/2, width), p)
	}
	return nil
}

// newGridSplit returns the real transform of 2·g.n samples.
func newGridSplit(g *grid, p *pool.Pool) *split {
	s := &split{t: newLaneRealBy(g, 2*g.n), pool: p, grid: g}
	for range p.Workers() {
		s.scratch = append(s.scratch, g.newScratch())
	}
	return s
}

// Forward does what Real.Forward does.
func (s *split) Forward(dst []complex64, src []float32) {
	s.dst, s.src = dst, src
	if s.grid != nil {
		s.run(gridColumns, eights(s.grid.width), 1)
		s.run(acrossGrid, s.gridSteps(), 1)
	} else {
		s.run(firstPass, s.blocks.passes[0].m, 32)
		s.run(blockPasses, s.blocks.blocks, 1)
		s.run(acrossLanes, s.blocks.groups(), 16)
	}
	s.t.wrap()
	s.untangle()
	s.dst, s.src = nil, nil
}

// gridSteps returns the number of steps of acrossGrid. A step is a group of eight k, but the last two groups are one step.
// They may overlap, and the values in both may differ in their last bits, so one worker must write them in order.
func (s *split) gridSteps() int { return max(1, eights(s.grid.m)-1) }

// untangle computes the bins of the real transform.
func (s *split) untangle() {
	groups := s.t.rows * s.t.groups
	if s.t.rows > 1 {
		s.run(untangling, groups, 64)
		s.t.middle(s.dst)
		return
	}
	// The last group writes some bins that the one before it writes too.
	s.run(untangling, groups-1, 64)
	s.t.untangle(s.dst, 0, groups-1, groups)
}

// run runs n steps of a stage. least steps take about half a microsecond.
func (s *split) run(stage stage, n, least int) {
	s.stage = stage
	s.pool.Run(n, s.pool.Grain(n, least, 1), s)
}

// Do computes steps lo to hi−1 of the current stage.
func (s *split) Do(worker, lo, hi int) {
	t := s.t
	switch s.stage {
	case firstPass:
		s.blocks.first(s.src, 0, lo, hi)
	case blockPasses:
		for b := lo; b < hi; b++ {
			s.blocks.block(b)
		}
	case acrossLanes:
		// If the last two groups overlap, both write the same bits.
		re, im := t.spectrum()
		s.blocks.splitGroups(re, im, t.pitch, lo, hi)
	case gridColumns:
		s.grid.columnGroups(s.src, 0, s.scratch[worker], lo, hi)
	case acrossGrid:
		if hi == s.gridSteps() {
			hi = eights(s.grid.m)
		}
		re, im := t.spectrum()
		s.grid.splitGroups(re, im, t.pitch, s.scratch[worker], lo, hi)
	case untangling:
		for lo < hi {
			row := lo / t.groups
			end := min(hi, (row+1)*t.groups)
			t.untangle(s.dst, row, lo-row*t.groups, end-row*t.groups)
			lo = end
		}
	}
}
