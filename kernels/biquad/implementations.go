package biquad

import (
	"math"

	"crossover/pool"
)

type serial struct{ section }

func (e serial) process(state []state, dst, src []float32) {
	e.channels(state, dst, src, 0, len(state))
}

// parallel divides channels among the workers of the pool, or each channel by a scan over time if there are few of them.
type parallel struct {
	pool     *pool.Pool
	channels eachChannel
	scan     scan
}

func newParallel(p *pool.Pool, s section) *parallel {
	e := &parallel{pool: p, channels: eachChannel{section: s}, scan: scan{section: s}}
	e.scan.end = make([]state, p.Workers()+1)
	return e
}

func (e *parallel) process(state []state, dst, src []float32) {
	if n := len(src) / len(state); e.overTime(len(state), n) {
		for c := range state {
			e.scan.process(e.pool, &state[c], dst[c*n:(c+1)*n], src[c*n:(c+1)*n])
		}
		return
	}
	t := &e.channels
	t.state, t.dst, t.src = state, dst, src
	unit, aboutAMicrosecond := 2, 1024.0 // channels and samples
	if byVectors(len(state), len(src)/len(state)) {
		unit, aboutAMicrosecond = lanes, 2048
	}
	e.pool.Run(len(state), e.pool.Grain(len(state), aboutAMicrosecond*float64(len(state))/float64(len(src)), unit), t)
	t.state, t.dst, t.src = nil, nil, nil
}

// overTime reports whether a number of channels of n samples each should be scanned one after the other. Otherwise every worker
// filters some channels from end to end. A worker takes the channels of a vector in the time of one, and a scan computes two
// blocks in a row. So a scan of so many channels that a worker needs several vectors never takes less time.
func (e *parallel) overTime(channels, n int) bool {
	const invitations = 2048 // samples that one core filters while the workers are invited twice
	if channels == 1 {
		return true
	}
	blocks := e.scan.blocks(n)
	return blocks >= leastBlocks && channels*(2*n/blocks+invitations) < n
}

// eachChannel is the pool's task for several channels, with an index for each channel.
type eachChannel struct {
	section
	state    []state
	dst, src []float32
}

func (t *eachChannel) Do(_, lo, hi int) { t.channels(t.state, t.dst, t.src, lo, hi) }

// minBlock is the length of the shortest block, in samples, that scan gives to a worker: about a microsecond of work.
const minBlock = 256

// leastParallel is the number of samples from which on a channel is scanned. Two passes over fewer of them take longer than
// one core on two cores that are far apart.
const leastParallel = 32 * minBlock

// leastBlocks is the least number of blocks that pay. Two would gain nothing, since each of the two passes would run one block.
const leastBlocks = 3

// scan filters one channel on several workers. A block of samples maps the state at its beginning to the state at its end by
// an affine function, s ↦ Aᴸ·s + z. Here A is the section's 2×2 state matrix, L the length of the block, and z the end state
// that the block reaches from silence. There is one block more than there are workers. The first pass computes the output of
// the first block, and z of all others but the last. A few multiplications then give the end states of the blocks. The
// second pass computes the output of all blocks but the first. All samples except those of the first and the last block are
// computed twice, so w workers are at most (w+1)/2 times as fast as one.
//
// Source: G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990, section 1.4 (recurrences).
type scan struct {
	section
	dst, src []float32
	block    int
	end      []state // of every block but the last
	second   bool    // which pass
}

// blocks returns the number of blocks into which n samples are cut.
func (t *scan) blocks(n int) int {
	if n < leastParallel {
		return 1
	}
	return min(len(t.end), n/minBlock)
}

func (t *scan) process(p *pool.Pool, s *state, dst, src []float32) {
	blocks := t.blocks(len(src))
	if blocks < leastBlocks {
		t.one(s, dst, src)
		return
	}
	t.dst, t.src, t.block = dst, src, (len(src)-1)/blocks+1
	blocks = (len(src)-1)/t.block + 1

	clear(t.end)
	t.end[0] = *s
	t.second = false
	p.Run(blocks-1, 1, t)

	turn := t.turn()
	e1, e2 := t.around(turn)
	m := power(turn, e1, e2, t.block)
	for i := 1; i < blocks-1; i++ {
		s, z := t.end[i-1].turned(turn), t.end[i].turned(turn)
		t.end[i] = state{m[0]*s.s1 + m[1]*s.s2 + z.s1, m[2]*s.s1 + m[3]*s.s2 + z.s2}.back(turn)
	}

	t.second = true
	p.Run(blocks-1, 1, t)
	*s = t.end[blocks-2]
	t.dst, t.src = nil, nil
}

// Do runs the blocks from lo to hi−1 in the first pass. In the second pass it runs the block after each of them, from the
// state at its end. It overwrites that state, which nobody else needs.
func (t *scan) Do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		switch {
		case t.second:
			from, to := (i+1)*t.block, min((i+2)*t.block, len(t.src))
			t.one(&t.end[i], t.dst[from:to], t.src[from:to])
		case i == 0:
			t.one(&t.end[0], t.dst[:t.block], t.src[:t.block])
		default:
			t.advance(&t.end[i], t.src[i*t.block:(i+1)*t.block])
		}
	}
}

// state is the state of a channel.
type state struct{ s1, s2 float64 }

// settle zeroes a state that has decayed to nothing.
func (s *state) settle() {
	const silence = 1e-30
	if math.Abs(s.s1) < silence && math.Abs(s.s2) < silence {
		*s = state{}
	}
}
