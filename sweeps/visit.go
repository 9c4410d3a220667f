package sweeps

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"crossover/kernels"
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
	// They are in a brief visit.
	briefWarmUpLeast = time.Millisecond
	briefWarmUpLimit = 10 * time.Millisecond
	// coldAbove: a call longer than this fills the caches and wakes the threads itself.
	coldAbove = 2 * time.Millisecond
)

// visit is a stay at one size of one case, with buffers and plans of its own.
type visit struct {
	*sweep
	e         *entry
	size      int
	problem   kernels.Problem
	callables []*callable // what can be timed
	twin      *callable   // one of them a second time, for the A/A comparison; nil where there is none

	began     time.Duration
	woken     waking        // what was known of the GPU's clock when the visit began
	binding   time.Duration // spent on binding and on first calls
	rebinding time.Duration // of that on implementations that the case had bound before
}

// visit measures one size of one case.
func (s *sweep) visit(ctx context.Context, e *entry, size, blocks int) {
	v := &visit{sweep: s, e: e, size: size, began: s.Clock.Now(), woken: s.waking}
	before := s.noteOthers()
	defer func() {
		if taken := s.noteOthers() - before; !math.IsNaN(taken) {
			e.beside = append(e.beside, beside{v.began, s.Clock.Now(), taken})
		}
	}()
	e.drowsy = false
	defer v.end()
	if !v.bind(ctx) {
		return
	}
	v.fillFlights()
	if !v.warmUp(ctx) || len(v.callables) == 0 || size <= e.floor {
		return
	}
	ready := s.Clock.Now()
	if !v.Brief {
		v.bindTwin()
	}
	v.recordCosts(ready)
	// The prediction of a new size may have been far off; now its cost is known.
	blocks, _ = s.afford(e, size, blocks)
	e.visits++
	s.measure(ctx, e, v.callables, v.twin, size, blocks)
}

// end gives back what the visit holds.
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
	if !v.Uncollected {
		runtime.GC()
	}
	if v.Trim != nil {
		v.Trim()
	}
}

// bind makes the problem and readies every implementation that is still timed. Outputs are held against the reference the
// first time that the size comes up. It reports false where the budget or ctx ended before all were ready: what is timed
// without some of them tells half of it.
func (v *visit) bind(ctx context.Context) bool {
	var reference []float64
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
			v.ready(impl, reference)
		}
		if reference == nil && len(v.callables) == 1 && v.heavyReference() && v.e.visits%comparedEach == 0 {
			reference = agreed(v.callables[0])
		}
	}
	v.callables = keepLive(v.callables, v.size)
	return ctx.Err() == nil
}

// mostReference is the work, in operations or bytes, up to which the shapes of a space are held against their reference. A
// space has hundreds of shapes, and the references of the large ones would take the budget. There the outputs are held
// against that of the first implementation, which agreed with the reference at the smaller shapes. To compare large outputs takes
// as long as to time them, so that is done at one large shape of comparedEach.
const (
	mostReference = 1 << 20
	comparedEach  = 4
)

func (v *visit) heavyReference() bool {
	return v.e.c.Shape != nil && v.e.heaviest(v.size) > mostReference
}

// agreed returns the output of an implementation as a reference for others, nil where it cannot be compared.
func agreed(c *callable) []float64 {
	if c.call.Numbers == nil {
		return nil
	}
	return c.call.Numbers()
}

// ready binds an implementation and holds its output against the reference, where there is one. An implementation that
// fails is not timed from this size on any more, one that is wrong not at all.
func (v *visit) ready(impl *implementation, reference []float64) {
	c := &callable{implementation: impl, bind: func() (kernels.Call, error) { return v.problem.Bind(impl.Name) }}
	start := v.Clock.Now()
	var err error
	c.call, err = v.bindAndRun(impl, c.bind)
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
	allowed := v.e.c.Tolerance(v.size)
	if v.heavyReference() {
		allowed *= 2 // the other output may be as far off
	}
	if !(off <= allowed) {
		c.release()
		v.e.expel(impl, fmt.Sprintf("wrong at %d %s: relative error %.2g, allowed %.2g", v.size, v.e.c.Axis.Unit, off, allowed))
		return
	}
	impl.status.RelativeError = max(impl.status.RelativeError, off)
	c.least = least(v.e.c, v.size, c.call)
	v.callables = append(v.callables, c)
}

// warmUp calls each implementation until its times stop falling, and sets the length of its batches. One that fails, or is
// faster than memory, is dropped. Those on the GPU come last, so that its clock is up when the first block begins. It
// reports false where the budget or ctx ended before all were warm.
func (v *visit) warmUp(ctx context.Context) bool {
	target := max(minBatch, resolutions*v.Clock.Resolution()).Seconds()
	fastest := math.Inf(1)
	processors, gpus := bySide(v.callables)
	if len(gpus) > 0 && !v.spent(0) {
		v.waking.flat++
	}
	for _, c := range slices.Concat(processors, gpus) {
		if !c.live(v.size) {
			continue // an earlier one lost the GPU
		}
		if ctx.Err() != nil || v.over() {
			return false
		}
		err := v.calling(c.implementation, func() error {
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

// bindTwin binds one of the implementations a second time, under buffers and plans of its own. There is no twin where that
// fails: the implementation itself was bound, so the visit is worth having without a twin. To time one twice that is
// hopelessly behind would teach nothing and cost most.
func (v *visit) bindTwin() {
	near := markBehind(v.callables)
	original := near[v.e.rng.IntN(len(near))]
	twin := *original
	twin.call, twin.flight = kernels.Call{}, nil
	if v.State == Cold {
		v.twin = &twin // which binds itself for each call
		return
	}
	for range max(1, len(original.flight)) {
		call, err := v.bindAndRun(twin.implementation, twin.bind)
		if err == nil { // the original is warm; so must its twin be
			err = v.calling(twin.implementation, func() error { return safely(call.Run) })
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

// recordCosts notes what the visit cost until it was ready for its blocks, so that the cost of others can be predicted.
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

// hopelessBlocks is how many quiet blocks of a visit implementations are timed in that are hopelessly behind: enough to
// say by how much, and the others' blocks are cheaper without them.
// At a shape of a space one block says enough: its neighbours say the same.
const (
	hopelessBlocks        = 4
	hopelessBlocksOfSpace = 1
)

// markBehind marks those that are hopelessly behind the fastest, and returns the others.
func markBehind(callables []*callable) (near []*callable) {
	fastest := math.Inf(1)
	for _, c := range callables {
		fastest = min(fastest, c.seconds)
	}
	for _, c := range callables {
		if c.behind = c.seconds > hopeless*fastest; !c.behind {
			near = append(near, c)
		}
	}
	return near
}

// warm times batches of c until they stop falling, and leaves its seconds per call and its batch length. In another
// state than Warm a batch is one call, and one tells what the next ones will cost.
func (s *sweep) warm(c *callable, target float64) (err error) {
	if s.State != Warm {
		c.iterations = 1
		c.seconds, err = s.batch(c, 1)
		return err
	}
	least, limit := warmUpLeast, warmUpLimit
	if s.Brief {
		least, limit = briefWarmUpLeast, briefWarmUpLimit
	}
	c.iterations, c.seconds = s.leastCalls(len(c.flight)), math.Inf(1)
	start := s.Clock.Now()
	for steady := 0; steady < 3 || float64(steady)*max(target, c.seconds*float64(c.iterations)) < least.Seconds(); {
		seconds, err := s.batch(c, c.iterations)
		if err != nil {
			return err
		}
		if n := float64(c.iterations); n*seconds < target && n*c.least >= target {
			c.seconds = seconds // faster than memory: no longer batch will say otherwise
			return nil
		}
		if seconds*float64(c.iterations) < target && c.iterations < mostIterations {
			// A batch under the clock's resolution says 0: grow it until it says something. Times of batches that were
			// too short are rounding as much as time, and do not count.
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
