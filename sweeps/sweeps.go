package sweeps

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// Planner decides which size of one case is measured next, and when nothing is left to learn.
type Planner interface {
	// Next returns the visit that would teach most: its size, its number of blocks, and its worth. The sweep compares the
	// worths of all cases. A worth of 0 ends the case.
	Next(set *timings.Set) (size, blocks int, worth float64)
	// Visited is called after a proposed size was measured, or found impossible to measure.
	Visited(size int)
	// Doubted is called if the machine turns out to have been disturbed in all visits to a size so far.
	Doubted(size int)
	// Limit is called if sizes above high cannot be measured, or would take too long. If the planner still proposes one, the
	// case ends.
	Limit(high int)
}

// Selective is a planner that leaves out implementations at sizes where they are not worth their time.
type Selective interface {
	Planner
	// Skips reports whether an implementation is left out at a size.
	Skips(size int, implementation string) bool
}

// Thorough is a planner that wants some visits of a brief sweep to be as long as those of others.
type Thorough interface {
	Planner
	// Full reports whether the visit to the size that was proposed last is to be long.
	Full(size int) bool
}

// Orderly is a planner that decides its case before other cases begin, or after they end. Without one, a short budget that all
// cases share may decide none.
type Orderly interface {
	Planner
	// Turn returns the turn of the visit that was proposed last. Visits of a lower turn come first, whatever they are worth.
	Turn() int
}

// Foresighted is a planner that knows which sizes it is likely to propose next.
type Foresighted interface {
	Planner
	// Upcoming returns the size that was proposed last, and those that are likely to follow it.
	Upcoming() []int
}

// Upcoming has sizes of a case that are likely to be visited soon.
type Upcoming struct {
	Case  *kernels.Case
	Sizes []int
}

// Options of a sweep. The comment of a field says what its zero value means.
type Options struct {
	Budget  time.Duration // for all cases together; required
	Seed    uint64
	Mode    Mode  // "" means Latency
	State   State // "" means Warm, the only one of Throughput
	Input   kernels.Input
	Planner func(c *kernels.Case) Planner // required; each call returns a new planner, because a case may start over

	// InFlight is the number of calls on a GPU that are in flight in throughput mode; 0 means DefaultInFlight.
	InFlight int

	// VisitShare is the part of a case's share of the budget that one visit may take. 0 means a half, which leaves enough to
	// find a crossover.
	VisitShare float64

	// Brief makes visits short, for a planner that prefers many sizes to exact times of a few. A brief visit has no twin and a
	// short warm-up. It does not wait for a quiet machine, and no blocks replace disturbed ones. A Thorough planner has long
	// visits too.
	Brief bool

	// Short reports whether the visits of a case have no twin and a short warm-up, as brief ones have. Otherwise they are as
	// others are. Nil means that only brief visits are short.
	Short func(c *kernels.Case) bool

	// Ahead is called before the first visit to a size of a Foresighted planner, with that size and those that are likely to
	// follow, also of other cases. It may compile kernels of theirs on all processors at once, which takes less time than one
	// after the other. It may be nil.
	Ahead func(upcoming []Upcoming)

	// Include says which implementations are timed; nil means all.
	Include func(implementation string) bool

	// Memory is the machine's memory in bytes; 0 means unknown. Sizes that would take more than half of it are not visited, and the
	// garbage collector, which is off during a sweep, runs before the process takes more than half.
	Memory int64

	Clock    Clock  // nil means SystemClock
	Sentinel func() // work of the sentinel; nil means the default works, and only they watch the core for neighbours

	// Together is more work for a Sentinel that is not nil. The default works include such work. It may be nil.
	Together *Together

	// Virtual says that Clock shows virtual time. The sweep then leaves the garbage collector on, because a collection takes no
	// measured time and many sweeps may run at once. For the same reason it gives no memory back before cold calls. It is not
	// locked to a thread, because its readings are true of all threads.
	Virtual bool

	// Throttled reports whether the thermal state is one in which no time can be trusted; nil means never.
	Throttled func() (state string, throttled bool)

	// Forget is called before each call of a Cold sweep, and drops what libraries and drivers keep between calls. It may be
	// nil.
	Forget func()

	// Trim is called after each visit, and frees memory that device pools keep. It may be nil.
	Trim func()

	// Others returns the processor time that other programs have taken so far, in seconds, or NaN if it is not known. It
	// notices a busy program that ran already while the sentinel took its baselines, which the sentinel does not. It may be
	// nil.
	Others func() float64

	// Save is called with each case that gained blocks, about every half a second and at the end, so that an interrupted
	// sweep loses hardly anything. If saving takes long, Save is called less often. It is never called during a visit. An
	// error ends the sweep. It may be nil.
	Save func(*Result) error

	// Saved is called after Save was called with all cases that gained blocks, if it succeeded with one of them. These cases
	// count as saved if Saved succeeds too. Its error ends the sweep. It may be nil.
	Saved func() error

	// Observe is called with what the sentinel has measured, before cases are saved and once more at the end. It is not
	// called if Sentinel is set and Together is not. It may be nil.
	Observe func(Observed)

	// Progress is called between blocks and before waits, never inside a block. It may be nil.
	Progress func(Progress)
}

// Progress says what a sweep is doing, and how far it has come.
type Progress struct {
	Case    string        // of the visit; "" before the first visit
	At      string        // size of the visit, with its unit, or its shape: see [kernels.Case.At]
	Visit   int           // number of visits that have begun
	Takes   time.Duration // expected duration of the visit; 0 if it is not known
	Waiting string        // what the sweep waits for, such as "a quiet machine"; "" while it measures
	Elapsed time.Duration
	Budget  time.Duration
}

// Within returns a progress function for a sweep that is a part of something longer: budgets come before and after its own. It is
// nil if step is.
func Within(step func(Progress), before, after time.Duration) func(Progress) {
	if step == nil {
		return nil
	}
	return func(p Progress) {
		p.Elapsed += before
		p.Budget += before + after
		step(p)
	}
}

// Status says how far one implementation of one case was timed.
type Status struct {
	Name          string
	Processor     kernels.Processor
	Version       string
	RelativeError float64 // greatest over the checked sizes
	Revision      int     // that its declaration has
	ErrorBound    float64 // that it promises; 0 for the operation's tolerance
	Excluded      string  // why it was not timed, or why its times do not count; "" otherwise
	Wrong         bool    // excluded because its output was wrong
}

// Result is what was measured of one case.
type Result struct {
	Case            *kernels.Case
	Implementations []Status    // of every implementation of the case that Options.Include accepts
	Samples         timings.Set // of the implementations that could run
	Degraded        bool        // whether the machine was disturbed
	Discarded       Discarded
	Lost            string        // why the GPU was lost during the case; "" if it was not
	Waking          time.Duration // spent on looking at the GPU's clock and on raising it
	Warnings        []string
}

// CanRun reports whether an implementation of the case could run.
func (r *Result) CanRun() bool { return len(r.Samples.Implementations) > 0 }

// Discarded has the numbers of blocks that were thrown away, by the reason.
type Discarded struct {
	Disturbed   int // the sentinel was off its baseline
	Neighbours  int // somebody else used the core of a batch, or of another processor
	Replaced    int // they were disturbed, and kept until there were undisturbed ones
	Collections int // the garbage collector ran
	Restarts    int // the machine turned out to be quieter later
}

// Total returns the number for all reasons together.
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

// Run sweeps the cases within the budget and returns a result for each, in their order. If ctx is cancelled, Run stops after
// the current blocks, and returns the results so far and the error of ctx.
func Run(ctx context.Context, cases []kernels.Case, o Options) ([]*Result, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if !o.Virtual {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		if o.Memory > 0 { // the collector then runs before the system kills the process, and costs a block
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), o.Memory/2)))
		}
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

// setDefaults replaces zero values by their meaning.
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

// sweep is the state of a sweep.
type sweep struct {
	Options
	start    time.Duration
	sentinel sentinel
	caller   *caller
	visitCap float64 // seconds
	entries  []*entry
	saved    time.Duration // when the last save ended
	saving   time.Duration // how long it took
	progress Progress      // of the current visit
	brief    bool          // whether the current visit is brief
	short    bool          // whether it is short
	hot      bool          // whether the machine still throttled after a wait
	waited   time.Duration // time spent on waits for a quiet machine
	avoided  time.Duration // time spent on batches whose core was shared, and on looking for another core
	patience patience      // the longest wait for a quiet machine
	states   []past        // worse ones of the machine itself, which are not rare so far
	waking   waking        // of the GPU
	usage    usage         // by other programs

	collections [1]metrics.Sample // the number of garbage collections
}

// newSweep returns a sweep of a number of cases, without baselines.
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
		s.sentinel.core = nil // only batches of warm calls are timed again
	}
	return s
}

// A killed process loses what was measured since the last save. A sweep saves after the first visit that ends more than
// saveLeast after the last save. If saving is slow, the sweep waits longer, so that saving takes about saveShare of its
// time, but at most saveMost. Before a visit of more than saveLeast everything is saved, because a signal ends the process
// within a second.
const (
	saveLeast = 500 * time.Millisecond
	saveMost  = 3 * time.Second
	saveShare = 0.02
)

// saveDue reports whether the next save is due.
func (s *sweep) saveDue() bool {
	slow := time.Duration(float64(s.saving) / saveShare)
	return s.elapsed()-s.saved > min(max(saveLeast, slow), saveMost)
}

func (s *sweep) elapsed() time.Duration { return s.Clock.Now() - s.start }

// over reports whether the budget and a tenth more are spent. Then no more implementations are bound or warmed up.
func (s *sweep) over() bool { return s.elapsed() > s.Budget+s.Budget/10 }

// run makes the best visit, over all cases, until nothing is left to learn or the budget is spent.
func (s *sweep) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, size, blocks := s.pick(ctx)
		if e == nil {
			s.reviewEnd()
			return ctx.Err()
		}
		growing, fixed := e.costs.visit(size, blocks, e.alive(size))
		if growing+fixed > saveLeast.Seconds() {
			if err := s.saveAll(); err != nil { // a signal does not wait for the end of a long visit
				return err
			}
		}
		s.progress = Progress{
			Case: e.c.Name, At: e.c.At(size), Visit: s.progress.Visit + 1, Takes: time.Duration((growing + fixed) * float64(time.Second)),
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

// tell reports the progress. waiting says what the sweep waits for, if it does.
func (s *sweep) tell(waiting string) {
	if s.Progress == nil {
		return
	}
	p := s.progress
	p.Waiting, p.Elapsed, p.Budget = waiting, s.elapsed(), s.Budget
	s.Progress(p)
}

// pick returns the visit of the greatest worth, of those of the lowest turn, that fits into the rest of the budget. Without one, the
// entry is nil.
func (s *sweep) pick(ctx context.Context) (best *entry, size, blocks int) {
	left := (s.Budget - s.elapsed()).Seconds()
	if left <= 0 || ctx.Err() != nil {
		return nil, 0, 0
	}
	var most urgency
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
				// Implementations that are no longer timed at a size are not timed above it either.
				e.stopAt(e.costs.below(n))
				continue
			}
			if s.tooDear(ctx, e, n) {
				continue // the planner has a limit now, and proposes another size
			}
			b, ok := s.afford(e, n, b)
			if !ok {
				continue // the planner has a limit now, and proposes another size
			}
			if growing, fixed := e.costs.visit(n, b, e.alive(n)); growing+fixed+s.wakingOf(e, n) > left {
				e.stopAt(e.costs.below(n)) // a smaller size may fit into the rest of the budget
				continue
			}
			if u := s.urgencyOf(e, worth); best == nil || u.compare(most) > 0 {
				best, size, blocks, most = e, n, b, u
			}
			break
		}
	}
	return best, size, blocks
}

// urgency orders the visits that the planners of several cases propose.
type urgency struct {
	turn  int     // a lower one comes first
	worth float64 // of two visits of the same turn, the one of the greater worth comes first
}

// compare returns a positive number if a visit of urgency u comes before one of another urgency.
func (u urgency) compare(other urgency) int {
	return cmp.Or(cmp.Compare(other.turn, u.turn), cmp.Compare(u.worth, other.worth))
}

// urgencyOf returns the urgency of the visit to a case that its planner proposed last, from the worth that the planner says.
func (s *sweep) urgencyOf(e *entry, worth float64) urgency {
	if !s.Brief { // brief visits are to different shapes, and share less of the machine's state
		worth *= e.rested(s.elapsed())
	}
	if e.visits == 0 {
		worth *= unvisited
	}
	u := urgency{worth: worth}
	if orderly, ok := e.planner.(Orderly); ok {
		u.turn = orderly.Turn()
	}
	return u
}

// hopeless is the ratio to the time of the fastest implementation from which on an implementation is hopelessly slow. It is
// then timed in few blocks. Where a visit would take too long, it is not timed.
const hopeless = 4

// leastBlocks is the least number of blocks to which a visit is shortened.
const leastBlocks = 3

// afford returns the number of blocks with which a visit takes no longer than one visit may, or leastBlocks. If the size is
// above the measured ones, afford first drops hopelessly slow implementations. If that does not suffice, it limits the case
// to smaller sizes and returns false. Costs that are the same at every size do not limit the case.
func (s *sweep) afford(e *entry, size, blocks int) (int, bool) {
	measured := e.costs.below(size)
	alive := e.alive(size)
	// A single size does not show how costs grow, because the first visit also made what is made only once.
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

// The cost of a size above the measured ones is foreseen from the two greatest of these. If another program delayed one of
// the two visits by some milliseconds, the forecast may be many times too great. A case that ends does not begin again. So
// it does not end if the last size took less than a shortVisit-th of what a visit may take, and the next one seems to take
// less than doubtfulVisit times what a visit may.
const (
	shortVisit    = 8
	doubtfulVisit = 4
)

// affordHigher drops hopelessly slow implementations for a visit to a size above the measured ones, and returns those that
// are left. If the visit would still take too long, it limits the case to smaller sizes and returns false.
func (s *sweep) affordHigher(e *entry, size, measured, blocks int, alive []int) ([]int, bool) {
	type drop struct {
		impl  *implementation
		ratio float64
	}
	var drops []drop
	if s.State != Warm {
		// Calls take long at every size. Fewer blocks are better than fewer implementations.
		blocks = min(blocks, leastBlocks)
	}
	for {
		cost, _ := e.costs.visit(size, blocks, alive)
		if cost <= s.visitCap {
			break
		}
		slowest, ratio := e.costs.slowest(size, alive)
		if ratio < hopeless {
			if last, _ := e.costs.visit(measured, blocks, alive); last < s.visitCap/shortVisit && cost < doubtfulVisit*s.visitCap {
				break
			}
			e.stopAt(size - 1)
			e.tooLong = tooLong{size, cost}
			return nil, false
		}
		drops = append(drops, drop{e.implementations[slowest], ratio})
		alive = slices.DeleteFunc(alive, func(i int) bool { return i == slowest })
	}
	for _, d := range drops {
		d.impl.limit = measured
		e.warn("%s was not timed above %s: it falls over %d times behind the best", d.impl.Name, e.c.At(measured), int(hopeless))
	}
	return alive, true
}

// coolFor is the longest wait for a throttling machine, unless a quarter of the budget is less.
const coolFor = 30 * time.Second

// cool waits while the machine throttles. After a wait in vain it does not wait again until the machine has been cool,
// because a sweep on a hot machine is worth more than none.
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

// sleep pauses for a time, or until ctx is cancelled.
func (s *sweep) sleep(ctx context.Context, d time.Duration) {
	const doze = 100 * time.Millisecond
	for ; d > 0 && ctx.Err() == nil; d -= doze {
		s.Clock.Sleep(min(d, doze))
	}
}

// saveAll reports what the sentinel has measured, and saves every case that has changed. If a case cannot be saved, the
// others are saved all the same. saveAll returns the first error.
func (s *sweep) saveAll() error {
	begin := s.elapsed()
	defer func() {
		s.saved = s.elapsed()
		s.saving = s.saved - begin
	}()
	if s.Observe != nil && s.sentinel.processors > 0 {
		s.Observe(s.observed())
	}
	var first error
	var saved []*entry
	for _, e := range s.entries {
		if !e.dirty || s.Save == nil {
			continue
		}
		degraded := e.result.Degraded
		e.result.Degraded = degraded || e.disturbed() // blame decides at the end
		err := s.Save(e.result)
		e.result.Degraded = degraded
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		saved = append(saved, e)
	}
	if len(saved) > 0 && s.Saved != nil {
		if err := s.Saved(); err != nil {
			saved, first = nil, cmp.Or(first, err)
		}
	}
	for _, e := range saved {
		e.dirty = false
	}
	return first
}
