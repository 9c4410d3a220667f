package sweeps

import (
	"context"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/timings"
)

const (
	// sentinelEvery is how much time may pass between two sentinel readings.
	sentinelEvery = 20 * time.Millisecond
	// backOffs bounds the waits for a quiet machine, a visit, and waitingShare their share of the budget: where the clock
	// never rests, blocks are worth more than quiet. One of them takes backOffFor at most, which is as long as what
	// disturbs a virtual machine mostly lasts, and no more than a tenth of the budget.
	backOffs     = 5
	waitingShare = 0.25
	backOffFor   = 10 * time.Second
)

// measurement takes the blocks of one visit.
type measurement struct {
	*sweep
	e         *entry
	size      int
	callables []*callable // that are still timed
	near      []*callable // those of them that are not hopelessly behind
	twin      *callable   // nil where there is none
	length    float64     // that batches of those that are near should have, in seconds

	asked    int // blocks that the visit was to take
	wanted   int // blocks, those in the place of disturbed ones included
	accepted int // blocks so far, the pending ones included
	quiet    int // blocks so far of a quiet machine, in a row
	waits    int // so far

	pending []timings.Block // taken since the sentinel's last reading, which says nothing of them yet
	read    time.Duration   // when that was
}

// measure takes blocks: as many as were asked for, fewer where the budget ends.
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

// take takes the next blocks. It reports false where the visit is over.
func (m *measurement) take() bool {
	collections := m.collectionCount()
	blocks, failed, err := m.group(min(m.wanted-m.accepted, m.together()))
	if err != nil {
		return m.drop(failed, err)
	}
	// A cold call collects before it begins.
	if m.State != Cold && m.collectionCount() != collections {
		m.e.result.Discarded.Collections += len(blocks)
		if m.waits < backOffs {
			m.waits++
			return true
		}
		m.e.degrade("garbage collections kept falling into the blocks")
	}
	for _, b := range blocks {
		m.pending = append(m.pending, b)
		m.accepted++
		if (b.Disturbed || b.Crowded) && !m.e.drowsy { // else another one would be as drowsy
			m.wanted = min(m.wanted+1, 2*m.asked) // another one in its place
		} else {
			m.quiet++
		}
	}
	return true
}

// drop deals with a failure, and goes on without whatever is not timed any more. It reports false where that ends the
// visit.
func (m *measurement) drop(failed *callable, err error) bool {
	m.fail(m.e, failed.implementation, m.size, err)
	if m.size <= m.e.floor {
		return false // the GPU was lost where it was timed: what is pending tells half of it
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

// judge reads the sentinel and decides by it about the pending blocks. Those of a quiet machine are kept. The others are
// thrown away and the sweep waits for a quiet machine, as long as it may wait and the budget lasts; then they are kept as
// disturbed ones.
func (m *measurement) judge(ctx context.Context) {
	switch {
	case m.sentinel.quiet():
		m.dropNeighbours()
		m.keep()
	case m.Brief || m.waits == backOffs || m.waited.Seconds() > waitingShare*m.Budget.Seconds() || m.elapsed() > m.Budget:
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

// dropNeighbours throws away the pending blocks beside a neighbour where the size has others: then they teach nothing.
func (m *measurement) dropNeighbours() {
	disturbed := func(b timings.Block) bool { return b.Disturbed }
	alone := func(b timings.Block) bool { return !b.Disturbed }
	switch {
	case m.e.quietAt(m.size):
		m.pending = discard(m.pending, &m.e.result.Discarded.Neighbours, disturbed)
	case !slices.ContainsFunc(m.pending, alone):
		m.e.disturb(m.pending, m.e.why())
	}
}

// keepDisturbed keeps the pending blocks although the machine is not quiet. A clock that is off cancels in the ratios of a
// block. What only slows parallel work does not, and what is known already is better.
func (m *measurement) keepDisturbed() {
	if m.sentinel.culprit.slowerOnly && m.e.quietAt(m.size) {
		m.e.result.Discarded.Disturbed += len(m.pending)
		m.pending = m.pending[:0]
	}
	m.e.disturb(m.pending, m.sentinel.moved)
	m.keep()
}

// wait waits for a quiet machine. Where it does not come, this visit waits no more.
func (m *measurement) wait(ctx context.Context) {
	m.waits++
	m.tell("a quiet machine")
	if !m.backOff(ctx) {
		m.waits = backOffs
	}
}

// backOff waits for a quiet machine and reports whether it came.
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

// collectionCount returns how many garbage collections there have been. It does not allocate.
func (s *sweep) collectionCount() uint64 {
	if s.Uncollected {
		return 0
	}
	metrics.Read(s.collections[:])
	return s.collections[0].Value.Uint64()
}
