package sweeps

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

const (
	// minBatch is the least duration of a timed batch; it is longer where the clock is coarse.
	minBatch = 200 * time.Microsecond
	// settleFor is how long calls are made before each batch that nobody times. Whoever computed before has left the
	// caches to its own data, and threads that joined an implementation's last batch have gone to sleep since. To wake
	// them takes 100 µs on a virtual machine of two processors, several hundred for all of sixteen, and until then a
	// parallel implementation is a serial one that pays for the waking. See also sentinel.gather.
	settleFor = 500 * time.Microsecond
	// resolutions is how many times the clock's resolution a batch lasts at least.
	resolutions = 1000
	// mostIterations bounds a batch of calls that take no time at all.
	mostIterations = 1 << 24
	// Times have stopped falling when they stood for warmUpLeast, or they are waited for no longer than warmUpLimit.
	warmUpLeast = 5 * time.Millisecond
	warmUpLimit = 30 * time.Millisecond
	// coldAbove: a call longer than this fills the caches and wakes the threads itself.
	coldAbove = 2 * time.Millisecond
	// sentinelEvery is how much time may pass between two sentinel readings.
	sentinelEvery = 20 * time.Millisecond
	// backOffs bounds the waits for a quiet machine, a visit, and waitingShare their share of the budget: where the clock
	// never rests, blocks are worth more than quiet. One of them takes backOffFor at most, which is as long as what
	// disturbs a virtual machine mostly lasts, and no more than a tenth of the budget.
	backOffs     = 5
	waitingShare = 0.25
	backOffFor   = 10 * time.Second
)

// visit measures one size of one case.
func (s *sweep) visit(ctx context.Context, e *entry, size, blocks int) {
	began := s.Clock.Now()
	if s.Others != nil {
		before := s.Others()
		defer func() {
			if taken := s.Others() - before; !math.IsNaN(taken) {
				e.visiting += (s.Clock.Now() - began).Seconds()
				e.others += taken
			}
		}()
	}
	e.drowsy = false
	woken := s.waking
	arms, problem, binding := s.bind(e, size)
	var twin *bound
	defer func() {
		took := s.waking.took - woken.took
		e.result.Waking += took
		if s.waking.rises > woken.rises {
			s.waking.visit = took
		}
		for _, a := range arms {
			a.release()
		}
		if twin != nil {
			twin.release()
		}
		kernels.Release(problem)
		if !s.Uncollected {
			runtime.GC()
		}
		if s.Trim != nil {
			s.Trim()
		}
	}()
	if ctx.Err() != nil {
		return
	}
	s.fillFlights(e, arms, size)
	arms = s.warmUp(e, arms, size)
	if len(arms) == 0 || size <= e.floor {
		return
	}
	overhead := (s.Clock.Now() - began - binding.total - (s.waking.took - woken.took)).Seconds()
	twin = s.bindTwin(e, arms)
	calls := make([]float64, len(e.rivals))
	for i := range calls {
		calls[i] = math.NaN()
	}
	for _, a := range arms {
		calls[a.index] = a.seconds
		overhead -= min(overhead, e.costs.warmUp(size, a.index, a.seconds)+e.costs.demands[a.index].pause)
	}
	e.costs.record(size, overhead, binding.again.Seconds(), calls)
	// The prediction of a new size may have been far off; now its cost is known.
	blocks, _ = s.afford(e, size, blocks)
	e.visits++
	s.measure(ctx, e, arms, twin, size, blocks)
}

// bindingTime is what it took to bind the rivals of a visit and to make their first calls.
type bindingTime struct {
	total time.Duration
	again time.Duration // of those rivals that the case had bound before
}

// bind makes the problem and readies every rival that still competes, its output held against the reference the first
// time that the size comes up. A rival that fails stops competing from this size on; a wrong one stops for good.
func (s *sweep) bind(e *entry, size int) (arms []*bound, problem kernels.Problem, binding bindingTime) {
	var reference []float64
	broken := safely(func() error {
		problem = e.c.Problem(size, s.Input)
		if !e.checked[size] {
			reference = problem.Reference()
			e.checked[size] = true
		}
		return nil
	})
	for _, r := range e.rivals {
		if !r.live(size) {
			continue
		}
		if broken != nil {
			e.retire(r, size, broken)
			continue
		}
		a := &bound{rival: r, bind: func() (kernels.Call, error) { return problem.Bind(r.status.Name) }}
		start := s.Clock.Now()
		var err error
		a.call, err = bindAndRun(a.bind)
		took := s.Clock.Now() - start
		binding.total += took
		if r.bound {
			binding.again += took
		}
		r.bound = true
		off := 0.0
		if err == nil && reference != nil {
			err = safely(func() error {
				off = a.call.ErrorAgainst(reference)
				return nil
			})
		}
		if err != nil {
			a.release()
			s.fail(e, r, size, err)
			continue
		}
		if allowed := e.c.Tolerance(size); !(off <= allowed) {
			a.release()
			e.expel(r, fmt.Sprintf("wrong at %d %s: relative error %.2g, allowed %.2g", size, e.c.Axis.Unit, off, allowed))
			continue
		}
		r.status.RelativeError = max(r.status.RelativeError, off)
		a.least = least(e.c, size, a.call)
		arms = append(arms, a)
	}
	return keepLive(arms, size), problem, binding
}

// hopelessBlocks is how many quiet blocks of a visit implementations are timed in that are hopelessly behind: enough to
// say by how much, and the others' blocks are cheaper without them.
const hopelessBlocks = 4

// contenders marks the arms that are hopelessly behind, and returns the others.
func contenders(arms []*bound) []*bound {
	fastest := math.Inf(1)
	for _, a := range arms {
		fastest = min(fastest, a.seconds)
	}
	var near []*bound
	for _, a := range arms {
		if a.behind = a.seconds > hopeless*fastest; !a.behind {
			near = append(near, a)
		}
	}
	return near
}

// bindTwin binds one of the arms a second time, under buffers and plans of its own, for the A/A arm. It returns nil
// where that fails: the arm itself was bound, so the visit is worth having without a twin. To time one twice that is
// hopelessly behind would teach nothing and cost most.
func (s *sweep) bindTwin(e *entry, arms []*bound) *bound {
	near := contenders(arms)
	arm := near[e.rng.IntN(len(near))]
	twin := *arm
	twin.call, twin.flight = kernels.Call{}, nil
	if s.State == Cold {
		return &twin // which binds itself for each call
	}
	for range max(1, len(arm.flight)) {
		call, err := bindAndRun(twin.bind)
		if err == nil {
			err = safely(call.Run) // the arm is warm; so must its twin be
		}
		switch {
		case err != nil:
			call.Release()
			twin.release()
			return nil
		case len(arm.flight) > 0:
			twin.flight = append(twin.flight, call)
			twin.call = twin.flight[0]
		default:
			twin.call = call
		}
	}
	return &twin
}

// warmUp runs each arm until its times stop falling, and sets the length of its batches. It returns the arms that
// survive: one that fails, or is faster than memory, is dropped. Those on the GPU come last, so that its clock is up when
// the first block begins.
func (s *sweep) warmUp(e *entry, arms []*bound, size int) []*bound {
	target := max(minBatch, resolutions*s.Clock.Resolution()).Seconds()
	fastest := math.Inf(1)
	processors, gpus := bySide(arms)
	if len(gpus) > 0 && !s.spent(0) {
		s.waking.flat++
	}
	for _, a := range slices.Concat(processors, gpus) {
		if !a.live(size) {
			continue // an earlier arm lost the GPU
		}
		err := s.rouse(a, target, e.costs.call(size, a.index), fastest)
		if err == nil && a.seconds < a.least {
			err = tooFast{a.seconds, a.least}
		}
		if err != nil {
			s.fail(e, a.rival, size, err)
			continue
		}
		fastest = min(fastest, a.seconds)
	}
	return keepLive(arms, size)
}

// bySide returns the arms on the processor and those on the GPU.
func bySide(arms []*bound) (processors, gpus []*bound) {
	for _, a := range arms {
		if a.implementation.Processor == kernels.GPU {
			gpus = append(gpus, a)
		} else {
			processors = append(processors, a)
		}
	}
	return processors, gpus
}

// warm times batches of a until they stop falling, and leaves its seconds per call and its batch length. In another
// state than Warm a batch is one call, and one tells what the next ones will cost.
func (s *sweep) warm(a *bound, target float64) (err error) {
	if s.State != Warm {
		a.iterations = 1
		a.seconds, err = s.batch(a, 1)
		return err
	}
	a.iterations, a.seconds = s.leastCalls(len(a.flight)), math.Inf(1)
	start := s.Clock.Now()
	for steady := 0; steady < 3 || float64(steady)*max(target, a.seconds*float64(a.iterations)) < warmUpLeast.Seconds(); {
		seconds, err := s.batch(a, a.iterations)
		if err != nil {
			return err
		}
		if n := float64(a.iterations); n*seconds < target && n*a.least >= target {
			a.seconds = seconds // faster than memory: no longer batch will say otherwise
			return nil
		}
		if seconds*float64(a.iterations) < target && a.iterations < mostIterations {
			// A batch under the clock's resolution says 0: grow it until it says something. Times of batches that were
			// too short are rounding as much as time, and do not count.
			grown := min(10*a.iterations, mostIterations)
			if seconds > 0 {
				grown = min(grown, int(math.Ceil(1.05*target/seconds)))
			}
			a.iterations, a.seconds, steady = max(grown, a.iterations+1), math.Inf(1), 0
			continue
		}
		if seconds < 0.98*a.seconds {
			steady = 0
		} else {
			steady++
		}
		a.seconds = min(a.seconds, seconds)
		if s.Clock.Now()-start > warmUpLimit {
			break
		}
	}
	return nil
}

// measure takes blocks: as many as were asked for, fewer where the budget ends.
func (s *sweep) measure(ctx context.Context, e *entry, arms []*bound, twin *bound, size, blocks int) {
	var pending []timings.Block
	keep := func() {
		if len(pending) > 0 {
			s.sentinel.keep()
		}
		e.keep(pending, size)
		pending = pending[:0]
	}
	read := s.Clock.Now()
	accepted, waits, wanted := 0, 0, blocks
	quiet := 0 // blocks so far of a quiet machine, in a row
	near := contenders(arms)
	for len(arms) > 0 {
		now := s.Clock.Now()
		over := now-s.start > s.Budget && accepted >= 2
		stop := ctx.Err() != nil || over || accepted >= wanted
		if len(pending) > 0 && (stop || now-read >= sentinelEvery) {
			switch {
			case s.sentinel.quiet():
				alone := func(b timings.Block) bool { return !b.Disturbed }
				switch {
				case e.quietAt(size): // then those beside a neighbour teach nothing
					pending = e.discard(pending, func(b timings.Block) bool { return b.Disturbed })
				case !slices.ContainsFunc(pending, alone):
					e.disturb(pending, e.why())
				}
				keep()
			case waits == backOffs || s.waited.Seconds() > waitingShare*s.Budget.Seconds():
				if s.sentinel.culprit.slowerOnly && e.quietAt(size) {
					// A clock that is off cancels in the ratios of a block. What only slows parallel work does not, and
					// what is known already is better.
					e.result.Discarded += len(pending)
					pending = pending[:0]
				}
				e.disturb(pending, s.sentinel.moved)
				keep()
			default:
				e.result.Discarded += len(pending)
				accepted -= len(pending)
				pending = pending[:0]
				quiet = 0
				waits++
				if !s.backOff(ctx) {
					waits = backOffs
					if ctx.Err() == nil && s.sentinel.accept() {
						// The machine has a new state. Take it as it is, and say so.
						e.degrade("the sentinel stayed off its baseline: " + s.sentinel.moved)
					}
				}
			}
			read = s.Clock.Now()
			continue // to see whether it is still time to stop
		}
		if stop {
			return
		}
		collections := s.collectionCount()
		group, failed, err := s.group(e, plan{arms, near, twin, quiet}, size, min(wanted-accepted, s.together(arms)))
		if err != nil {
			s.fail(e, failed.rival, size, err)
			if size <= e.floor {
				return // the GPU was lost where it competed: what is pending tells half of it
			}
			for _, a := range arms {
				if !a.live(size) {
					pending = erase(pending, a.index, size)
				}
			}
			arms = slices.DeleteFunc(slices.Clone(arms), func(a *bound) bool { return !a.live(size) })
			near = contenders(arms)
			if twin != nil && !twin.live(size) {
				twin = nil // its owner releases it
			}
			continue
		}
		// A cold call collects before it begins.
		if s.State != Cold && s.collectionCount() != collections {
			e.result.Discarded += len(group)
			if waits < backOffs {
				waits++
				continue
			}
			e.degrade("garbage collections kept falling into the blocks")
		}
		for _, block := range group {
			pending = append(pending, block)
			if (block.Disturbed || block.Crowded) && !e.drowsy { // else another one would be as drowsy
				wanted = min(wanted+1, 2*blocks) // another one in its place
			} else {
				quiet++
			}
			accepted++
		}
	}
}

// neighbour is what is said of blocks in which some batch was timed on a core that was shared.
const neighbour = "somebody else used the core that it ran on"

// why says what disturbed the blocks of a visit that the sentinel found quiet.
func (e *entry) why() string {
	if e.drowsy {
		return fmt.Sprintf("the GPU's clock was down, and raising it had taken the %.0f %% of the budget that it may take", 100*wakeShare)
	}
	return neighbour
}

// leastQuiet is how many blocks of a size there must be before those beside a neighbour of another processor are not
// missed: parallel implementations are slower beside him, and one block alone has no spread.
const leastQuiet = 3

// keep adds blocks of one size to the samples. Those of a disturbed machine count until there are others, and crowded ones
// until there are enough others.
func (e *entry) keep(blocks []timings.Block, size int) {
	known := &e.result.Samples.Blocks
	*known = append(*known, blocks...)
	if slices.ContainsFunc(blocks, func(b timings.Block) bool { return !b.Disturbed }) {
		*known = e.discard(*known, func(b timings.Block) bool { return b.Size == size && b.Disturbed })
	}
	quiet := 0
	for _, b := range *known {
		if b.Size == size && !b.Disturbed && !b.Crowded {
			quiet++
		}
	}
	if quiet >= leastQuiet {
		*known = e.discard(*known, func(b timings.Block) bool { return b.Size == size && b.Crowded })
	}
	e.dirty = e.dirty || len(blocks) > 0
}

// discard returns the blocks without those that it throws away.
func (e *entry) discard(blocks []timings.Block, thrown func(timings.Block) bool) []timings.Block {
	kept := slices.DeleteFunc(blocks, thrown)
	e.result.Discarded += len(blocks) - len(kept)
	return kept
}

// quietAt reports whether a size has blocks of a quiet machine.
func (e *entry) quietAt(size int) bool {
	return slices.ContainsFunc(e.result.Samples.Blocks, func(b timings.Block) bool { return b.Size == size && !b.Disturbed })
}

// disturb marks blocks that are kept although the machine was not quiet.
func (e *entry) disturb(blocks []timings.Block, moved string) {
	if len(blocks) > 0 {
		e.moved = moved
	}
	for k := range blocks {
		blocks[k].Disturbed = true
	}
}

// disturbed reports whether any block is left that was taken while the machine was not quiet.
func (e *entry) disturbed() bool {
	return slices.ContainsFunc(e.result.Samples.Blocks, func(b timings.Block) bool { return b.Disturbed })
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
