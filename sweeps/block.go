package sweeps

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"crossover/timings"
)

// turn is one batch: of one implementation, or of the twin, in one of several blocks.
type turn struct {
	block int
	c     *callable
}

// sharedWaking is the greatest number of blocks that share one waking of the GPU. sharedFor is about how long they may take
// together. Drift of the machine cancels in a block only if it is slower than that.
const (
	sharedWaking = 5
	sharedFor    = 250 * time.Millisecond
)

// together returns the number of blocks that are taken together. It is one, unless each block would have to wake a GPU.
func (m *measurement) together() int {
	processors, gpus := bySide(m.callables)
	if len(processors) == 0 || len(gpus) == 0 || !m.waking.falls() {
		return 1
	}
	seconds := 0.0
	for _, c := range m.callables {
		seconds += max(c.seconds*float64(c.iterations), settleFor.Seconds()+m.length)
	}
	return max(1, min(sharedWaking, int(sharedFor.Seconds()/seconds)))
}

// timedIn returns what is timed in the k-th of the next blocks, in random order.
func (m *measurement) timedIn(k int) []*callable {
	order := slices.Clone(m.callables)
	if m.quiet+k >= m.e.costs.hopelessBlocks {
		order = slices.Clone(m.near)
	}
	if m.twin != nil {
		order = append(order, m.twin)
	}
	m.e.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// turns returns the order of the batches of n blocks. Each block has its callables in random order. Raising the clock of a
// GPU takes as long as dozens of batches. So blocks that are taken together have their turns on the GPU first, one block
// after the other, while its clock is up, and then those on the processor.
func (m *measurement) turns(n int) (turns []turn) {
	if n == 1 {
		for _, c := range m.timedIn(0) {
			turns = append(turns, turn{0, c})
		}
		return turns
	}
	var processors, gpus []turn
	for k := range n {
		onProcessor, onGPU := bySide(m.timedIn(k))
		for _, c := range onProcessor {
			processors = append(processors, turn{k, c})
		}
		for _, c := range onGPU {
			gpus = append(gpus, turn{k, c})
		}
	}
	return append(gpus, processors...)
}

// group takes n blocks together. Every implementation and the twin are timed once in each block. If a call fails, group
// returns the callable and the error.
func (m *measurement) group(n int) (blocks []timings.Block, failed *callable, err error) {
	blocks = make([]timings.Block, n)
	for k := range blocks {
		blocks[k] = timings.Block{
			Size: m.size, Visit: m.e.visits, Twin: -1,
			Seconds:    make([]float64, len(m.e.implementations)),
			Iterations: make([]int, len(m.e.implementations)),
		}
		for i := range blocks[k].Seconds {
			blocks[k].Seconds[i] = math.NaN()
		}
	}
	begun := make([]int, n) // number of batches so far in each block
	for _, t := range m.turns(n) {
		b := &blocks[t.block]
		if begun[t.block]++; begun[t.block] == 1 {
			b.Elapsed = m.elapsed().Round(time.Millisecond).Seconds()
		}
		if err := m.turn(b, t.c, begun[t.block]); err != nil {
			return nil, t.c, err
		}
		if t.c.drowsy {
			m.e.drowsy = true
		}
	}
	return blocks, nil, nil
}

// turn times an implementation, or the twin, as the position-th batch of a block. For an implementation on a GPU it also
// records the GPU's own times. A brief sweep does not: those times cost a call more, and nothing asks for them over shapes.
func (m *measurement) turn(b *timings.Block, c *callable, position int) error {
	var seconds float64
	var alone, crowded bool
	var account timings.GPUTimes
	if b.Iterations[c.index] == 0 { // otherwise it is the twin's turn, or was
		b.Iterations[c.index] = m.calls(c)
	}
	calls := b.Iterations[c.index]
	err := m.caller.run(func() (err error) {
		seconds, alone, crowded, err = m.timed(c, calls)
		if err == nil && c != m.twin && !m.Brief {
			account, err = m.account(c) // at once and on the same thread, because after a pause the call would take longer
		}
		return err
	})
	if c.spreads() {
		m.sentinel.spread = m.Clock.Now()
	}
	b.Disturbed, b.Crowded = b.Disturbed || !alone || c.drowsy, b.Crowded || crowded
	switch {
	case err != nil:
		return err
	case seconds <= 0:
		return fmt.Errorf("a batch of %d calls took no time", calls)
	case seconds < c.least:
		return tooFast{seconds, c.least}
	}
	if c == m.twin {
		b.Twin, b.TwinSeconds, b.TwinPosition = c.index, rounded(seconds), position
		return nil
	}
	b.Seconds[c.index] = rounded(seconds)
	b.SetPosition(c.index, position)
	account.Gap = rounded(account.Gap)
	b.SetTimesOnGPU(c.index, account)
	return nil
}

// digits is the number of digits of a recorded time. Noise leaves two or three. All seventeen would be a third of a sample
// file.
const digits = 4

// rounded returns a time with the recorded digits.
func rounded(seconds float64) float64 {
	kept, err := strconv.ParseFloat(strconv.FormatFloat(seconds, 'e', digits-1, 64), 64)
	if err != nil {
		return seconds
	}
	return kept
}
