package sweeps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/samples"
)

const (
	// minBatch is the least duration of a timed batch; it is longer where the clock is coarse.
	minBatch = 50 * time.Microsecond
	// resolutions is how many times the clock's resolution a batch lasts at least.
	resolutions = 1000
	// mostIterations bounds a batch of calls that take no time at all.
	mostIterations = 1 << 24
	// warmUpLimit bounds the wait for times to stop falling.
	warmUpLimit = 30 * time.Millisecond
	// coldAbove: an untimed call before each batch warms the caches for a short call; a longer one fills them itself.
	coldAbove = 2 * time.Millisecond
	// visitTime and visitBlocks: where blocks are cheap a visit takes more of them than it was asked for, up to twice as
	// many.
	visitTime   = 60 * time.Millisecond
	visitBlocks = 21
	// sentinelEvery is how much time may pass between two sentinel readings.
	sentinelEvery = 20 * time.Millisecond
	// backOffs bounds the waits for a quiet machine, a visit.
	backOffs = 5
	// peakBytesPerSecond, a logical processor, is more than any first-level cache delivers: two 64-byte loads a
	// cycle at 6 GHz.
	peakBytesPerSecond = 768e9
)

// bound is a rival bound to the problem of a visit.
type bound struct {
	*rival
	call       kernels.Call
	seconds    float64 // of one call, from the warm-up
	iterations int     // of one batch
	warm       bool    // whether an untimed call precedes each batch
}

// visit measures one size of one case.
func (s *sweep) visit(ctx context.Context, e *entry, size, blocks int) {
	began := s.Clock.Now()
	problem, arms, binding := s.bind(e, size)
	var twin *bound
	defer func() {
		for _, a := range arms {
			a.call.Release()
		}
		if twin != nil {
			twin.call.Release()
		}
		if !s.Uncollected {
			runtime.GC()
		}
	}()
	if ctx.Err() != nil {
		return
	}
	arms = s.warmUp(e, arms, size)
	if len(arms) == 0 {
		return
	}
	overhead := (s.Clock.Now() - began).Seconds() - binding
	twin = bindTwin(e, problem, arms)
	calls := make([]float64, len(e.rivals))
	for i := range calls {
		calls[i] = math.NaN()
	}
	for _, a := range arms {
		calls[a.index] = a.seconds
		overhead -= min(overhead, e.costs.warmUp(a.seconds))
	}
	e.costs.record(size, overhead, binding, calls)
	// The prediction of a new size may have been far off; now its cost is known.
	blocks, _ = s.afford(e, size, blocks)
	e.visits++
	s.measure(ctx, e, arms, twin, size, blocks)
}

// bind makes the problem and readies every rival that still competes, its output held against the reference the first
// time that the size comes up. A rival that fails stops competing from this size on; a wrong one stops for good.
// binding is the seconds that binding alone took.
func (s *sweep) bind(e *entry, size int) (problem kernels.Problem, arms []*bound, binding float64) {
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
		var call kernels.Call
		off := 0.0
		err := safely(func() (err error) {
			start := s.Clock.Now()
			call, err = problem.Bind(r.status.Name)
			binding += (s.Clock.Now() - start).Seconds()
			if err != nil {
				return err
			}
			if err = call.Run(); err == nil && reference != nil {
				off = kernels.RelativeError(call.Output(), reference)
			}
			return err
		})
		if err != nil {
			call.Release()
			e.retire(r, size, err)
			continue
		}
		if allowed := e.c.Tolerance(size); !(off <= allowed) {
			call.Release()
			e.expel(r, fmt.Sprintf("wrong at %d %s: relative error %.2g, allowed %.2g", size, e.c.Axis.Unit, off, allowed))
			continue
		}
		r.status.RelativeError = max(r.status.RelativeError, off)
		arms = append(arms, &bound{rival: r, call: call})
	}
	return problem, arms, binding
}

// twinWithin bounds the A/A arm to implementations at most so many times slower than the fastest: timing a hopeless
// one twice teaches nothing and costs most.
const twinWithin = 4

// bindTwin binds one of the arms a second time, under buffers and plans of its own, for the A/A arm. It returns nil
// where that fails: the arm itself was bound, so the visit is worth having without a twin.
func bindTwin(e *entry, problem kernels.Problem, arms []*bound) *bound {
	fastest := math.Inf(1)
	for _, a := range arms {
		fastest = min(fastest, a.seconds)
	}
	var near []*bound
	for _, a := range arms {
		if a.seconds <= twinWithin*fastest {
			near = append(near, a)
		}
	}
	twin := *near[e.rng.IntN(len(near))]
	err := safely(func() (err error) {
		if twin.call, err = problem.Bind(twin.status.Name); err != nil {
			return err
		}
		// The arm is warm; so must its twin be.
		return errors.Join(twin.call.Run(), twin.call.Run())
	})
	if err != nil {
		twin.call.Release()
		return nil
	}
	return &twin
}

// safely runs f and turns a panic into an error: a kernel that panics must not take the measurements of the others with
// it.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// retire stops timing a rival from a size on, because it failed there, and drops what times it has from there on. What
// it did below still counts.
func (e *entry) retire(r *rival, size int, err error) {
	r.limit = size - 1
	e.erase(r, size)
	below := e.costs.below(size)
	if below == 0 {
		r.status.Excluded = fmt.Sprintf("failed at %d %s: %v", size, e.c.Axis.Unit, err)
		return
	}
	e.warn("%s was timed up to %d %s only; at %d it failed: %v", r.status.Name, below, e.c.Axis.Unit, size, err)
}

// expel removes a rival with all of its times: the times of wrong values are not times.
func (e *entry) expel(r *rival, why string) {
	r.status.Excluded, r.status.Wrong = why, true
	e.erase(r, 0)
}

// erase removes what times a rival has at a size and above.
func (e *entry) erase(r *rival, from int) {
	blocks := e.result.Samples.Blocks
	e.dirty = e.dirty || slices.ContainsFunc(blocks, func(b samples.Block) bool {
		return b.Size >= from && b.Timed(r.index)
	})
	e.result.Samples.Blocks = erase(blocks, r.index, from)
}

// erase removes the times of an implementation from the blocks of a size and above, and the blocks that then hold none.
func erase(blocks []samples.Block, index, from int) []samples.Block {
	left := blocks[:0]
	for _, b := range blocks {
		if b.Size >= from {
			b.Seconds[index], b.Iterations[index] = math.NaN(), 0
			if b.Twin == index {
				b.Twin, b.TwinSeconds = -1, 0
			}
		}
		if slices.Max(b.Iterations) > 0 {
			left = append(left, b)
		}
	}
	return left
}

// warmUp runs each arm until its times stop falling, and sets the length of its batches. It returns the arms that
// survive: one that fails, or is faster than memory, is dropped.
func (s *sweep) warmUp(e *entry, arms []*bound, size int) []*bound {
	target := max(minBatch, resolutions*s.Clock.Resolution()).Seconds()
	var ready []*bound
	for _, a := range arms {
		if err := s.warm(a, target); err != nil {
			e.retire(a.rival, size, err)
			a.call.Release()
			continue
		}
		if least := e.c.Bytes(size) / (peakBytesPerSecond * float64(runtime.GOMAXPROCS(0))); a.seconds < least {
			a.call.Release()
			e.expel(a.rival, fmt.Sprintf("implausible at %d %s: a call took %.2g s, moving its data takes %.2g s at least",
				size, e.c.Axis.Unit, a.seconds, least))
			continue
		}
		a.warm = s.Mode == Latency && a.seconds < coldAbove.Seconds()
		ready = append(ready, a)
	}
	return ready
}

// warm times batches of a until they stop falling, and leaves its seconds per call and its batch length.
func (s *sweep) warm(a *bound, target float64) error {
	a.iterations, a.seconds = 1, math.Inf(1)
	if s.Mode == Throughput {
		a.iterations = throughputDepth
	}
	start := s.Clock.Now()
	for steady := 0; steady < 3; {
		seconds, err := s.batch(a, a.iterations)
		if err != nil {
			return err
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

// batch times n calls and returns the seconds of one.
func (s *sweep) batch(a *bound, n int) (seconds float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	start := s.Clock.Now()
	for range n {
		if err := a.call.Run(); err != nil {
			return 0, err
		}
	}
	return (s.Clock.Now() - start).Seconds() / float64(n), nil
}

// measure takes blocks: as many as were asked for, more where they are cheap, fewer where the budget ends.
func (s *sweep) measure(ctx context.Context, e *entry, arms []*bound, twin *bound, size, blocks int) {
	var pending []samples.Block
	keep := func() {
		e.result.Samples.Blocks = append(e.result.Samples.Blocks, pending...)
		e.dirty = e.dirty || len(pending) > 0
		pending = pending[:0]
	}
	start := s.Clock.Now()
	read := start
	accepted, waits := 0, 0
	for len(arms) > 0 {
		now := s.Clock.Now()
		over := now-s.start > s.Budget && accepted >= 2
		enough := accepted >= blocks && (accepted >= min(visitBlocks, 2*blocks) || now-start > visitTime)
		stop := ctx.Err() != nil || over || enough
		if len(pending) > 0 && (stop || now-read >= sentinelEvery) {
			switch {
			case s.sentinel.quiet():
				keep()
			case waits == backOffs:
				e.degrade("the sentinel kept moving off its baseline")
				keep()
			default:
				e.result.Discarded += len(pending)
				accepted -= len(pending)
				pending = pending[:0]
				waits++
				if ctx.Err() == nil && !s.sentinel.backOff(backOffs) {
					// The machine has a new state. Take it as it is, and say so.
					e.degrade("the sentinel stayed off its baseline")
					s.sentinel.settle()
					waits = backOffs
				}
			}
			read = s.Clock.Now()
			continue // to see whether it is still time to stop
		}
		if stop {
			return
		}
		collections := s.collectionCount()
		block, failed, err := s.block(e, arms, twin, size)
		if err != nil {
			e.retire(failed.rival, size, err)
			pending = erase(pending, failed.index, size)
			arms = slices.DeleteFunc(slices.Clone(arms), func(a *bound) bool { return a.rival == failed.rival })
			if twin != nil && twin.rival == failed.rival {
				twin = nil // its owner releases it
			}
			continue
		}
		if s.collectionCount() != collections {
			e.result.Discarded++
			if waits < backOffs {
				waits++
				continue
			}
			e.degrade("garbage collections kept falling into the blocks")
		}
		pending = append(pending, block)
		accepted++
	}
}

// block times every arm once, and the twin, in random order. Where one fails it returns which one, and why.
func (s *sweep) block(e *entry, arms []*bound, twin *bound, size int) (b samples.Block, failed *bound, err error) {
	b = samples.Block{
		Size: size, Visit: e.visits, Twin: -1,
		Seconds:    make([]float64, len(e.rivals)),
		Iterations: make([]int, len(e.rivals)),
	}
	for i := range b.Seconds {
		b.Seconds[i] = math.NaN()
	}
	order := slices.Clone(arms)
	if twin != nil {
		order = append(order, twin)
	}
	e.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })

	for _, a := range order {
		if a.warm {
			if err := safely(a.call.Run); err != nil {
				return b, a, err
			}
		}
		seconds, err := s.batch(a, a.iterations)
		if err == nil && seconds <= 0 {
			err = fmt.Errorf("a batch of %d calls took no time", a.iterations)
		}
		if err != nil {
			return b, a, err
		}
		if a == twin {
			b.Twin, b.TwinSeconds = a.index, seconds
			continue
		}
		b.Seconds[a.index], b.Iterations[a.index] = seconds, a.iterations
	}
	return b, nil, nil
}

// collectionCount returns how many garbage collections there have been. It does not allocate.
func (s *sweep) collectionCount() uint64 {
	if s.Uncollected {
		return 0
	}
	metrics.Read(s.collections[:])
	return s.collections[0].Value.Uint64()
}
