package stream

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"crossover/songs"
)

// slot is a route that takes turns.
type slot struct {
	songs.Entrant
	player  atomic.Pointer[player] // nil while the route is not ready
	unknown []string               // stages that the route leaves to a dispatcher that knows nothing of them

	compute, latency, each histogram
	blocks, underruns      int
}

// callback computes the blocks of all streams. All its fields but the atomic ones belong to the audio goroutine.
type callback struct {
	source *Source
	clock  clock
	start  time.Duration // when the first block is due
	slots  []*slot
	spare  *slot // on the processor, for when streams stay off the GPU
	order  []int // of the slots that take turns, in this round
	next   int   // of order
	rng    *rand.Rand
	guard  *Guard // may be nil
	fast   bool
	notes  *journal // nil without faults

	output []float32 // sum of all streams
	end    func(output []float32)

	using   atomic.Pointer[player] // that has the state of the streams
	settled bool                   // and so has the spare one, if it needs it
	done    atomic.Uint64          // blocks that are over
	wake    histogram
	skipped int // underruns that were not computed
	failure error
	silent  int // blocks of a stream that no implementation could compute
}

// due returns the time of a block, and its deadline is the time of the next one.
func (c *callback) due(block uint64) time.Duration {
	return c.start + time.Duration(float64(block)*float64(c.source.Block)/c.source.Rate*float64(time.Second))
}

// block waits for a block's time and computes the block.
func (c *callback) block(k uint64) {
	due, deadline := c.due(k), c.due(k+1)
	if !c.fast {
		c.clock.until(due)
	}
	begin := c.clock.now()
	s, p := c.choose()
	switch {
	case c.fast:
		due, deadline = begin, begin+deadline-due
	case begin >= deadline:
		c.skipped++ // no route's: the one before may have caused it, or the system
		if c.notes != nil {
			c.notes.skips(begin - c.start)
		}
		c.done.Add(1)
		return
	}
	c.wake.add(begin - due)
	turn := c.slots[c.order[c.next]]
	if c.notes != nil && turn.OnGPU {
		c.notes.begins(begin-c.start, s != turn)
	}
	if s != turn && turn.OnGPU && turn.player.Load() != nil && c.guard.Away() == 0 {
		c.guard.hangs() // in a block before, which may have begun so late that it said nothing of the GPU
	}
	c.turn(p)
	c.settled = false
	c.source.Fill(p.inputs, k)
	inTime := p.within(c.clock, k, begin+c.patience(deadline-begin))
	if !inTime {
		c.guard.onGPU(c.clock.now()-begin, begin-due > (deadline-due)/4) // a block that began late left the GPU little time
		p = c.spare.player.Load()                                        // which is where the other one was before the block
		c.using.Store(p)
		c.source.Fill(p.inputs, k)
		p.compute(c.clock)
	}
	c.collect(s, p)
	over := c.clock.now()
	s.blocks++
	s.compute.add(over - begin)
	s.latency.add(over - due)
	if over > deadline {
		s.underruns++
	}
	if inTime && c.guard != nil && s.OnGPU {
		c.guard.onGPU(over-begin, true)
	}
	if c.end != nil {
		c.end(c.output)
	}
	if c.notes != nil {
		c.notes.ends(over-c.start, over-due, over > deadline, c.output)
	}
	c.next++
	_, next := c.choose()
	c.turn(next) // before the next block's time, so that taking turns does not count
	c.done.Add(1)
}

// patience returns how long the audio goroutine waits for a helper, of the time that is left until the deadline. The spare player
// gets twice the time that it usually takes, and a millisecond, by which Go's timers may be late. But the GPU gets half of the time.
func (c *callback) patience(left time.Duration) time.Duration {
	if c.guard == nil {
		return left
	}
	return max(left/2, left-2*c.guard.processor-time.Millisecond)
}

// collect adds up what a player has computed.
func (c *callback) collect(s *slot, p *player) {
	clear(c.output)
	for i, one := range p.pipelines {
		s.each.add(p.took[i])
		if err := p.errors[i]; err != nil {
			c.silent++
			if c.failure == nil {
				c.failure = err
			}
			continue
		}
		for i, v := range one.Floats(c.source.Output) {
			c.output[i] += v
		}
	}
}

// choose returns the slot whose turn it is, or the spare one if streams stay off the GPU.
func (c *callback) choose() (*slot, *player) {
	if c.next == len(c.order) {
		c.next = 0
		for i := len(c.order) - 1; i > 0; i-- {
			j := c.rng.IntN(i + 1)
			c.order[i], c.order[j] = c.order[j], c.order[i]
		}
	}
	s := c.slots[c.order[c.next]]
	p := s.player.Load()
	if p == nil || s.OnGPU && c.guard != nil && (c.guard.Away() != 0 || !p.free()) {
		s = c.spare
		p = s.player.Load()
	}
	return s, p
}

// turn makes a player go on where the one before is. If a helper computes for it, the spare one goes on there, too, in case that the
// helper is late.
func (c *callback) turn(p *player) {
	before := c.using.Load()
	if before == p && c.settled {
		return
	}
	if before != nil {
		c.goOn(p, before)
		if p.helper != nil {
			c.goOn(c.spare.player.Load(), before)
		}
	}
	c.using.Store(p)
	c.settled = true
}

func (c *callback) goOn(p, before *player) {
	if p == before {
		return
	}
	if err := p.goOn(before); err != nil && c.failure == nil {
		c.failure = err
	}
}
