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
	sampleTime  = 200 * time.Microsecond // that the calls of a sample take at least
	warmUpTime  = 20 * time.Millisecond  // of an implementation, before the first block
	longCall    = 2 * time.Millisecond   // from which on no calls before a sample fill caches and wake threads
	leastBlocks = 7
	mostBlocks  = 41
	extraTime   = 1500 * time.Millisecond // of a shape, after which no more than leastBlocks follow
	tie         = 1.3                     // the two best are so close that they get more blocks
	farBehind   = 8                       // an implementation that is so far behind is left out
	trialBlocks = 2                       // after so many blocks
)

// entrant is an implementation at a shape.
type entrant struct {
	name    string
	calls   calls
	failure *error    // of a call that another implementation then computed; *failure is nil if there was none
	batch   int       // calls of a sample
	times   []float64 // seconds per call, one for each block
	leftOut bool
}

// outcome is what was measured at a shape.
type outcome struct {
	operation   string
	shape       string
	explanation dispatch.Explanation // of the plan that chooses
	entrants    []entrant
	undivided   []string // implementations on several cores that compute the shape on one, as their counterparts do
	failures    []string // implementations that failed, and why
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

// measure times every implementation of an operation at a shape, with data in m. d chooses. A panic is an error like others, so
// that a benchmark of many shapes goes on and reports it.
func measure(ctx context.Context, op *operation, s kernels.Shape, m memory, d *dispatch.Dispatcher, r *rand.Rand) (o *outcome) {
	o = &outcome{operation: op.name, shape: shapeText(op.axes, s)}
	defer func() {
		if cause := recover(); cause != nil {
			o.err = fmt.Errorf("panic: %v", cause)
		}
	}()
	defer m.free() // after the plans are closed
	bind, err := op.bind(s, m)
	if err != nil {
		o.err = err
		return o
	}
	own, err := bind(d)
	if err != nil {
		o.err = err
		return o
	}
	defer own.plan.Close()
	// The plan may learn in a call that its first choice does not work.
	if o.err = own.run(); o.err != nil {
		return o
	}
	o.explanation = own.explain()
	if !o.answered() {
		return o
	}
	defer o.close()
	for _, name := range op.implementations() {
		if err := o.enter(bind, name); err != nil {
			o.failures = append(o.failures, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if o.chosen() < 0 {
		o.err = fmt.Errorf("%s was chosen and cannot be timed", o.explanation.Implementation)
		return o
	}

	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for i := range o.entrants {
		e := &o.entrants[i]
		if err := e.warmUp(); err != nil {
			o.err = fmt.Errorf("%s: %w", e.name, err)
			return o
		}
	}
	for start, n := time.Now(), 0; n < leastBlocks || n < mostBlocks && time.Since(start) < extraTime && o.near(); n++ {
		if o.err = ctx.Err(); o.err == nil {
			o.err = o.block(r)
		}
		if o.err != nil {
			return o
		}
		if n+1 == trialBlocks {
			o.leaveOut()
		}
	}
	return o
}

func (o *outcome) close() {
	for _, e := range o.entrants {
		e.calls.plan.Close()
	}
}

// enter adds an implementation. It does nothing if typed plans do not have the implementation.
func (o *outcome) enter(bind binding, name string) error {
	d := dispatch.Always(name)
	failure := new(error)
	d.OnFailure(func(f dispatch.Failure) { *failure = f.Err })
	c, err := bind(d)
	if err != nil {
		return err
	}
	e := entrant{name: name, calls: c, failure: failure, batch: 1}
	if _, err := e.sample(1); err != nil || c.explain().Implementation != name {
		c.plan.Close()
		return err
	}
	if undivided, err := o.dividesNothing(&e); undivided || err != nil {
		c.plan.Close()
		return err
	}
	o.entrants = append(o.entrants, e)
	return nil
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
