package fft

import "crossover/pool"

// parallelLength is the length from which several cores may be worth waking four times for one transform: two cores
// break even about here and are 1.3 times as fast at twice the length.
const parallelLength = 1 << 16

// splitsOne says whether newSplit can succeed here at all.
func splitsOne() bool { return haveLanes }

// split is one forward real transform over the workers of a pool: each stage is a loop, and the blocks of the second
// one are transforms of their own.
type split struct {
	t     *laneReal
	pool  *pool.Pool
	stage stage
	dst   []complex64
	src   []float32
}

type stage int

const (
	firstPass stage = iota
	blockPasses
	acrossLanes
	untangling
)

// newSplit returns a transform of length n over the workers of a pool, or nil where it would not pay or the length
// does not fall into blocks.
func newSplit(n int, p *pool.Pool) rowTransform {
	if n < parallelLength || p.Workers() == 1 {
		return nil
	}
	t := newLaneReal(n, 8)
	if t == nil {
		return nil
	}
	return &split{t: t, pool: p}
}

// Forward does what Real.Forward does.
func (s *split) Forward(dst []complex64, src []float32) {
	s.dst, s.src = dst, src
	s.run(firstPass, s.t.half.passes[0].m, 32)
	s.run(blockPasses, s.t.half.blocks, 1)
	s.run(acrossLanes, s.t.half.groups(), 16)
	s.t.wrap()
	s.run(untangling, s.t.rows*s.t.groups, 64)
	s.t.middle(dst)
	s.dst, s.src = nil, nil
}

// run covers n steps of a stage, of which least take about half a microsecond.
func (s *split) run(stage stage, n, least int) {
	s.stage = stage
	s.pool.Run(n, s.pool.Grain(n, least, 1), s)
}

// Do computes steps lo to hi of the stage that is under way.
func (s *split) Do(_, lo, hi int) {
	t := s.t
	switch s.stage {
	case firstPass:
		t.half.first(s.src, 0, lo, hi)
	case blockPasses:
		for b := lo; b < hi; b++ {
			t.half.block(b)
		}
	case acrossLanes:
		re, im := t.spectrum()
		t.half.split(re, im, t.pitch, lo, hi)
	case untangling:
		for lo < hi {
			row := lo / t.groups
			end := min(hi, (row+1)*t.groups)
			t.untangle(s.dst, row, lo-row*t.groups, end-row*t.groups)
			lo = end
		}
	}
}
