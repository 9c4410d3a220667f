package sweeps

import (
	"context"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/timings"
)

const (
	// sentinelEvery is the time after which the sentinel is read before the next block.
	sentinelEvery = 20 * time.Millisecond
	// backOffs is the greatest number of waits for a quiet machine in a visit. No wait begins after the waits of a sweep
	// have taken waitingShare of the budget. If a machine is never quiet, disturbed blocks are worth more than none.
	backOffs     = 5
	waitingShare = 0.25
	// backOffFor is the longest wait, unless a tenth of the budget is less. Most disturbances of a virtual machine last no
	// longer.
	backOffFor = 10 * time.Second
)

// measurement takes the blocks of one visit.
type measurement struct {
	*sweep
	e         *entry
	size      int
	callables []*callable // that are still timed
	near      []*callable // those of them that are not hopelessly slow
	twin      *callable   // nil if there is none
	length    float64     // wanted duration of a batch of those that are near, in seconds

	asked    int // number of blocks that the visit was asked for
	wanted   int // the same, and the blocks that replace disturbed ones
	accepted int // number of blocks so far, with the pending ones
	quiet    int // number of undisturbed blocks since blocks were last thrown away
	waits    int // number of waits so far, and of blocks that were taken again after a garbage collection

	pending []timings.Block // blocks since the sentinel was last read, on which the next reading decides
	read    time.Duration   // when the sentinel was last read
}

// measure takes as many blocks as were asked for. If the budget ends it takes fewer, but at least two.
func (s *sweep) measure(ctx context.Context, e *entry, callables []*callable, twin *callable, size, blocks int) {
	m := &measurement{
		sweep: s, e: e, size: size, callables: callables, near: markBehind(callables), twin: twin,
		asked: blocks, wanted: blocks, read: s.Clock.Now(),
	}
	m.length = evenLength(m.near)
	for len(m.callables) > 0 {
		now := s.Clock.Now()
		over := now-s.start > s.Budget && m.accepted >= 2
		stop := ctx.Err() != nil || over || m.accepted >= m.wanted
		switch {
		case len(m.pending) > 0 && (stop || now-m.read >= sentinelEvery):
			m.judge(ctx) // and see again whether it is time to stop
		case stop || !m.take():
			return
		}
		m.tell("")
	}
}

// take takes the next blocks. It returns false if the visit is over.
func (m *measurement) take() bool {
	collections := m.collectionCount()
	blocks, failed, err := m.group(min(m.wanted-m.accepted, m.together()))
	if err != nil {
		return m.drop(failed, err)
	}
	// Before a cold call the sweep itself collects garbage, outside of the timed part.
	if m.State != Cold && m.collectionCount() != collections {
		m.e.result.Discarded.Collections += len(blocks)
		if m.waits < backOffs {
			m.waits++
			return true
		}
		m.e.degrade("garbage was collected during blocks again and again")
	}
	for _, b := range blocks {
		m.pending = append(m.pending, b)
		m.accepted++
		switch {
		case !b.Disturbed && !b.Crowded, m.e.drowsy: // if a GPU's clock is down, it would be down in another block too
			m.quiet++
		case !m.brief:
			m.wanted = min(m.wanted+1, 2*m.asked) // another block replaces this one
		}
	}
	return true
}

// drop handles a failure. The measurement goes on without the implementations that are no longer timed. drop returns false
// if the visit is over.
func (m *measurement) drop(failed *callable, err error) bool {
	m.fail(m.e, failed.implementation, m.size, err)
	if m.size <= m.e.floor {
		return false // the GPU was lost at a size at which it was timed, and pending blocks lack its times
	}
	var left []*callable
	for _, c := range m.callables {
		if c.live(m.size) {
			left = append(left, c)
		} else {
			m.pending = erase(m.pending, c.index, m.size)
		}
	}
	m.callables, m.near = left, markBehind(left)
	if m.twin != nil && !m.twin.live(m.size) {
		m.twin = nil // the visit releases it
	}
	return true
}

// judge reads the sentinel and decides on the pending blocks. Blocks of a quiet machine are kept. Other blocks are thrown
// away, and the sweep waits for a quiet machine. If the sweep may not wait any more, or if the budget has ended, they are
// kept and marked as disturbed.
func (m *measurement) judge(ctx context.Context) {
	switch {
	case m.sentinel.quiet():
		m.dropNeighbours()
		m.keep()
	case m.brief || m.waits == backOffs || m.waited.Seconds() > waitingShare*m.Budget.Seconds() || m.elapsed() > m.Budget:
		m.keepDisturbed()
	default:
		m.e.result.Discarded.Disturbed += len(m.pending)
		m.e.moved = m.sentinel.moved
		m.accepted -= len(m.pending)
		m.pending = m.pending[:0]
		m.quiet = 0
		m.wait(ctx)
	}
	m.read = m.Clock.Now()
}

// keep keeps the pending blocks.
func (m *measurement) keep() {
	if len(m.pending) > 0 {
		m.sentinel.keep()
	}
	for k := range m.pending {
		m.pending[k].Epoch = m.sentinel.epoch()
	}
	m.e.keep(m.pending, m.size)
	m.pending = m.pending[:0]
}

// dropNeighbours handles pending blocks that are disturbed although the sentinel found the machine quiet. It throws them
// away if the size has undisturbed blocks, because they then teach nothing. If all pending blocks are disturbed, it notes
// the reason.
func (m *measurement) dropNeighbours() {
	disturbed := func(b *timings.Block) bool { return b.Disturbed }
	alone := func(b timings.Block) bool { return !b.Disturbed }
	switch {
	case m.e.quietAt(m.size):
		m.pending = discard(m.pending, &m.e.result.Discarded.Neighbours, disturbed)
	case !slices.ContainsFunc(m.pending, alone):
		m.e.disturb(m.pending, m.e.why())
	}
}

// keepDisturbed keeps the pending blocks although the machine is not quiet. A clock that is off its baseline cancels in the
// ratios of a block. A disturbance that slows only parallel work does not cancel. Its blocks are thrown away if the size has
// undisturbed ones.
func (m *measurement) keepDisturbed() {
	if m.sentinel.culprit.slowerOnly && m.e.quietAt(m.size) {
		m.e.result.Discarded.Disturbed += len(m.pending)
		m.pending = m.pending[:0]
	}
	m.e.disturb(m.pending, m.sentinel.moved)
	m.keep()
}

// wait waits for a quiet machine. After a wait in vain, the visit does not wait again.
func (m *measurement) wait(ctx context.Context) {
	m.waits++
	m.tell("a quiet machine")
	if !m.backOff(ctx) {
		m.waits = backOffs
	}
}

// backOff waits for a quiet machine and reports whether the machine became quiet.
func (s *sweep) backOff(ctx context.Context) bool {
	start := s.Clock.Now()
	defer func() { s.waited += s.Clock.Now() - start }()
	rested := s.sentinel.backOff(ctx, s.patience.now)
	if rested {
		s.patience.rewarded()
	} else {
		s.patience.disappointed()
	}
	return rested
}

// collectionCount returns the number of garbage collections so far. It does not allocate.
func (s *sweep) collectionCount() uint64 {
	if s.Virtual {
		return 0
	}
	metrics.Read(s.collections[:])
	return s.collections[0].Value.Uint64()
}
