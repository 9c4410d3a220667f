package sweeps

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

const (
	// minBatch is the least duration of a batch. If the clock is coarse, batches are longer.
	minBatch = 200 * time.Microsecond
	// settleFor is how long untimed calls are made before each batch. The implementation before has filled the caches with
	// its own data, and threads of a parallel implementation have gone to sleep since its last batch. Waking them takes 100
	// µs on a virtual machine of two processors, and several hundred on one of sixteen. Until then a parallel implementation
	// is a serial one that pays for the waking. See also sentinel.gather.
	settleFor = 500 * time.Microsecond
	// resolutions is the least duration of a batch, as a multiple of the clock's resolution.
	resolutions = 1000
	// mostIterations is the greatest number of calls in a batch. Calls that take no time would have no other limit.
	mostIterations = 1 << 24
	// An implementation is warm once its times have not fallen for warmUpLeast. A warm-up ends after warmUpLimit in any case.
	warmUpLeast = 5 * time.Millisecond
	warmUpLimit = 30 * time.Millisecond
	// The next two are the same for short visits.
	shortWarmUpLeast = time.Millisecond
	shortWarmUpLimit = 10 * time.Millisecond
	// A call of more than coldAbove fills the caches and wakes the threads itself.
	coldAbove = 2 * time.Millisecond
)

// visit is a stay at one size of one case, with buffers and plans of its own.
type visit struct {
	*sweep
	e         *entry
	size      int
	problem   kernels.Problem
	callables []*callable // what can be timed
	twin      *callable   // one of them a second time, for the A/A comparison; nil if there is none

	began     time.Duration
	woken     waking        // what the sweep knew of the GPU's clock when the visit began
	binding   time.Duration // spent on binding and on first calls
	rebinding time.Duration // the part of binding for implementations that the case had bound before
}

// visit measures one size of one case.
func (s *sweep) visit(ctx context.Context, e *entry, size, blocks int) {
	v := &visit{sweep: s, e: e, size: size, began: s.Clock.Now(), woken: s.waking}
	thorough, ok := e.planner.(Thorough)
	full := ok && thorough.Full(size)
	s.brief = s.Brief && !full
	s.short = s.brief || !full && s.Short != nil && s.Short(e.c)
	before := s.noteOthers()
	defer func() {
		if taken := s.noteOthers() - before; !math.IsNaN(taken) {
			e.beside = append(e.beside, beside{v.began, s.Clock.Now(), taken})
		}
	}()
	e.drowsy = false
	defer v.end()
	v.compileAhead()
	if !v.bind(ctx) {
		return
	}
	v.fillFlights()
	if !v.warmUp(ctx) || len(v.callables) == 0 || size <= e.floor {
		return
	}
	ready := s.Clock.Now()
	if !v.short {
		v.bindTwin()
	}
	v.recordCosts(ready)
	// The predicted cost of a new size may have been far off. Now the cost is known.
	blocks, _ = s.afford(e, size, blocks)
	e.visits++
	s.measure(ctx, e, v.callables, v.twin, size, blocks)
	v.findDivisions(ctx)
}

// end releases what the visit holds.
func (v *visit) end() {
	took := v.waking.took - v.woken.took
	v.e.result.Waking += took
	if v.waking.rises > v.woken.rises {
		v.waking.visit = took
	}
	for _, c := range v.callables {
		c.release()
	}
	if v.twin != nil {
		v.twin.release()
	}
	kernels.Release(v.problem)
	if !v.Virtual {
		runtime.GC()
	}
	if v.Trim != nil {
		v.Trim()
	}
}

// bind makes the problem, and readies every implementation that is still timed at the size. In the first visit to a size,
// outputs are compared with the reference. If the budget or ctx ends before all implementations are ready, bind returns
// false, because the fastest one might be missing in the blocks.
func (v *visit) bind(ctx context.Context) bool {
	var reference []float64
	slack := 0.0 // how far off the reference itself may be
	broken := safely(func() error {
		v.problem = v.e.c.Problem(v.size, v.Input)
		if !v.e.checked[v.size] && !v.heavyReference() {
			reference = v.problem.Reference()
			v.e.checked[v.size] = true
		}
		return nil
	})
	for _, impl := range v.e.implementations {
		switch {
		case !v.e.times(impl, v.size):
		case ctx.Err() != nil || v.over():
			return false
		case broken != nil:
			v.e.retire(impl, v.size, broken)
		default:
			v.ready(impl, reference, slack)
		}
		if reference == nil && len(v.callables) == 1 && v.heavyReference() && v.comparesLarge() {
			v.e.checked[v.size] = true
			reference, slack = agreed(v.callables[0]), v.e.c.Allowed(v.callables[0].Name, v.size)
		}
	}
	v.callables = keepLive(v.callables, v.size)
	return ctx.Err() == nil
}

// mostReference is the greatest work of a shape of a space, in operations or bytes, whose outputs are compared with the
// reference. A space has hundreds of shapes, and the references of the large ones would take the budget. Cases elsewhere repeat
// what cases in caller compared with the reference. At a large shape or size, outputs are compared with that of the first
// implementation, whose outputs at small ones agreed with the reference. Comparing large outputs takes as long as timing them,
// so of the shapes of a space it is done in one of comparedEach visits.
const (
	mostReference = 1 << 20
	comparedEach  = 4
)

func (v *visit) heavyReference() bool {
	c := v.e.c
	return (c.Shape != nil || c.Placement.Elsewhere()) && c.Work != nil && v.e.heaviest(v.size) > mostReference
}

// comparesLarge reports whether outputs with a heavy reference are compared in the visit: in the first one to a size of a line.
func (v *visit) comparesLarge() bool {
	if v.e.c.Shape == nil {
		return !v.e.checked[v.size]
	}
	return v.e.visits%comparedEach == 0
}

// agreed returns the output of an implementation as a reference for others. It returns nil if the call has no numbers to
// compare.
func agreed(c *callable) []float64 {
	if c.call.Numbers == nil {
		return nil
	}
	return c.call.Numbers()
}

// ready binds an implementation, makes its first call, and compares the output with the reference if there is one. The
// reference itself may be off by slack. An implementation that fails is no longer timed at this size and above. An
// implementation with a wrong output is no longer timed at all. An implementation whose calls at the size are as those of
// another one is not timed there: see undivided.
func (v *visit) ready(impl *implementation, reference []float64, slack float64) {
	c := &callable{implementation: impl, bind: func() (kernels.Call, error) { return v.problem.Bind(impl.Name) }}
	start := v.Clock.Now()
	var err error
	c.call, err = v.bindAndRun(c.bind)
	took := v.Clock.Now() - start
	v.binding += took
	if impl.boundBefore {
		v.rebinding += took
	}
	impl.boundBefore = true
	off := 0.0
	if err == nil && reference != nil {
		err = safely(func() error {
			off = c.call.ErrorAgainst(reference)
			return nil
		})
	}
	if err != nil {
		c.release()
		v.fail(v.e, impl, v.size, err)
		return
	}
	allowed := v.e.c.Allowed(impl.Name, v.size) + slack
	if !(off <= allowed) {
		c.release()
		v.e.expel(impl, fmt.Sprintf("wrong at %s: relative error %.2g, allowed %.2g", v.e.c.At(v.size), off, allowed))
		return
	}
	if slack == 0 {
		impl.status.RelativeError = max(impl.status.RelativeError, off)
	}
	switch undivided, err := v.undivided(c); {
	case err != nil:
		c.release()
		v.fail(v.e, impl, v.size, err)
		return
	case undivided:
		c.release()
		v.e.noteUndivided(impl, v.size)
		return
	}
	c.least = least(v.e.c, v.size, c.call)
	v.callables = append(v.callables, c)
}

// warmUp calls each implementation until its times stop falling, and sets the length of its batches. An implementation that
// fails, or is faster than memory, is dropped. Implementations on the GPU come last, so that the GPU's clock is up when the
// first block begins. If the budget or ctx ends before all are warm, warmUp returns false.
func (v *visit) warmUp(ctx context.Context) bool {
	target := max(minBatch, resolutions*v.Clock.Resolution()).Seconds()
	fastest := math.Inf(1)
	processors, gpus := bySide(v.callables)
	if len(gpus) > 0 && !v.spent(0) {
		v.waking.flat++
	}
	for _, c := range slices.Concat(processors, gpus) {
		if !c.live(v.size) {
			continue // its GPU was lost in the warm-up of another implementation
		}
		if ctx.Err() != nil || v.over() {
			return false
		}
		err := v.caller.run(func() error {
			return v.rouse(c, target, v.e.costs.call(v.size, c.index), fastest)
		})
		if err == nil && c.seconds < c.least {
			err = tooFast{c.seconds, c.least}
		}
		if err != nil {
			v.fail(v.e, c.implementation, v.size, err)
			continue
		}
		fastest = min(fastest, c.seconds)
	}
	v.callables = keepLive(v.callables, v.size)
	return true
}

// bindTwin binds one of the implementations a second time, with buffers and plans of its own. If that fails there is no
// twin, and the visit goes on, because the implementation itself is bound. An implementation that is hopelessly slow gets no
// twin, which would take the most time and teach nothing.
func (v *visit) bindTwin() {
	near := markBehind(v.callables)
	original := near[v.e.rng.IntN(len(near))]
	twin := *original
	twin.call, twin.flight = kernels.Call{}, nil
	if v.State == Cold {
		v.twin = &twin // each cold call binds anew
		return
	}
	for range max(1, len(original.flight)) {
		call, err := v.bindAndRun(twin.bind)
		if err == nil { // the twin must be warm, like the original
			err = v.caller.run(call.Run)
		}
		if err != nil {
			call.Release()
			twin.release()
			return
		}
		if len(original.flight) > 0 {
			twin.flight = append(twin.flight, call)
			call = twin.flight[0]
		}
		twin.call = call
	}
	v.twin = &twin
}

// recordCosts records what the visit cost before its first block, so that the costs of other visits can be predicted.
func (v *visit) recordCosts(ready time.Duration) {
	overhead := (ready - v.began - v.binding - (v.waking.took - v.woken.took)).Seconds()
	calls := make([]float64, len(v.e.implementations))
	for i := range calls {
		calls[i] = math.NaN()
	}
	for _, c := range v.callables {
		calls[c.index] = c.seconds
		overhead -= min(overhead, v.e.costs.warmUp(v.size, c.index, c.seconds)+v.e.costs.demands[c.index].pause)
	}
	v.e.costs.record(v.size, overhead, v.rebinding.Seconds(), calls)
}

// hopelessBlocks is the number of quiet blocks of a visit in which hopelessly slow implementations are timed. They show how
// slow these are, and later blocks take less time without them. At a shape of a space one block is enough, because
// neighbouring shapes show the same.
const (
	hopelessBlocks        = 4
	hopelessBlocksOfSpace = 1
)

// markBehind marks callables that are hopelessly slow beside the fastest one, and returns the others. One on several cores is
// not marked if its counterpart on one core is not: a call that waited in vain for a core that another program had took a
// hundred times as long as it takes, and a single block would say so for good.
func markBehind(callables []*callable) (near []*callable) {
	fastest := math.Inf(1)
	for _, c := range callables {
		fastest = min(fastest, c.seconds)
	}
	slow := func(c *callable) bool { return c.seconds > hopeless*fastest }
	for _, c := range callables {
		c.behind = slow(c) && !slices.ContainsFunc(callables, func(one *callable) bool {
			return one.spreads() != c.spreads() && one.Name == timings.OnOne(c.Name) && !slow(one)
		})
		if !c.behind {
			near = append(near, c)
		}
	}
	return near
}

// warm times batches of c until the times stop falling, and sets c.seconds and c.iterations. In states other than Warm a
// batch is one call, and a single call shows what the next ones will cost.
func (s *sweep) warm(c *callable, target float64) (err error) {
	if s.State != Warm {
		c.iterations = 1
		c.seconds, err = s.batch(c, 1)
		return err
	}
	least, limit := warmUpLeast, warmUpLimit
	if s.short {
		least, limit = shortWarmUpLeast, shortWarmUpLimit
	}
	c.iterations, c.seconds = s.leastCalls(len(c.flight)), math.Inf(1)
	start := s.Clock.Now()
	for steady := 0; steady < 3 || float64(steady)*max(target, c.seconds*float64(c.iterations)) < least.Seconds(); {
		seconds, err := s.batch(c, c.iterations)
		if err != nil {
			return err
		}
		if n := float64(c.iterations); n*seconds < target && n*c.least >= target {
			c.seconds = seconds // faster than memory, and a longer batch would not be slower
			return nil
		}
		if seconds*float64(c.iterations) < target && c.iterations < mostIterations {
			// A batch shorter than the clock's resolution takes 0 s. It grows until it takes a time. Times of batches that
			// were too short do not count, because they are rounded to the resolution.
			grown := min(10*c.iterations, mostIterations)
			if seconds > 0 {
				grown = min(grown, int(math.Ceil(1.05*target/seconds)))
			}
			c.iterations, c.seconds, steady = max(grown, c.iterations+1), math.Inf(1), 0
			continue
		}
		if seconds < 0.98*c.seconds {
			steady = 0
		} else {
			steady++
		}
		c.seconds = min(c.seconds, seconds)
		if s.Clock.Now()-start > limit {
			break
		}
	}
	return nil
}
