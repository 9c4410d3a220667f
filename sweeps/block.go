package sweeps

import (
	"fmt"
	"math"
	"slices"
	"time"

	"crossover/timings"
)

// plan is who is timed in the next blocks of a visit.
type plan struct {
	arms  []*bound
	near  []*bound // those of them that are not hopelessly behind
	twin  *bound   // nil where there is none
	quiet int      // quiet blocks of the visit so far
}

// of returns who is timed in the k-th of the next blocks.
func (p *plan) of(k int) []*bound {
	arms := slices.Clone(p.arms)
	if p.quiet+k >= hopelessBlocks {
		arms = slices.Clone(p.near)
	}
	if p.twin != nil {
		arms = append(arms, p.twin)
	}
	return arms
}

// turn is the time of one arm in one of several blocks.
type turn struct {
	block int
	arm   *bound
}

// sharedWaking is how many blocks may share one waking of the GPU, and sharedFor about how long they may take: drift of
// the machine cancels in a block as far as it is slower.
const (
	sharedWaking = 5
	sharedFor    = 250 * time.Millisecond
)

// together returns how many blocks are taken together: one, unless they would have to wake a GPU each.
func (s *sweep) together(arms []*bound) int {
	processors, gpus := bySide(arms)
	if len(processors) == 0 || len(gpus) == 0 || !s.waking.falls() {
		return 1
	}
	seconds := 0.0
	for _, a := range arms {
		seconds += max(a.seconds*float64(a.iterations), (settleFor + minBatch).Seconds())
	}
	return max(1, min(sharedWaking, int(sharedFor.Seconds()/seconds)))
}

// turns returns the order in which n blocks are taken: a block's arms in random order. To raise the clock of a GPU takes as
// long as dozens of batches do. So blocks that are taken together take their turns on the GPU first, one block after the
// other, while its clock is up, and then those on the processor.
func (s *sweep) turns(e *entry, p plan, n int) (turns []turn) {
	var processors, gpus []turn
	for k := range n {
		order := p.of(k)
		e.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if n == 1 {
			for _, a := range order {
				turns = append(turns, turn{0, a})
			}
			return turns
		}
		onProcessor, onGPU := bySide(order)
		for _, a := range onProcessor {
			processors = append(processors, turn{k, a})
		}
		for _, a := range onGPU {
			gpus = append(gpus, turn{k, a})
		}
	}
	return append(gpus, processors...)
}

// group takes n blocks together: it times every arm once a block, and the twin. Where one fails it returns which one, and
// why.
func (s *sweep) group(e *entry, p plan, size, n int) (blocks []timings.Block, failed *bound, err error) {
	blocks = make([]timings.Block, n)
	for k := range blocks {
		blocks[k] = timings.Block{
			Size: size, Visit: e.visits, Twin: -1,
			Seconds:    make([]float64, len(e.rivals)),
			Iterations: make([]int, len(e.rivals)),
		}
		for i := range blocks[k].Seconds {
			blocks[k].Seconds[i] = math.NaN()
		}
	}
	for _, t := range s.turns(e, p, n) {
		if err := s.take(&blocks[t.block], t.arm, t.arm == p.twin); err != nil {
			return nil, t.arm, err
		}
		if t.arm.drowsy {
			e.drowsy = true
		}
	}
	return blocks, nil, nil
}

// take times an arm, or the twin, in its turn.
func (s *sweep) take(b *timings.Block, a *bound, twin bool) error {
	seconds, alone, crowded, err := s.timed(a)
	if a.spreads() {
		s.sentinel.spread = s.Clock.Now()
	}
	b.Disturbed, b.Crowded = b.Disturbed || !alone || a.drowsy, b.Crowded || crowded
	switch {
	case err != nil:
		return err
	case seconds <= 0:
		return fmt.Errorf("a batch of %d calls took no time", a.iterations)
	case seconds < a.least:
		return tooFast{seconds, a.least}
	}
	if twin {
		b.Twin, b.TwinSeconds = a.index, seconds
		return nil
	}
	b.Seconds[a.index], b.Iterations[a.index] = seconds, a.iterations
	account, err := s.account(a)
	if err != nil {
		return err
	}
	b.SetTimesOnGPU(a.index, account)
	return nil
}
