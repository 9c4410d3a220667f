package fft

import (
	"slices"

	"crossover/pool"
)

// parallelLength is the length from which several cores may be worth waking four times for one transform. Sixteen of a
// Xeon are 2.2 times as fast here. Two of an EPYC are not yet: they take 1.4 times as long as one, 1.2 times at 76 800
// samples, and are 1.6 times as fast at 262 144.
const parallelLength = 1 << 16

// parallelVectors is the number of vectors from which several cores are woken four times for a transform by columns,
// which exchange more than blocks do: 131 072 samples in eight lanes, 81 920 in five and parallelLength in fewer. Two
// cores of an EPYC take as long as one at about 7000 vectors, 1.1 to 1.4 times as long at 4000 to 6100, and 0.83 to 0.87
// times as long at 8748, which is 87 480 samples in five lanes and 139 968 in eight. At 8100 vectors, 129 600 samples,
// they were now slower and now faster.
const parallelVectors = 8192

// splitsOne says whether newSplit can succeed here at all.
func splitsOne() bool { return haveLanes }

// split is one forward real transform over the workers of a pool: each stage is a loop. Vectors that another worker has
// written come slowly, so most passes share a stage. Where the length falls into eight blocks, those are transforms of
// their own after the first pass. Elsewhere the first two passes go together, a position of the second one with those of
// the first one that it reads; they leave transforms interleaved, the columns, each of which goes through the other
// passes on its own.
type split struct {
	t     *laneReal
	pool  *pool.Pool
	stage stage
	// column holds the passes of a column, and scratch two buffers a worker for what is between them. They are nil where
	// there are blocks.
	column  []vectorPass
	scratch [][2][]float32
	dst     []complex64
	src     []float32
}

type stage int

const (
	firstPass stage = iota
	blockPasses
	firstTwoPasses
	columnPasses
	acrossLanes
	untangling
)

// newSplit returns a transform of length n over the workers of a pool, or nil where it would not pay or n is odd or
// has a prime factor above 5.
func newSplit(n int, p *pool.Pool) rowTransform {
	if n < parallelLength || p.Workers() == 1 {
		return nil
	}
	if t := newLaneReal(n, 8); t != nil {
		return &split{t: t, pool: p}
	}
	if t := newLaneReal(n, 1); t != nil && t.half.m >= parallelVectors {
		return newColumnSplit(t, p)
	}
	return nil
}

// newColumnSplit returns the transform t by columns. What does not fall into blocks has few factors of two, so that from
// parallelLength on there are four passes at least: two and those of a column, whose first and last are not the same.
func newColumnSplit(t *laneReal, p *pool.Pool) *split {
	s := &split{t: t, pool: p, column: slices.Clone(t.half.passes[2:])}
	columns := s.column[0].s
	for i := range s.column {
		s.column[i].s /= columns
	}
	s.column[0].srcStep = columns
	s.column[len(s.column)-1].dstStep = columns
	for range p.Workers() {
		front, back := twoBuffers(vectorFloats * t.half.m / columns)
		s.scratch = append(s.scratch, [2][]float32{front, back})
	}
	return s
}

// Forward does what Real.Forward does.
func (s *split) Forward(dst []complex64, src []float32) {
	s.dst, s.src = dst, src
	s.passes()
	s.run(acrossLanes, s.t.half.groups(), 16)
	s.t.wrap()
	s.untangle()
	s.dst, s.src = nil, nil
}

// passes runs every pass but the last step.
func (s *split) passes() {
	half := s.t.half
	if half.blocks > 1 {
		s.run(firstPass, half.passes[0].m, 32)
		s.run(blockPasses, half.blocks, 1)
		return
	}
	s.run(firstTwoPasses, half.passes[1].m, 4)
	s.run(columnPasses, half.passes[2].s, 1)
}

// doFirstTwo runs positions lo to hi of the second pass and what they need of the first one.
func (s *split) doFirstTwo(lo, hi int) {
	half := s.t.half
	second := &half.passes[1]
	for j := range second.radix {
		s.doFirst(second.m*j+lo, second.m*j+hi)
	}
	second.run(half.back, half.front, lo, hi)
}

// doFirst runs positions lo to hi of the first pass.
func (s *split) doFirst(lo, hi int) {
	half := s.t.half
	p := &half.passes[0]
	// The kernel reads eight values at a time, which are more than there are after the last few positions.
	end := p.m - 7/half.width
	if inside := min(hi, end); lo < inside {
		half.first(s.src, 0, lo, inside)
	}
	for i := max(lo, end); i < hi; i++ {
		dst, twiddles := half.front[vectorFloats*p.radix*i:], p.twiddles[2*(p.radix-1)*i:]
		p.first(dst, s.copied(i), twiddles, 1, 8, 0, 1, p.radix, 0)
	}
}

// copied returns what position i of the first pass reads, of the last two positions, with room for eight values in place
// of each width. It lies behind everything else in front, and each of the two has a place of its own there.
func (s *split) copied(i int) []float32 {
	half := s.t.half
	p := &half.passes[0]
	size := vectorFloats * p.radix
	room := half.front[len(half.front)-size*(p.m-i):][:size]
	for j := range p.radix {
		copy(room[vectorFloats*j:], s.src[2*half.width*(i+p.m*j):][:2*half.width])
	}
	return room
}

// doColumn runs the passes of column q, every vector of that number modulo the number of columns. It may end where it
// began, since no other column touches the same vectors.
func (s *split) doColumn(worker, q int) {
	half := s.t.half
	result, _ := half.vectors()
	src := half.back[vectorFloats*q:]
	for i := range s.column {
		dst := s.scratch[worker][i%2]
		if i == len(s.column)-1 {
			dst = result[vectorFloats*q:]
		}
		s.column[i].run(dst, src, 0, s.column[i].m)
		src = dst
	}
}

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
		t.half.first(s.src, 0, lo, hi)
	case blockPasses:
		for b := lo; b < hi; b++ {
			t.half.block(b)
		}
	case firstTwoPasses:
		s.doFirstTwo(lo, hi)
	case columnPasses:
		for q := lo; q < hi; q++ {
			s.doColumn(worker, q)
		}
	case acrossLanes:
		// Where the last two groups overlap, both write the same bits.
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
