package sweeps

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// sentinelTolerance is the greatest relative distance of a reading from its baseline on an undisturbed machine. Beside
// another guest on the core it is companyTolerance: what the other one does changes by the second, and even a chain of
// dependent operations took 0.92 to 1.32 times its median time beside it, on a Xeon.
const (
	sentinelTolerance = 0.05
	companyTolerance  = 0.35
)

// crowdTolerance is the same for the work of all processors. A missing processor doubles its time, while the late wake of
// one is a normal part of parallel work. relayTolerance is the same for a hand-over between processors. Its time differs
// between two neighbours and two distant processors, and several times over between a quiet host and one that moves its
// guests' processors about.
const (
	crowdTolerance = 0.5
	relayTolerance = 1.5
)

// A single spike is no state of the machine, so a reading is the least of several. The same is true of a sleeping processor
// that joins in after a millisecond or two.
const (
	spinTries  = 3
	crowdTries = 15
)

// gatherWithin is the longest wait for threads that have just woken on one processor, while another one is free, to be moved
// apart.
const gatherWithin = 25 * time.Millisecond

// Cores that are all busy may clock lower than one of them alone, and for some milliseconds after: by about 6 %, as reported
// of Apple's. So a reading after parallel work that is slower by at most spreadSlows is taken again, for at most spreadRest,
// until the core has recovered. Other programs compute for longer, or slow the core more.
const (
	spreadSlows = 0.1
	spreadRest  = 12 * time.Millisecond
)

// sentinel watches the machine: it times fixed pieces of work and compares the times with baselines.
type sentinel struct {
	clock Clock
	works []*work
	// Some of the works, for observed, and the number of their processors. They are nil, and 0, if the machine's processors
	// are not watched.
	spin, alone, all, relay *work
	processors              int
	kept                    []kept // readings next to kept blocks
	crowd                   crowding
	// culprit is the work that was last off its baseline, and moved says how far.
	culprit *work
	moved   string
	pasts   []past // ended, and not reviewed yet
	// core is nil if neighbours on the core do not matter.
	core *core
	// spread is when work of all processors last ended; 0 if there was none.
	spread time.Duration
	// drowsy says that the machine is idle before most readings, so that readings allow time for waking up.
	drowsy bool
}

// wakes is the factor of the tries on a drowsy machine: some 30 ms of spinning, after which a clock is up again.
const wakes = 100

// work is a fixed piece of work, with its time on the quiet machine.
type work struct {
	of        string               // whose work it is, for messages
	run       func()               // timed by the clock; nil if itself says how long it took
	itself    func() time.Duration // nil if run
	tolerance float64
	tries     int // a reading is the least of that many
	// slowerOnly says that a faster reading is no disturbance.
	slowerOnly bool
	lasts      time.Duration // how long a change must be seen before it lasts
	returns    time.Duration // the same for a return to an earlier level
	baseline   float64       // seconds; 0 before the first reading
	last       float64       // the last reading, in seconds; 0 if the last look took none
	epochs     epochs

	gathers  bool     // whether the work shows that the processors work at once
	patience patience // longest wait until they do
}

// newSentinel returns a sentinel of one piece of work, or of the default works if run is nil. The default works are: work on
// one processor; work on all of them, because one processor's work does not show that another one is taken; and a relay from
// one to the next, because the cost of small parallel calls depends on how fast processors reach one another. On a virtual
// machine both change within seconds: its processors may become two threads of one core, or two cores far apart. together
// adds such works to a caller's own run. budget is that of the sweep.
func newSentinel(clock Clock, run func(), together *Together, budget time.Duration) sentinel {
	s := sentinel{clock: clock}
	spin := &work{of: "the machine", run: run, tolerance: sentinelTolerance, tries: spinTries, lasts: lasting}
	if run == nil {
		spin.of, spin.run = "one processor", SpinWork
		together, s.core = pooled(), newCore(clock, budget)
	}
	s.works = []*work{spin}
	if together == nil {
		return s
	}
	s.spin, s.processors = spin, together.Processors
	if together.Processors < 2 {
		return s
	}
	// The work of one of all is never off its baseline, because spin measures that better. It is there as a divisor.
	s.alone = &work{
		of: "one processor of all", run: together.One, tolerance: math.Inf(1), tries: spinTries, slowerOnly: true, lasts: lasting,
	}
	lasts := min(max(budget/lastingShare, lasting), lastingTogether)
	s.all = &work{
		of: "all processors at once", itself: together.All, tolerance: crowdTolerance, tries: crowdTries,
		slowerOnly: true, lasts: lasts, returns: lasting, gathers: true, patience: newPatience(gatherWithin),
	}
	s.relay = &work{
		of: "handing work from processor to processor", run: together.HandOver, tolerance: relayTolerance,
		tries: crowdTries, slowerOnly: true, lasts: lasts, returns: lasting,
	}
	s.works = append(s.works, s.alone, s.all, s.relay) // by then the helpers of a parallel call have parked
	return s
}

// SpinWork is the default sentinel's work: a chain of dependent multiply-adds, about 100 µs on one core. Its time depends on
// the clock rate and on other users of the core, and not on the memory that implementations leave behind.
func SpinWork() { chainWork(40_000) }

// chainWork is a chain of n dependent multiply-adds.
func chainWork(n int) {
	x := math.Float64frombits(spinSink.Load()) // with a constant, the compiler could compute the chain
	for range n {
		x = x*0.999999 + 1e-6
	}
	spinSink.Store(math.Float64bits(x))
}

// spinSink takes part in the chain, so that the compiler cannot leave it out. The chain converges to about 1.
var spinSink atomic.Uint64

// gather keeps all processors working, if that is watched, until they work at the same time. A system that saves power wakes
// threads on the processor that is awake, and moves them only after some milliseconds. Work that shares a processor then
// takes twice its time, which is not a property of an implementation that is called again and again.
func (s *sentinel) gather() {
	for _, w := range s.works {
		if w.gathers {
			s.together(w)
		}
	}
}

// together reads a piece of work until it is fast enough or patience ends, and returns the least reading.
func (s *sentinel) together(w *work) float64 {
	enough := (1 + w.tolerance) * w.baseline
	least := s.readUntil(w, enough, w.patience.now)
	if least <= enough {
		w.patience.rewarded()
	} else {
		w.patience.disappointed()
	}
	return least
}

// spreadLately reports whether recent parallel work may be the reason of a slow reading.
func (s *sentinel) spreadLately() bool { return s.spread > 0 && s.clock.Now()-s.spread < spreadRest }

// readUntil reads a piece of work until a reading is at most enough seconds, or until the time is over. It returns the least
// reading.
func (s *sentinel) readUntil(w *work, enough float64, atMost time.Duration) float64 {
	least := math.Inf(1)
	for start := s.clock.Now(); ; {
		least = min(least, s.read(w, 1, 0))
		if least <= enough || s.clock.Now()-start >= atMost {
			return least
		}
	}
}

// read times a piece of work and returns the least of a number of tries. It stops early at a time of at most enough seconds.
func (s *sentinel) read(w *work, tries int, enough float64) float64 {
	least := math.Inf(1)
	for range tries {
		least = min(least, s.time(w).Seconds())
		if least <= enough {
			break
		}
	}
	return least
}

// time does a piece of work once and returns how long it took.
func (s *sentinel) time(w *work) time.Duration {
	if w.itself != nil {
		return w.itself()
	}
	start := s.clock.Now()
	w.run()
	return s.clock.Now() - start
}

// settleShare is the divisor of the budget that bounds the time for the baselines. On a busy machine one reading may take a
// second.
const settleShare = 5

// settle takes the baselines, within a time.
func (s *sentinel) settle(ctx context.Context, within time.Duration) {
	share := within / time.Duration(len(s.works)+1)
	if s.core != nil {
		s.core.settle(ctx, share)
	}
	for _, w := range s.works {
		s.settleOn(ctx, w, share)
	}
	s.tellCore()
}

// settleOn takes a new baseline: the median of several readings, once readings have stopped falling, because the clock of an
// idle machine rises first. A better reading may be luck, and then all others would be off that baseline. If the time ends
// first, there are fewer readings, but at least one.
func (s *sentinel) settleOn(ctx context.Context, w *work, within time.Duration) {
	const steadyAfter, atMost, count = 40, 400, 15
	w.baseline = 0
	least, steady := math.Inf(1), 0
	start := s.clock.Now()
	early := func(share time.Duration) bool { return ctx.Err() == nil && s.clock.Now()-start < within/share }
	for n := 0; n < atMost && steady < steadyAfter && early(2); n++ {
		reading := s.read(w, w.tries, 0)
		steady++
		if reading < 0.99*least {
			steady = 0
		}
		least = min(least, reading)
	}
	readings := []float64{s.read(w, w.tries, 0)}
	for len(readings) < count && early(1) {
		readings = append(readings, s.read(w, w.tries, 0))
	}
	now := s.clock.Now()
	w.baseline, w.epochs = median(readings), epochs{began: now, read: now}
}

// median returns the middle value. It reorders values.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// quiet reports whether the machine is at its baselines. If a change has lasted, quiet adopts the new baseline, and the
// machine is quiet again. It reads all works of several processors, because they change together, and last together.
func (s *sentinel) quiet() bool {
	if s.core != nil {
		s.core.look()
		s.pasts = append(s.pasts, s.core.pastTimes()...)
		for _, w := range s.works {
			if !w.slowerOnly {
				w.tolerance = s.core.tolerance()
			}
		}
	}
	for _, w := range s.works {
		w.last = 0
	}
	s.culprit = nil
	for _, w := range s.works {
		w.last = s.look(w)
		if w == s.all {
			s.crowd.note(w.epochs.covers(s.clock.Now(), w.lasts), s.figures(lastReading).AllRatio)
		}
		if before := w.baseline; !s.steady(w, w.last) && s.culprit == nil {
			s.culprit = w
			s.moved = fmt.Sprintf("%s took %.2f times as long as at the baseline", w.of, w.last/before)
		}
		if s.culprit != nil && !s.culprit.slowerOnly {
			return false
		}
	}
	return s.culprit == nil
}

// look reads a piece of work. If the work is too slow, look waits for disturbances that end at once.
func (s *sentinel) look(w *work) float64 {
	enough := (1 + w.tolerance) * w.baseline
	switch {
	case s.drowsy:
		return s.read(w, w.tries*wakes, enough)
	case w.slowerOnly:
		reading := s.read(w, w.tries, enough)
		if reading > enough && w.gathers {
			reading = min(reading, s.together(w))
		}
		return reading
	}
	reading := s.read(w, w.tries, 0)
	if reading > enough && reading <= (1+spreadSlows)*w.baseline && s.spreadLately() {
		reading = min(reading, s.readUntil(w, enough, spreadRest))
	}
	return reading
}

// backOff waits for the machine to become quiet again, at most for a time or until ctx is cancelled, and reports whether it
// did. It looks at least once, and less and less often.
func (s *sentinel) backOff(ctx context.Context, atMost time.Duration) bool {
	const first, longest = 10 * time.Millisecond, 160 * time.Millisecond
	wait := first
	for start := s.clock.Now(); ctx.Err() == nil; wait = min(2*wait, longest) {
		s.clock.Sleep(wait)
		if s.core != nil {
			s.core.move() // another core may still run at the old rate
		}
		s.rouse()
		if s.quiet() {
			return true
		}
		if s.clock.Now()-start >= atMost {
			break
		}
	}
	return false
}
