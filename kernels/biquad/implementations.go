package biquad

import (
	"math"

	"crossover/pool"
)

// lanes is the number of channels that one core filters side by side. A channel alone leaves the core waiting for the
// last state most of the time; a second one fills the wait. Four need more than the 16 registers of amd64 and were a
// quarter slower there than twice two (Go 1.26, AMD EPYC 9004).
const lanes = 2

type serial struct{ section }

func (e serial) process(state []state, dst, src []float32) {
	e.channels(state, dst, src, 0, len(state))
}

// parallel divides channels among the workers of the pool, and a single channel by a scan over time.
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
	if len(state) == 1 {
		e.scan.process(e.pool, &state[0], dst, src)
		return
	}
	t := &e.channels
	t.state, t.dst, t.src = state, dst, src
	e.pool.Run(len(state), min(lanes, (len(state)-1)/e.pool.Workers()+1), t)
	t.state, t.dst, t.src = nil, nil, nil
}

// eachChannel is the pool's task for several channels; its index is the channel.
type eachChannel struct {
	section
	state    []state
	dst, src []float32
}

func (t *eachChannel) Do(_, lo, hi int) { t.channels(t.state, t.dst, t.src, lo, hi) }

// minBlock is the shortest block, in samples, that scan gives to a worker. It is far below what pays: from which length on
// dividing pays is for a calibration to find, and it cannot find it where both implementations run the same code.
const minBlock = 16

// scan filters one channel on several workers. A block of samples maps the state at its beginning to the state at its
// end by an affine function, s ↦ Aᴸ·s + z, where A is the section's 2×2 state matrix, L the block's length and z the
// end state that the block reaches from silence. So with one block more than there are workers, the first pass runs
// every block but the last one, for its output where the beginning is known (the first block) and for z elsewhere; a
// few multiplications chain the end states; and the second pass runs every block but the first for its output. Each
// sample but those of the outer blocks is computed twice: w workers can gain (w+1)/2 at most.
//
// Source: G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990, section 1.4 (recurrences).
type scan struct {
	section
	dst, src []float32
	block    int
	end      []state // of every block but the last
	second   bool    // which pass
}

func (t *scan) process(p *pool.Pool, s *state, dst, src []float32) {
	blocks := min(len(t.end), len(src)/minBlock)
	if blocks < 3 { // nothing to gain: two blocks are two passes of half the work
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

// Do runs blocks lo to hi−1 in the first pass and, in the second one, the blocks after them from the state at their
// ends, which it then moves on: nobody else needs it.
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

// state is what a channel remembers.
type state struct{ s1, s2 float64 }

// settle zeroes a state that has decayed to nothing.
func (s *state) settle() {
	const silence = 1e-30
	if math.Abs(s.s1) < silence && math.Abs(s.s2) < silence {
		*s = state{}
	}
}
