package sweeps

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// Planner decides which size of one case is measured next, and when nothing is left to learn.
type Planner interface {
	// Next returns the visit that would teach most: a size, the number of blocks, and what it is worth beside
	// other cases' proposals. A worth of 0 ends the case.
	Next(set *timings.Set) (size, blocks int, worth float64)
	// Visited tells that a proposed size was measured, or found impossible to measure.
	Visited(size int)
	// Doubted tells that, as it turns out, the machine was disturbed at all visits to a size so far.
	Doubted(size int)
	// Limit tells that sizes above high cannot be measured or paid for. A planner that goes on proposing them ends the
	// case.
	Limit(high int)
}

// Selective is a planner that knows where an implementation is not worth its time.
type Selective interface {
	Planner
	// Skips reports whether an implementation is left out at a size.
	Skips(size int, implementation string) bool
}

// Options of a sweep. The zero value of a field means what its comment says.
type Options struct {
	Budget  time.Duration // for all cases together; required
	Seed    uint64
	Mode    Mode  // "" means Latency
	State   State // "" means Warm, the only one of Throughput
	Input   kernels.Input
	Planner func(c *kernels.Case) Planner // required; a new one at each call, because a sweep may have to start over

	// InFlight is how many calls of a GPU are in flight in throughput mode; 0 means DefaultInFlight.
	InFlight int

	// VisitShare is how much of a case's share of the budget one visit may take; 0 means a half, so that enough is
	// left to find a crossover with.
	VisitShare float64

	// Brief makes visits short, for a planner to whom many sizes are worth more than exact times of each: no twin, a short
	// warm-up, one try at each batch, and no wait for a quiet machine.
	Brief bool

	// Include says which implementations are timed; nil means all.
	Include func(implementation string) bool

	// Memory is how much the machine has, in bytes: no size is visited that would take more than half of it. 0 means that
	// nobody knows.
	Memory int64

	Clock    Clock  // nil means SystemClock
	Sentinel func() // nil means the default: see newSentinel; another one watches no core for neighbours

	// Together is watched beside a Sentinel of one's own; the default one has work of its own for that. It may be nil.
	Together *Together

	// Uncollected leaves the garbage collector on. On a modelled machine it takes no measured time, and many sweeps may
	// run in one process.
	Uncollected bool

	// Throttled reports a thermal state that no time can be trusted in; nil means never.
	Throttled func() (state string, throttled bool)

	// Forget is called before each call of a Cold sweep, and drops what libraries and drivers keep from one call to the
	// next. It may be nil.
	Forget func()

	// Trim gives back memory that device pools hold beyond what the next visit may want, after each visit. It may be
	// nil.
	Trim func()

	// Others returns how many seconds of processor time other programs have taken so far, NaN where that is not known;
	// nil means that it is not asked. If a busy program ran while the sentinel took its baseline, the sentinel does not
	// notice that program.
	Others func() float64

	// Save is called with every case that gained blocks, every half a second and at the end, so that an interrupted
	// sweep loses next to nothing. It is called less often where it takes long, and never inside a visit. An error ends the sweep. It may be nil.
	Save func(*Result) error

	// Observe is called with what the sentinel has seen, before cases are saved and once more at the end. It is not
	// called if Sentinel is set and Together is not. It may be nil.
	Observe func(Observed)

	// Progress is called between blocks and before waits, never inside a block. It may be nil.
	Progress func(Progress)
}

// Progress is what a sweep does, and how far it is.
type Progress struct {
	Case    string        // of the visit; "" before the first one
	Size    int           // of the visit
	Visit   int           // how many have begun
	Takes   time.Duration // what the visit is expected to take; 0 where nothing is known
	Waiting string        // what the sweep waits for: "a quiet machine"; "" where it measures
	Elapsed time.Duration
	Budget  time.Duration
}

// Status is how one implementation fared in one case.
type Status struct {
	Name          string
	Processor     kernels.Processor
	Version       string
	RelativeError float64 // greatest over the checked sizes
	Excluded      string  // why it was not timed, or not to the end; "" where it was
	Wrong         bool    // excluded because its output was wrong
}

// Result is what was measured of one case.
type Result struct {
	Case            *kernels.Case
	Implementations []Status    // every implementation of the case that was asked for
	Samples         timings.Set // of those that could run
	Degraded        bool
	Discarded       Discarded
	Lost            string        // why the case's implementations on the GPU were not timed to the end; "" where they were
	Waking          time.Duration // spent on looks at the GPU's clock and on keeping it up
	Warnings        []string
}

// Discarded counts blocks that were thrown away, by the reason.
type Discarded struct {
	Disturbed   int // the sentinel was off its baseline
	Neighbours  int // somebody else used the core of a batch, or of another processor
	Replaced    int // taken on a machine that was not quiet, and kept until there were others
	Collections int // the garbage collector ran
	Restarts    int // the machine turned out to be quieter later
}

// Total returns how many there are for all reasons.
func (d Discarded) Total() int {
	return d.Disturbed + d.Neighbours + d.Replaced + d.Collections + d.Restarts
}

func (d *Discarded) add(other Discarded) {
	d.Disturbed += other.Disturbed
	d.Neighbours += other.Neighbours
	d.Replaced += other.Replaced
	d.Collections += other.Collections
	d.Restarts += other.Restarts
}

// Run sweeps the cases within the budget and returns one result a case, in their order. When ctx is cancelled it stops
// after the running block and returns what it has together with ctx's error.
func Run(ctx context.Context, cases []kernels.Case, o Options) ([]*Result, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	// What the sentinel says is true of one thread. Calls that may wake other goroutines are made by the caller.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if !o.Uncollected {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}

	s := newSweep(o, len(cases))
	defer s.caller.close()
	s.tell("readings of the idle machine")
	s.sentinel.settle(ctx, o.Budget/settleShare)
	results := make([]*Result, len(cases))
	for i := range cases {
		e := newEntry(&cases[i], &s.Options)
		s.entries = append(s.entries, e)
		results[i] = e.result
	}
	err := s.run(ctx)
	for _, e := range s.entries {
		e.blame()
	}
	if saveErr := s.saveAll(); saveErr != nil {
		if err == nil || ctx.Err() == nil {
			return results, saveErr
		}
		err = fmt.Errorf("%w; the last samples were not saved: %w", err, saveErr)
	}
	return results, err
}

// setDefaults replaces zero values by what they mean.
func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Mode == "" {
		o.Mode = Latency
	}
	if o.State == "" {
		o.State = Warm
	}
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.VisitShare == 0 {
		o.VisitShare = 0.5
	}
}

// sweep is a sweep under way.
type sweep struct {
	Options
	start    time.Duration
	sentinel sentinel
	caller   *caller
	visitCap float64 // seconds
	entries  []*entry
	saved    time.Duration // when the last save was over
	saving   time.Duration // what it took
	progress Progress      // of the present visit
	hot      bool          // the machine throttles, and waiting did not help
	waited   time.Duration // for a quiet machine
	avoided  time.Duration // spent on batches whose core was shared, and on looking for another one
	patience patience      // to wait for a quiet machine, each time
	waking   waking        // of the GPU
	usage    usage         // by other programs

	collections [1]metrics.Sample // the collector's cycle count, read between batches
}

// newSweep returns a sweep of so many cases whose baselines are not taken yet.
func newSweep(o Options, cases int) *sweep {
	s := &sweep{
		Options:  o,
		start:    o.Clock.Now(),
		sentinel: newSentinel(o.Clock, o.Sentinel, o.Together, o.Budget),
		caller:   newCaller(),
		visitCap: o.VisitShare * o.Budget.Seconds() / float64(max(cases, 1)),
		patience: newPatience(min(backOffFor, o.Budget/10)),
	}
	s.sentinel.drowsy = o.State == AfterIdle
	s.collections[0].Name = "/gc/cycles/total:gc-cycles"
	if o.State != Warm {
		s.sentinel.core = nil // a call that is cold, or comes after a pause, has no batch to repeat
	}
	return s
}

// A killed process loses what was measured since the last save. A save comes at most saveLeast after the one before, or the
// visit later that is under way then; where saving is slow, so much later that it takes saveShare of the sweep, but never
// more than saveMost. Before a visit of more than saveLeast everything is saved, because a signal ends the process within a
// second.
const (
	saveLeast = 500 * time.Millisecond
	saveMost  = 3 * time.Second
	saveShare = 0.02
)

// saveDue reports whether it is time to save.
func (s *sweep) saveDue() bool {
	slow := time.Duration(float64(s.saving) / saveShare)
	return s.elapsed()-s.saved > min(max(saveLeast, slow), saveMost)
}

func (s *sweep) elapsed() time.Duration { return s.Clock.Now() - s.start }

// over reports whether the budget is spent and a tenth more: then nothing is made ready any more.
func (s *sweep) over() bool { return s.elapsed() > s.Budget+s.Budget/10 }

// run visits the most worthwhile size of the most worthwhile case until nothing is left to learn or to spend.
func (s *sweep) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, size, blocks := s.pick(ctx)
		if e == nil {
			return ctx.Err()
		}
		growing, fixed := e.costs.visit(size, blocks, e.alive(size))
		if growing+fixed > saveLeast.Seconds() {
			if err := s.saveAll(); err != nil { // a signal does not wait until it is over
				return err
			}
		}
		s.progress = Progress{
			Case: e.c.Name, Size: size, Visit: s.progress.Visit + 1, Takes: time.Duration((growing + fixed) * float64(time.Second)),
		}
		s.cool(ctx, e)
		s.tell("")
		s.visit(ctx, e, size, blocks)
		e.left = s.elapsed()
		e.planner.Visited(size)
		s.review()
		if s.saveDue() {
			if err := s.saveAll(); err != nil {
				return err
			}
		}
	}
}

// tell says how far the sweep is, and what it waits for, if anything.
func (s *sweep) tell(waiting string) {
	if s.Progress == nil {
		return
	}
	p := s.progress
	p.Waiting, p.Elapsed, p.Budget = waiting, s.elapsed(), s.Budget
	s.Progress(p)
}

// pick returns the best visit that can still be paid for, or a nil entry.
func (s *sweep) pick(ctx context.Context) (best *entry, size, blocks int) {
	left := (s.Budget - s.elapsed()).Seconds()
	if left <= 0 || ctx.Err() != nil {
		return nil, 0, 0
	}
	most := 0.0
	for _, e := range s.entries {
		for !e.done {
			n, b, worth := e.planner.Next(&e.result.Samples)
			if worth <= 0 || n > e.high {
				e.done = true
				break
			}
			if n <= e.floor || s.tooDrowsy(e, n) {
				if e.skip(n) {
					continue
				}
				break
			}
			if len(e.alive(n)) == 0 {
				// What is not timed at a size any more does not come back above it.
				e.stopAt(e.costs.below(n))
				continue
			}
			if s.tooDear(ctx, e, n) {
				continue // the planner was told; ask again
			}
			b, ok := s.afford(e, n, b)
			if !ok {
				continue // the planner was told; ask again
			}
			if growing, fixed := e.costs.visit(n, b, e.alive(n)); growing+fixed+s.wakingOf(e, n) > left {
				e.stopAt(e.costs.below(n)) // what is left may do for a smaller size
				continue
			}
			if !s.Brief { // visits to other shapes share less of the machine's state
				worth *= e.rested(s.elapsed())
			}
			if e.visits == 0 {
				worth *= unvisited
			}
			if worth > most {
				best, size, blocks, most = e, n, b, worth
			}
			break
		}
	}
	return best, size, blocks
}

// hopeless is how many times slower than the best an implementation must be before it is dropped to afford a size, or
// timed in fewer blocks than the others.
const hopeless = 4

// leastBlocks is how few blocks a visit may shrink to.
const leastBlocks = 3

// afford fits a visit into what one visit may cost, by taking fewer blocks. Above the measured range it drops, before that,
// the implementations that are far behind where that is enough, and otherwise tells the planner to stay below and
// reports false. What costs the same at every size is no reason to stay below.
func (s *sweep) afford(e *entry, size, blocks int) (int, bool) {
	measured := e.costs.below(size)
	alive := e.alive(size)
	// One size alone does not tell what grows: part of what the first visit took was making what is made once.
	if size > e.costs.greatest() && len(e.costs.sizes) > 1 {
		var ok bool
		if alive, ok = s.affordHigher(e, size, measured, blocks, alive); !ok {
			return 0, false
		}
	}
	for blocks > leastBlocks {
		if growing, fixed := e.costs.visit(size, blocks, alive); growing+fixed <= s.visitCap {
			break
		}
		blocks--
	}
	return blocks, true
}

// affordHigher drops implementations, of those alive, for a visit to a size above the measured ones.
func (s *sweep) affordHigher(e *entry, size, measured, blocks int, alive []int) ([]int, bool) {
	type drop struct {
		impl  *implementation
		ratio float64
	}
	var drops []drop
	if s.State != Warm {
		// Calls are dear at every size. Rather than leave one out, take as few blocks as there may be.
		blocks = min(blocks, leastBlocks)
	}
	for {
		cost, _ := e.costs.visit(size, blocks, alive)
		if cost <= s.visitCap {
			break
		}
		slowest, ratio := e.costs.slowest(size, alive)
		if ratio < hopeless {
			e.stopAt(measured)
			e.warn("stopped at %d %s: a visit to %d would take about %.2g s (a larger --budget goes further)",
				measured, e.c.Axis.Unit, size, cost)
			return nil, false
		}
		drops = append(drops, drop{e.implementations[slowest], ratio})
		alive = slices.DeleteFunc(alive, func(i int) bool { return i == slowest })
	}
	for _, d := range drops {
		d.impl.limit = measured
		e.warn("%s was not timed above %d %s: it falls over %d times behind the best",
			d.impl.Name, measured, e.c.Axis.Unit, int(hopeless))
	}
	return alive, true
}

// coolFor bounds the wait for a throttling machine, which is also bounded by a quarter of the budget.
const coolFor = 30 * time.Second

// cool waits while the machine throttles. Once waiting did not help it waits no more until the machine has been cool
// again, because a sweep on a hot machine is worth more than none.
func (s *sweep) cool(ctx context.Context, e *entry) {
	if s.Throttled == nil {
		return
	}
	const steps = 10
	step := min(coolFor, s.Budget/4) / steps
	for n := 0; ctx.Err() == nil; n++ {
		state, hot := s.Throttled()
		if !hot {
			s.hot = false
			return
		}
		if s.hot || n == steps {
			s.hot = true
			e.degrade(fmt.Sprintf("the thermal state stayed %s", state))
			return
		}
		s.tell("a cooler machine")
		s.sleep(ctx, step)
	}
}

// sleep lets a time pass, or as much of it as there is before ctx is cancelled.
func (s *sweep) sleep(ctx context.Context, d time.Duration) {
	const doze = 100 * time.Millisecond
	for ; d > 0 && ctx.Err() == nil; d -= doze {
		s.Clock.Sleep(min(d, doze))
	}
}

// saveAll tells what the sentinel has seen and saves every case that changed. A case that cannot be saved does not keep
// the others from it; the first error is returned.
func (s *sweep) saveAll() error {
	begin := s.elapsed()
	defer func() {
		s.saved = s.elapsed()
		s.saving = s.saved - begin
	}()
	if s.Observe != nil && s.sentinel.processors > 0 {
		s.Observe(s.observed())
	}
	if s.Save == nil {
		return nil
	}
	var first error
	for _, e := range s.entries {
		if !e.dirty {
			continue
		}
		degraded := e.result.Degraded
		e.result.Degraded = degraded || e.disturbed() // as far as it is known by now
		err := s.Save(e.result)
		e.result.Degraded = degraded
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		e.dirty = false
	}
	return first
}
