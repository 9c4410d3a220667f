package dispatch

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crossover/calibration/surface"
	"crossover/dispatch/drift"
)

// Watch times a few calls of a program and compares them with what the calibration predicts. It finds implementations that
// became slower or faster than the others, and with them the choices that are doubtful. If the program calls Duel, the
// implementations in doubt are timed next to each other, and a choice may be swapped.
//
// What all operations have in common is no change: a slower machine changes no ranking. See package drift for the statistics.
// If a program calls only one operation, a slower implementation looks like a slower machine. The Watch then says that it
// cannot know: [Doubt.Alone] and Blind.
//
// All methods may be called concurrently. A nil Watch watches nothing.
type Watch struct {
	d     *Dispatcher
	every int
	clock func() time.Duration // for duels
	turns atomic.Uint64        // number of turns, which seeds their gaps
	cost  atomic.Int64         // nanoseconds that a timed call costs beyond the call itself, with looking at it later
	ended atomic.Bool
	queue queue

	dueling sync.Mutex // one Duel at a time

	timing int64 // the part of cost in the call

	mu           sync.Mutex // guards the fields below; taken before the dispatcher's lock
	calibrations uint64     // of the dispatcher, by which series were made
	detector     *drift.Detector
	series       map[seriesKey]*series
	holds        map[site]*hold
	looking      int64 // the part of cost afterwards
	timed        int64
	unpredicted  int64
	leftOut      int64
}

// The bounds of what a Watch costs.
const (
	defaultEvery = 1000
	// mostShare is the share of a program's time that the timed calls of a Turn cost.
	mostShare = 0.002
	// forgotten is the number of timed calls after which a series without one gives its place to another one.
	forgotten = 4096
)

// Watch begins to watch the calls of all plans of the dispatcher, the stages on the processor and the lists of kernels of its
// pipelines (see [Stage] and [Dispatcher.ListIn]), and the calls that the program times itself by [Watch.Turn]. One call in
// every is timed, 0 stands for 1000. Fewer are timed if the cost would exceed 0.2 % of the time. A call that is not timed
// costs a comparison more, and a call that is timed waits for nothing and allocates nothing. What was timed is looked at when
// the program calls Doubtful, Duel, Blind or State.
//
// Nothing is swapped unless the program calls Duel. The method and state of the calibration must be those of the program's
// calls: the default, "latency" and "warm". Watch fails, with one line, if they are not, if there is no calibration, if every
// is below 0, or if the dispatcher watches already.
func (d *Dispatcher) Watch(every int) (*Watch, error) {
	switch {
	case d.none():
		return nil, errors.New("dispatch: a nil or zero dispatcher watches nothing; make one with Load or New")
	case every < 0:
		return nil, fmt.Errorf("dispatch: cannot time one call in %d (want at least 1, or 0 for %d)", every, defaultEvery)
	case every == 0:
		every = defaultEvery
	}
	start := time.Now()
	w := &Watch{d: d, every: every, clock: func() time.Duration { return time.Since(start) }}
	w.queue.init()
	w.timing, w.looking = costOfTiming(), 1000
	w.cost.Store(w.timing + w.looking)
	w.forget()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch h := d.entry.host; {
	case d.watch.Load() != nil:
		return nil, errors.New("dispatch: the dispatcher watches already; close that Watch first")
	case h == nil:
		return nil, fmt.Errorf("dispatch: nothing to compare calls with: %s", d.entry.fallback)
	case h.Method.Mode != "latency" || h.Method.State != "warm":
		return nil, fmt.Errorf("dispatch: the calibration of %s has times of mode %s and state %s (want latency and warm)", h.ID, h.Method.Mode, h.Method.State)
	}
	w.calibrations = d.calibrations
	d.watch.Store(w)
	d.changes.Add(1)
	return w, nil
}

// Watching returns the present Watch of the dispatcher, nil if there is none.
func (d *Dispatcher) Watching() *Watch {
	if d.none() {
		return nil
	}
	return d.watch.Load()
}

// Changes returns a number that changes at each Retry, and when a Watch begins or ends. Plans compare it at each call.
func (d *Dispatcher) Changes() uint64 {
	if d == nil {
		return 0
	}
	return d.changes.Load()
}

// costOfTiming returns how many nanoseconds two readings of the clock and a place in the queue take here.
func costOfTiming() int64 {
	const calls, queued = 101, 100 // a queue takes some 50 ns
	costs := make([]time.Duration, calls)
	for i := range costs {
		start := time.Now()
		_ = time.Since(start)
		costs[i] = time.Since(start)
	}
	slices.Sort(costs)
	return int64(costs[calls/2]) + queued
}

// Close ends the watching. Choices that were swapped stay swapped until the calibration is replaced (Swap, Reload). A second
// Close does nothing.
func (w *Watch) Close() {
	if w == nil || w.ended.Swap(true) {
		return
	}
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	w.d.watch.CompareAndSwap(w, nil)
	w.d.changes.Add(1)
}

// Turn says which calls of a goroutine are timed. The zero Turn times none. Only one goroutine at a time may use a Turn. Plans
// have Turns of their own. A program with implementations of its own makes one for each goroutine, and goes by it:
//
//	if !turn.Due() {
//		call()
//	} else {
//		start := time.Now()
//		call()
//		turn.Case(fft, n, dispatch.Timed{Implementation: name, Took: time.Since(start), Trial: trial})
//	}
type Turn struct {
	w      *Watch
	left   int // calls until the next one that is timed; 0 for never
	random uint64
}

// Turn returns a Turn of the watch. The Turn of a nil Watch times no call.
func (w *Watch) Turn() Turn {
	if w == nil {
		return Turn{}
	}
	t := Turn{w: w, random: w.turns.Add(1) * 0x9e3779b97f4a7c15}
	t.arm(w.every)
	return t
}

// Due reports whether the next call shall be timed.
func (t *Turn) Due() bool {
	if t.left == 0 {
		return false
	}
	t.left--
	return t.left == 0 && t.rearm()
}

func (t *Turn) rearm() bool {
	if t.w.ended.Load() {
		return false
	}
	t.arm(t.w.every)
	return true
}

// arm draws how many calls it takes until the next one is timed: about every. A fixed number could go along with a period of
// the program.
func (t *Turn) arm(every int) {
	t.random ^= t.random << 13
	t.random ^= t.random >> 7
	t.random ^= t.random << 17
	t.left = every
	if every > 1 {
		t.left = every/2 + 1 + int(t.random%uint64(every))
	}
}

// Timed is a call that was timed.
type Timed struct {
	Implementation string
	Took           time.Duration
	// Trial runs implementations at a shape, for duels. Nil means that nothing is swapped.
	Trial Trial
	// Factors are how many times as long calls take where the program makes them as they take alone, by implementation: see
	// [Stage]. Nil stands for factors of 1. The map must not change.
	Factors map[string]float64
	// Forecast predicts how long calls take alone, where the calibration has no such operation: see [Dispatcher.ListIn]. Nil stands
	// for the calibration.
	Forecast Forecast
}

// Forecast predicts the seconds of a call at a shape, alone, by an implementation, and returns false if it cannot. It may take
// long, and is never called by who makes the calls. It must not call the Watch.
type Forecast func(implementation string, shape []int) (seconds float64, known bool)

// Trial makes a call of an implementation at a shape, with inputs and outputs of its own, for a duel. run computes the call,
// again and again. end releases what the call holds. A Trial is called by the goroutine of Duel, while other calls go on.
type Trial func(implementation string, shape []int) (run func() error, end func(), err error)

// Case hands over a call at a size of a case. shape is what the Trial gets, by default the size. Case waits for nothing and
// allocates nothing.
func (t *Turn) Case(c *Case, size int, call Timed, shape ...int) {
	one := timed{of: c, size: size, values: len(shape)}
	if copy(one.shape[:], shape) < len(shape) || size < 1 {
		return
	}
	if one.values == 0 {
		one.shape[0], one.values = size, 1
	}
	t.hand(&one, call)
}

// Operation hands over a call at a shape of an operation, as Case does.
func (t *Turn) Operation(o *Operation, call Timed, shape ...int) {
	one := timed{over: o, values: len(shape)}
	if copy(one.shape[:], shape) < len(shape) || slices.ContainsFunc(shape, func(v int) bool { return v < 1 }) {
		return
	}
	t.hand(&one, call)
}

func (t *Turn) hand(one *timed, call Timed) {
	w := t.w
	if w == nil || w.ended.Load() || call.Took <= 0 {
		return
	}
	one.implementation, one.took, one.trial, one.factors, one.forecast = call.Implementation, call.Took, call.Trial, call.Factors, call.Forecast
	w.queue.push(one)
	if least := float64(w.cost.Load()) / (mostShare * float64(call.Took)); least > float64(w.every) {
		t.arm(int(min(least, math.MaxInt32)))
	}
}

// timed is a timed call in the queue.
type timed struct {
	of             *Case
	over           *Operation // nil if of is not
	size           int        // of a case
	shape          [surface.MostAxes]int
	values         int // of the shape
	implementation string
	took           time.Duration
	trial          Trial
	factors        map[string]float64
	forecast       Forecast
}

// factor returns how many times as long a call takes there as it takes alone, and false where that is not known.
func (t *timed) factor(implementation string) (factor float64, known bool) {
	if t.factors == nil {
		return 1, true
	}
	factor = t.factors[implementation]
	return factor, factor > 0
}

// site is a case or an operation at sizes between powers of two. A choice is in doubt, and swapped, at a site.
type site struct {
	of      *Case
	over    *Operation
	octaves [surface.MostAxes]uint8 // number of binary digits of the size, or of each value
}

func (t *timed) site() site {
	p := site{of: t.of, over: t.over}
	if t.of != nil {
		p.octaves[0] = uint8(bits.Len(uint(t.size)))
		return p
	}
	for i := range t.values {
		p.octaves[i] = uint8(bits.Len(uint(t.shape[i])))
	}
	return p
}

// name returns the name of the case or operation.
func (p *site) name() string {
	if p.of != nil {
		return p.of.name
	}
	return p.over.name
}

// in returns the stage that the calls are in, and the zero value if they are in none.
func (p *site) in() stageOf {
	if p.of != nil {
		return p.of.in.stageOf
	}
	return p.over.in.stageOf
}

// names returns the implementations that the program has, nil if it does not say.
func (p *site) names() []string {
	if p.of != nil {
		return p.of.names
	}
	return p.over.names
}

// sizes returns the sizes of a case at the site.
func (p *site) sizes() (from, to int) {
	digits := p.octaves[0]
	return 1 << (digits - 1), int(uint(1)<<digits - 1)
}

type seriesKey struct {
	site
	implementation string
}

// series is the timed calls of an implementation at a site.
type series struct {
	seriesKey
	*drift.Series
	forecast forecast
	last     timed
	seen     int64 // number of timed calls, at the last one here
	since    time.Time
}

// hold keeps a site from being dueled for again and again. Each duel doubles the step.
type hold struct {
	until time.Time
	step  time.Duration
}

const (
	firstHold = time.Minute
	mostHold  = time.Hour
)

// next begins the next hold.
func (h *hold) next(now time.Time) {
	h.step = min(max(2*h.step, firstHold), mostHold)
	h.until = now.Add(h.step)
}

// forget forgets all series. The caller holds the lock, or has just made the watch.
func (w *Watch) forget() {
	w.detector, w.series, w.holds = &drift.Detector{}, map[seriesKey]*series{}, map[site]*hold{}
}

// look takes what was timed from the queue. The caller holds the lock.
func (w *Watch) look() {
	w.d.mu.Lock()
	calibrations := w.d.calibrations
	w.d.mu.Unlock()
	if calibrations != w.calibrations {
		w.calibrations = calibrations
		w.forget()
	}
	start, n := time.Now(), int64(0)
	var one timed
	for n < queued && w.queue.pop(&one) {
		w.take(&one)
		n++
	}
	const enough = 16 // for a mean
	if n >= enough {
		w.looking = (3*w.looking + int64(time.Since(start))/n) / 4
		w.cost.Store(w.timing + w.looking)
	}
}

// take adds a timed call to its series.
func (w *Watch) take(one *timed) {
	w.timed++
	key := seriesKey{one.site(), one.implementation}
	s := w.series[key]
	if s == nil {
		f := w.d.forecastOf(key.site)
		_, scatter, known := f.at(one, one.implementation)
		if !known {
			w.unpredicted++
			return
		}
		if s = w.newSeries(key, scatter); s == nil {
			w.leftOut++
			return
		}
		s.forecast = f
	}
	seconds, _, known := s.forecast.at(one, one.implementation)
	if !known {
		w.unpredicted++
		return
	}
	s.last, s.seen = *one, w.timed
	s.Observe(math.Log(one.took.Seconds() / seconds))
	if _, changed := s.Change(); !changed {
		s.since = time.Time{}
	} else if s.since.IsZero() {
		s.since = w.d.now()
	}
}

// newSeries makes a series, if need be in place of one that is no longer called. It returns nil if there are too many.
func (w *Watch) newSeries(key seriesKey, scatter float64) *series {
	limit := drift.Matters/2 + 3*scatter
	of := w.detector.Add(limit)
	if of == nil {
		var oldest *series
		for _, s := range w.series {
			if oldest == nil || s.seen < oldest.seen {
				oldest = s
			}
		}
		if w.timed-oldest.seen < forgotten {
			return nil
		}
		oldest.Remove()
		delete(w.series, oldest.seriesKey)
		of = w.detector.Add(limit)
	}
	s := &series{seriesKey: key, Series: of}
	w.series[key] = s
	return s
}

// WatchState says what a Watch has seen.
type WatchState struct {
	Timed  int64 // calls that were timed
	Series int   // number of implementations, each at similar shapes, that are watched
	// Missed calls were timed while the queue was full, because nobody asked the Watch for long. Unpredicted ones are calls for
	// which the calibration predicts nothing. LeftOut ones belong to more series than a Watch has.
	Missed, Unpredicted, LeftOut int64
	Blind                        string // see [Watch.Blind]
}

// State returns what the watch has seen until now.
func (w *Watch) State() WatchState {
	if w == nil {
		return WatchState{Blind: w.Blind()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return WatchState{w.timed, len(w.series), w.queue.missed.Load(), w.unpredicted, w.leftOut, w.blind()}
}

// Blind says in one clause why the Watch cannot know which implementation became slower, "" if it can.
func (w *Watch) Blind() string {
	if w == nil {
		return "nothing is watched"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return w.blind()
}

func (w *Watch) blind() string {
	var one *series
	few := false
	for _, s := range w.series {
		if s.Compared() {
			return ""
		}
		one = s
		few = few || s.Values() < drift.Enough
	}
	switch {
	case one == nil:
		return "no call was timed for which the calibration predicts a time"
	case len(w.series) == 1:
		return fmt.Sprintf("only %s by %s is called, so a slower implementation looks like a slower machine", one.in().before(one.name()), one.implementation)
	case few:
		return "too few calls were timed until now"
	}
	return "no two operations are called in turn, so a slower implementation looks like a slower machine"
}
