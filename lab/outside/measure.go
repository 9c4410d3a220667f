package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

const (
	visits      = 3                      // to a shape, over the whole run
	sampleTime  = 200 * time.Microsecond // that the calls of a sample take at least
	warmUpTime  = 10 * time.Millisecond  // of an implementation, before the first block of a visit
	longCall    = 2 * time.Millisecond   // from which on no calls before a sample fill caches and wake threads
	leastBlocks = 3                      // of a visit
	mostBlocks  = 14                     // of a visit
	extraTime   = 500 * time.Millisecond // of the first visit, after which no more than leastBlocks follow
	tie         = 1.3                    // the two best are so close that they get more blocks
	farBehind   = 8                      // an implementation that is so far behind is left out
	trialBlocks = 2                      // after so many blocks
)

// entrant is an implementation at a shape.
type entrant struct {
	name    string
	calls   calls     // during a visit
	failure *error    // of a call that another implementation then computed; *failure is nil if there was none
	batch   int       // calls of a sample
	times   []float64 // seconds per call, one for each block of all visits
	leftOut bool
}

// outcome is what was measured at a shape.
type outcome struct {
	operation   *operation
	shape       kernels.Shape
	explanation dispatch.Explanation // of the plan that chooses
	entrants    []entrant
	undivided   []string // implementations on several cores that compute the shape on one, as their counterparts do
	failures    []string // implementations that failed, and why
	blocks      int      // of a visit
	visits      int      // so far
	err         error    // why nothing was measured
}

// answered reports whether the dispatcher knew something of the shape.
func (o *outcome) answered() bool { return o.err == nil && o.explanation.Answer != dispatch.Unknown }

// chosen returns the index of the implementation that the dispatcher chose, or -1. If that one computes the shape on one core,
// it is its counterpart.
func (o *outcome) chosen() int {
	name := o.explanation.Implementation
	if slices.Contains(o.undivided, name) {
		name = onOne(name)
	}
	return slices.IndexFunc(o.entrants, func(e entrant) bool { return e.name == name })
}

// visit times every implementation at the shape, with data in m. d chooses, at the first visit. After an error, and where
// d knows nothing of the shape, visits do nothing. A panic is an error like others, so that a benchmark of many shapes goes
// on and reports it.
func (o *outcome) visit(ctx context.Context, m memory, d *dispatch.Dispatcher, r *rand.Rand) {
	defer func() {
		if cause := recover(); cause != nil {
			o.err = fmt.Errorf("panic: %v", cause)
		}
	}()
	defer m.free() // after the plans are closed
	if o.err != nil || o.visits > 0 && !o.answered() {
		return
	}
	bind, err := o.operation.bind(o.shape, m)
	if err != nil {
		o.err = err
		return
	}
	defer o.close()
	if o.visits == 0 {
		o.err = o.begin(bind, d)
	} else {
		o.err = o.reopen(bind)
	}
	if o.answered() {
		o.err = o.time(ctx, r)
	}
	o.visits++
}

// begin asks what d chooses, and enters the implementations. If d knows nothing of the shape, none enters.
func (o *outcome) begin(bind binding, d *dispatch.Dispatcher) error {
	own, err := bind(d)
	if err != nil {
		return err
	}
	defer own.plan.Close()
	// The plan may learn in a call that its first choice does not work.
	if err := own.run(); err != nil {
		return err
	}
	o.explanation = own.explain()
	if !o.answered() {
		return nil
	}
	for _, name := range o.operation.implementations() {
		if err := o.enter(bind, name); err != nil {
			o.failures = append(o.failures, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if o.chosen() < 0 {
		return fmt.Errorf("%s was chosen and cannot be timed", o.explanation.Implementation)
	}
	return nil
}

// reopen makes the plans of another visit.
func (o *outcome) reopen(bind binding) error {
	for i := range o.entrants {
		if e := &o.entrants[i]; !e.leftOut {
			if err := e.open(bind); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	return nil
}

// time warms the implementations up, and times them block by block.
func (o *outcome) time(ctx context.Context, r *rand.Rand) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for i := range o.entrants {
		if e := &o.entrants[i]; !e.leftOut {
			if err := e.warmUp(); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	more := func(n int, spent time.Duration) bool { return n < o.blocks }
	if o.visits == 0 {
		more = func(n int, spent time.Duration) bool {
			return n < leastBlocks || n < mostBlocks && spent < extraTime && o.near()
		}
	}
	n := 0
	for start := time.Now(); more(n, time.Since(start)); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.block(r); err != nil {
			return err
		}
		if o.visits == 0 && n+1 == trialBlocks {
			o.leaveOut()
		}
	}
	o.blocks = n
	return nil
}

func (o *outcome) close() {
	for i := range o.entrants {
		o.entrants[i].close()
	}
}

// enter adds an implementation. It does nothing if typed plans do not have the implementation.
func (o *outcome) enter(bind binding, name string) error {
	e := entrant{name: name}
	if err := e.open(bind); err != nil || e.calls.explain().Implementation != name {
		e.close()
		return err
	}
	if undivided, err := o.dividesNothing(&e); undivided || err != nil {
		e.close()
		return err
	}
	o.entrants = append(o.entrants, e)
	return nil
}

// open makes the plan of a visit, and calls it once.
func (e *entrant) open(bind binding) (err error) {
	d := dispatch.Always(e.name)
	e.failure, e.batch = new(error), 1
	d.OnFailure(func(f dispatch.Failure) { *e.failure = f.Err })
	if e.calls, err = bind(d); err == nil {
		_, err = e.sample(1)
	}
	return err
}

// close releases the plan, and the data that it computed on.
func (e *entrant) close() {
	if e.calls.plan != nil {
		e.calls.plan.Close()
	}
	e.calls = calls{}
}

// dividesNothing reports whether a call by an implementation on several cores is computed on one, as its counterpart computes
// it, which has entered. Two times of one program would differ by luck alone. Libraries are other programs for several cores: FFTW
// makes another plan then, also where it divides nothing, and OpenBLAS does not use the pool, which tells.
func (o *outcome) dividesNothing(e *entrant) (bool, error) {
	one := onOne(e.name)
	if one == e.name || !strings.HasPrefix(e.name, "go-parallel") || !slices.ContainsFunc(o.entrants, func(e entrant) bool { return e.name == one }) {
		return false, nil
	}
	before := pool.Shared().Divided()
	if _, err := e.sample(1); err != nil || pool.Shared().Divided() > before {
		return false, err
	}
	o.undivided = append(o.undivided, e.name)
	return true, nil
}

// sample returns how long a number of calls takes.
func (e *entrant) sample(calls int) (time.Duration, error) {
	start := time.Now()
	for range calls {
		if err := e.calls.run(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), *e.failure
}

// warmUp calls an implementation until it is warm, and finds how many calls a sample needs.
func (e *entrant) warmUp() error {
	for spent := time.Duration(0); ; {
		t, err := e.sample(e.batch)
		if err != nil {
			return err
		}
		if spent += t; t < sampleTime {
			e.batch *= 2
		} else if spent >= warmUpTime {
			return nil
		}
	}
}

// block times every implementation once, in random order.
func (o *outcome) block(r *rand.Rand) error {
	for _, i := range r.Perm(len(o.entrants)) {
		e := &o.entrants[i]
		if e.leftOut {
			continue
		}
		if err := e.time(); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// time adds the time of a block. The calls before it are as many as those that are timed, unless a call is long.
func (e *entrant) time() error {
	if n := len(e.times); n == 0 || e.times[n-1] < longCall.Seconds() {
		if _, err := e.sample(e.batch); err != nil {
			return err
		}
	}
	t, err := e.sample(e.batch)
	if err == nil {
		e.times = append(e.times, t.Seconds()/float64(e.batch))
	}
	return err
}

// leaveOut leaves out the implementations that are far behind.
func (o *outcome) leaveOut() {
	best := math.Inf(1)
	for _, e := range o.entrants {
		best = min(best, slices.Min(e.times))
	}
	for i := range o.entrants {
		e := &o.entrants[i]
		e.leftOut = i != o.chosen() && slices.Min(e.times) > farBehind*best
	}
}

// near reports whether the two best implementations are close to each other.
func (o *outcome) near() bool {
	var medians []float64
	for _, e := range o.entrants {
		if !e.leftOut {
			medians = append(medians, median(e.times))
		}
	}
	slices.Sort(medians)
	return len(medians) > 1 && medians[1] < tie*medians[0]
}

// onOne returns the name of the implementation that computes on one core what another one computes on several.
func onOne(name string) string { return strings.Replace(name, "-parallel", "", 1) }
