package transform

import "crossover/pool"

// The length from which several cores are worth waking three or four times for one transform. Sixteen cores of a Xeon are
// 2.2 times as fast at parallelLength. Two of an EPYC take 1.3 to 1.4 times as long as one there, 1.1 times at 96 000 and
// 108 000 samples, and are 1.1 to 1.2 times as fast at 116 640 to 135 000, 1.6 times at 262 144.
const (
	parallelLength    = 1 << 16
	parallelLengthFew = 112_000 // where there are no more than fewWorkers
	fewWorkers        = 3
)

// Splits says whether NewSplit can succeed here at all.
func Splits() bool { return haveLanes }

// split is one forward real transform over the workers of a pool: each stage is a loop. Vectors that another worker has
// written come slowly, so most passes share a stage. Where the length falls into eight blocks, those are transforms of
// their own after the first pass. Elsewhere the columns of a grid are.
type split struct {
	t       *laneReal
	pool    *pool.Pool
	stage   stage
	blocks  *lanes        // nil where there is a grid
	grid    *grid         // nil where there are blocks
	scratch []gridScratch // one a worker
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

// NewSplit returns a transform of length n over the workers of a pool, or nil where it would not pay or n is odd or
// has a prime factor above 5.
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

// newGridSplit returns the transform of twice as many samples as the grid has values.
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

// gridSteps returns the number of steps of acrossGrid, groups of eight k. The last group has a step with the one before,
// since the values that are in both differ in their last bits.
func (s *split) gridSteps() int { return max(1, eights(s.grid.m)-1) }

// untangle makes the bins of the real transform.
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

// run covers n steps of a stage, of which least take about half a microsecond.
func (s *split) run(stage stage, n, least int) {
	s.stage = stage
	s.pool.Run(n, s.pool.Grain(n, least, 1), s)
}

// Do computes steps lo to hi of the stage that is under way.
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
		// Where the last two groups overlap, both write the same bits.
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
