package sweeps

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"crossover/pool"
)

// sentinelTolerance is how far a reading may be off the baseline before the machine counts as disturbed.
const sentinelTolerance = 0.05

// crowdTolerance is the same for the work of all processors: a missing processor doubles its time, while a late wake of
// one is part of what parallel work costs. relayTolerance is that of what they take to reach one another, which differs
// between two neighbours and two that are far apart, and several times over between a quiet host and one that moves its
// guests' processors about.
const (
	crowdTolerance = 0.5
	relayTolerance = 1.5
)

// A single spike is not a state of the machine, so a reading is the least of several. Neither is it one that a sleeping
// processor joins in after a millisecond or two.
const (
	spinTries  = 3
	crowdTries = 15
)

// gatherWithin bounds the wait for threads that have just woken on one processor, while another one is free, to be moved
// apart.
const gatherWithin = 25 * time.Millisecond

// Cores that are all busy may clock lower than one of them alone, and keep that for some milliseconds: about 6 % is
// reported of Apple's. So a reading after parallel work that is slower by no more than spreadSlows is taken again, for
// spreadRest at most, until the core has rested. Whoever else computes is there longer, or slows it more.
const (
	spreadSlows = 0.1
	spreadRest  = 12 * time.Millisecond
)

// sentinel watches the machine: it times fixed pieces of work and compares.
type sentinel struct {
	clock Clock
	works []*work
	// Some of the works, and how many processors they are of: what observed tells of. They are nil, and 0, where the
	// machine's processors are not watched.
	spin, alone, all, relay *work
	processors              int
	kept                    []kept // readings beside blocks that were kept
	crowd                   crowding
	// culprit is what was off its baseline last, and moved says how far.
	culprit *work
	moved   string
	pasts   []past // that have come to an end, and that nobody has looked at yet
	// core is nil where it does not matter who else uses the core.
	core *core
	// spread is when work of all processors ended last; 0 where there was none.
	spread time.Duration
	// drowsy says that the machine has been idle before most readings: it gets time to wake up in.
	drowsy bool
}

// wakes is how many times over a drowsy machine may try: some 30 ms of spinning, in which a clock is up again.
const wakes = 100

// work is a fixed piece of work and what it took when the machine was quiet.
type work struct {
	of        string // whose work it is
	run       func()
	tolerance float64
	tries     int // of which the least is a reading
	// slowerOnly says that a faster reading is no disturbance.
	slowerOnly bool
	lasts      time.Duration // for how long a change has to be seen to last
	returns    time.Duration // the same where it is back to an earlier level
	baseline   float64       // seconds; 0 before the first reading
	last       float64       // the last reading, in seconds; 0 where there was none when the machine was looked at last
	epochs     epochs

	gathers  bool     // it says whether the processors work at once
	patience patience // to wait until they do
}

// newSentinel returns a sentinel of one piece of work, or of the default ones where it is nil: work for one processor,
// work for all of them, because a processor that somebody else has taken shows in nothing that one processor does, and a
// relay from one to the next, because how fast they reach one another is what small parallel calls cost. On a virtual
// machine both change within seconds: its processors may become two threads of one core, or two cores far apart. A piece
// of work of one's own may come with such work of several processors. The budget is that of the sweep.
func newSentinel(clock Clock, run func(), together *Together, budget time.Duration) sentinel {
	s := sentinel{clock: clock}
	spin := &work{of: "the machine", run: run, tolerance: sentinelTolerance, tries: spinTries, lasts: lasting}
	if run == nil {
		spin.of, spin.run = "one processor", SpinWork
		together, s.core = pooled(), newCore(clock)
	}
	s.works = []*work{spin}
	if together == nil {
		return s
	}
	s.spin, s.processors = spin, together.Processors
	if together.Processors < 2 {
		return s
	}
	// What one of all takes alone is never off its baseline: the spin says that better. It is there to divide by.
	s.alone = &work{
		of: "one processor of all", run: together.One, tolerance: math.Inf(1), tries: spinTries, slowerOnly: true, lasts: lasting,
	}
	lasts := min(max(budget/lastingShare, lasting), lastingTogether)
	s.all = &work{
		of: "all processors at once", run: together.All, tolerance: crowdTolerance, tries: crowdTries,
		slowerOnly: true, lasts: lasts, returns: lasting, gathers: true, patience: newPatience(gatherWithin),
	}
	s.relay = &work{
		of: "handing work from processor to processor", run: together.HandOver, tolerance: relayTolerance,
		tries: crowdTries, slowerOnly: true, lasts: lasts, returns: lasting,
	}
	s.works = append(s.works, s.alone, s.all, s.relay) // the helpers of a parallel call have parked by then
	return s
}

// crowdWork keeps the multiplier of every processor busy, for about 100 µs. Unlike SpinWork, which mostly waits for its
// own results, it takes twice as long where two processors are threads of one core.
func crowdWork() { pool.Shared().Run(pool.Shared().Workers(), 1, crowd{}) }

type crowd struct{}

func (crowd) Do(_, lo, hi int) {
	for range hi - lo {
		const factor = 6364136223846793005
		x := crowdSink.Load() | 1
		a, b, c, d, e, f, g, h := x, x+2, x+4, x+6, x+8, x+10, x+12, x+14
		for range 35_000 {
			a, b, c, d = a*factor+1, b*factor+1, c*factor+1, d*factor+1
			e, f, g, h = e*factor+1, f*factor+1, g*factor+1, h*factor+1
		}
		crowdSink.Store(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
	}
}

// crowdSink is where the chains begin and end, so that the compiler cannot leave them out.
var crowdSink atomic.Uint64

// relay hands a baton from worker to worker, HandOvers times. It is over after relayWithin even where one of them does
// not come.
type relay struct {
	baton atomic.Int64
	start time.Time
}

const relayWithin = time.Millisecond

func (r *relay) run() {
	r.baton.Store(0)
	r.start = time.Now()
	pool.Shared().Run(pool.Shared().Workers(), 1, r)
}

func (r *relay) Do(_, lo, _ int) {
	workers := int64(pool.Shared().Workers())
	for polls := 1; ; polls++ {
		switch baton := r.baton.Load(); {
		case baton >= HandOvers:
			return
		case baton%workers == int64(lo):
			r.baton.Store(baton + 1)
		case polls%256 == 0 && time.Since(r.start) > relayWithin:
			return
		}
	}
}

// SpinWork is the default sentinel's work: a chain of dependent multiply-adds, about 100 µs of one core, which feels the
// clock rate and whoever else wants the core, and nothing of the memory that the implementations leave behind.
func SpinWork() { chainWork(40_000) }

// chainWork is a chain of so many dependent multiply-adds.
func chainWork(n int) {
	x := math.Float64frombits(spinSink.Load()) // a constant would let the compiler work the chain out
	for range n {
		x = x*0.999999 + 1e-6
	}
	spinSink.Store(math.Float64bits(x))
}

// spinSink is where the chain begins and ends, so that the compiler cannot leave it out. The chain draws near 1.
var spinSink atomic.Uint64

// gather has all processors at work, if that is watched, until they work at once: a system that saves power wakes threads
// on the processor that is awake already and moves them only after some milliseconds. What shares a processor then takes
// twice its time, which is no trait of an implementation that is called again and again.
func (s *sentinel) gather() {
	for _, w := range s.works {
		if w.gathers {
			s.together(w)
		}
	}
}

// together reads a piece of work until it takes no longer than it may or patience ends, and returns the least reading.
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

// spreadLately reports whether parallel work may be why a reading is slow.
func (s *sentinel) spreadLately() bool { return s.spread > 0 && s.clock.Now()-s.spread < spreadRest }

// readUntil reads a piece of work until that is enough seconds or less, or the time is over, and returns the least reading.
func (s *sentinel) readUntil(w *work, enough float64, atMost time.Duration) float64 {
	least := math.Inf(1)
	for start := s.clock.Now(); ; {
		least = min(least, s.read(w, 1, 0))
		if least <= enough || s.clock.Now()-start >= atMost {
			return least
		}
	}
}

// read times a piece of work: the least of so many tries. Once that is enough seconds or less it tries no more.
func (s *sentinel) read(w *work, tries int, enough float64) float64 {
	least := math.Inf(1)
	for range tries {
		start := s.clock.Now()
		w.run()
		least = min(least, (s.clock.Now() - start).Seconds())
		if least <= enough {
			break
		}
	}
	return least
}

// settleShare is the part of the budget that taking the baselines may take: a machine with something else to do may need a
// second for one reading.
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

// settleOn takes a new baseline: once the readings have stopped falling, because an idle machine's clock ramps up first,
// the median of several. A better reading may be luck: nothing else would then be at that baseline. Where the time ends
// first, there are fewer readings, and one at least.
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

// median returns the middle one of some values, and reorders them.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// quiet reports whether the machine is as it was at the baseline. Where a change has lasted it takes over the new baseline,
// and the machine is quiet again. All works of several processors are read, because they change together, and last together.
func (s *sentinel) quiet() bool {
	if s.core != nil {
		if better := s.core.better(); better != "" {
			s.pasts = append(s.pasts, past{until: s.clock.Now(), was: better, seen: true})
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

// look reads a piece of work, and where it is slower than it may be, waits for what is over at once.
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

// backOff waits for the machine to become quiet again, for so long at most or until ctx is cancelled, and reports whether
// it did. It looks once at least, and less and less often.
func (s *sentinel) backOff(ctx context.Context, atMost time.Duration) bool {
	const first, longest = 10 * time.Millisecond, 160 * time.Millisecond
	wait := first
	for start := s.clock.Now(); ctx.Err() == nil; wait = min(2*wait, longest) {
		s.clock.Sleep(wait)
		if s.core != nil {
			s.core.move() // another one may still run at the old rate
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
