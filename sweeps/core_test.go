package sweeps

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/pool"
)

// guest is a machine whose core is shared at times. Work that fills the core then takes twice as long, and a chain does not.
// Its clock rate changes, too.
type guest struct {
	hands
	slow   float64 // factor of the clock rate
	shared func(now time.Duration) bool
	asked  int // how often all processors were asked to work
}

func (g *guest) spend(d time.Duration) { g.now += time.Duration(g.slow * float64(d)) }

func (g *guest) chain() { g.spend(time.Microsecond) }

func (g *guest) full() {
	if g.shared(g.now) {
		g.spend(2 * time.Microsecond)
	}
	g.spend(2 * time.Microsecond)
}

func (g *guest) core() *core {
	c := newCore(g, time.Hour)
	c.full, c.chain, c.all, c.seen, c.company.possible = g.full, g.chain, nil, nil, true
	return c
}

// pair returns a core that is watched together with another one. The other one does its part unless it sleeps.
func (g *guest) pair(shared, sleeps func() bool) *core {
	c := g.core()
	c.settle(context.Background(), time.Minute)
	c.seen = make([]probe, 2)
	c.all = func(t pool.Task) {
		g.asked++
		t.Do(0, 0, 1)
		if sleeps() {
			return
		}
		own := g.shared
		defer func() { g.shared = own }()
		g.shared = func(time.Duration) bool { return shared() }
		t.Do(1, 1, 2)
	}
	return c
}

func never(time.Duration) bool  { return false }
func always(time.Duration) bool { return true }

// A neighbour is noticed, and a slower clock is not taken for one.
func TestSharedCore(t *testing.T) {
	g := &guest{slow: 1, shared: never}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	for _, slow := range []float64{1, 1.9, 0.7} {
		g.slow = slow
		if g.shared = never; c.shared() {
			t.Errorf("a clock %.1f times as slow counts as a neighbour", slow)
		}
		if g.shared = always; !c.shared() {
			t.Errorf("a clock %.1f times as slow hides a neighbour", slow)
		}
	}
	if ended := c.pastTimes(); len(ended) > 0 {
		t.Errorf("it was alone when it began, and hears: %q", ended[0].was)
	}
}

// lookFor looks at the core about every 23 ms, and returns the times that have ended meanwhile.
func (g *guest) lookFor(c *core, d time.Duration) (ended []past) {
	for until := g.now + d; g.now < until; g.now += 23 * time.Millisecond {
		c.look()
		ended = append(ended, c.pastTimes()...)
	}
	return ended
}

// Once a core is not shared for some time, it is known that it was shared when the sweep began.
func TestCoreSharedFromTheStart(t *testing.T) {
	g := &guest{slow: 1, shared: always}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	if c.shared() || len(c.pastTimes()) > 0 {
		t.Error("nobody can know yet that it is shared")
	}
	g.shared = never
	found := g.now
	ended := g.lookFor(c, 2*companyFor)
	if len(ended) != 1 || ended[0].from != 0 || ended[0].until < found || ended[0].until > found+time.Second ||
		!ended[0].seen || !strings.Contains(ended[0].was, "2.00 times") {
		t.Errorf("it is alone for the first time, and hears: %+v", ended)
	}
	if g.shared = always; !c.shared() || len(c.pastTimes()) > 0 {
		t.Error("the neighbour came back: that makes nothing better")
	}
}

// A clock that cannot distinguish moments a few microseconds apart says nothing.
func TestCoreBesideACoarseClock(t *testing.T) {
	g := &guest{slow: 0, shared: always}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	if ended := g.lookFor(c, time.Minute); c.shared() || c.company.usual || len(ended) > 0 {
		t.Errorf("shared %t, usually %t, %+v", c.shared(), c.company.usual, ended)
	}
}

// The other processors are watched if they are awake, and the core waits for them.
func TestCrowded(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for name, tc := range map[string]struct {
		own            func(time.Duration) bool
		shared, sleeps func() bool
		want           bool
		asked          int
	}{
		"all alone":              {never, no, no, false, 1},
		"the other one shared":   {never, yes, no, true, 1},
		"the own one shared":     {always, no, no, true, 1},
		"the other one sleeping": {never, yes, yes, false, wakeTries},
	} {
		t.Run(name, func(t *testing.T) {
			g := &guest{slow: 1, shared: never}
			c := g.pair(tc.shared, tc.sleeps)
			g.shared = tc.own
			if got := c.crowded(wakeTries); got != tc.want || g.asked != tc.asked {
				t.Errorf("crowded %t after asking %d times, want %t after %d", got, g.asked, tc.want, tc.asked)
			}
		})
	}
	t.Run("by one another", func(t *testing.T) {
		g := &guest{slow: 1, shared: never}
		c := g.pair(yes, no)
		c.ownCrowd = true
		if c.crowded(wakeTries) || g.asked > 0 {
			t.Errorf("crowded after asking %d times: it is not known whether somebody else is there", g.asked)
		}
	})
	t.Run("until it is alone", func(t *testing.T) {
		g := &guest{slow: 1, shared: never}
		var start time.Duration
		c := g.pair(func() bool { return g.now-start < 2*time.Millisecond }, no)
		start = g.now
		if c.seek(); g.now-start < 2*time.Millisecond || g.now-start > 3*time.Millisecond {
			t.Errorf("a wait of %v for a neighbour who goes after 2 ms", g.now-start)
		}
		c = g.pair(yes, no)
		start = g.now
		if c.seek(); g.now-start < seekFor || g.now-start > 2*seekFor {
			t.Errorf("a wait of %v for a neighbour who stays, want about %v", g.now-start, seekFor)
		}
	})
	// A neighbour of the other processor is a reason to try again, but not to call the block disturbed.
	t.Run("beside a batch", func(t *testing.T) {
		for _, stays := range []bool{false, true} {
			g := &guest{slow: 1, shared: never}
			batches := 0
			s := &sweep{sentinel: sentinel{clock: g, core: g.pair(func() bool { return stays || batches == 6 }, no)}}
			s.Clock, s.State, s.start = g, Warm, g.now-time.Hour
			run := func() error { batches++; g.spend(100 * time.Microsecond); return nil }
			a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1}
			_, alone, crowded, err := s.timed(a, 1)
			want := map[bool]int{false: 12, true: 6 * sharedTries}[stays]
			if err != nil || !alone || crowded != stays || batches != want {
				t.Errorf("stays %t: alone %t, crowded %t after %d calls, want %d (%v)", stays, alone, crowded, batches, want, err)
			}
		}
	})
}

// timedOn times a batch that takes 100 µs alone and 160 µs beside a neighbour, and returns the result of timed.
func timedOn(g *guest, elapsed time.Duration, call func() error) (seconds float64, alone bool, s *sweep, err error) {
	s = &sweep{sentinel: sentinel{clock: g, core: g.core()}}
	s.Clock, s.State = g, Warm
	quiet := g.shared
	g.shared = never
	s.sentinel.core.settle(context.Background(), time.Minute)
	g.shared, s.start = quiet, g.now-elapsed
	run := func() error {
		if g.shared(g.now) {
			g.spend(60 * time.Microsecond)
		}
		g.spend(100 * time.Microsecond)
		return call()
	}
	a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1}
	seconds, alone, _, err = s.timed(a, 1)
	return seconds, alone, s, err
}

// A batch beside a neighbour is timed again when the neighbour has gone.
func TestTimedAlone(t *testing.T) {
	fine := func() error { return nil }
	const long = time.Hour
	t.Run("he goes", func(t *testing.T) {
		g := &guest{slow: 1}
		gone := 5 * time.Millisecond
		start := time.Duration(0)
		g.shared = func(now time.Duration) bool { return now-start < gone }
		seconds, alone, _, err := timedOn(g, long, fine)
		if err != nil || !alone || seconds > 101e-6 {
			t.Errorf("%g s, alone %t (%v)", seconds, alone, err)
		}
	})
	// Five calls settle, and the sixth is the batch.
	for name, there := range map[string][2]int{"he comes with the batch": {6, 9}, "he goes with the batch": {5, 6}} {
		t.Run(name, func(t *testing.T) {
			g := &guest{slow: 1}
			calls := 0
			g.shared = func(time.Duration) bool { return calls >= there[0] && calls < there[1] }
			seconds, alone, _, err := timedOn(g, long, func() error { calls++; return nil })
			if err != nil || !alone || calls < 11 {
				t.Errorf("%g s, alone %t after %d calls (%v)", seconds, alone, calls, err)
			}
		})
	}
	t.Run("he stays", func(t *testing.T) {
		g := &guest{slow: 1, shared: always}
		seconds, alone, s, err := timedOn(g, long, fine)
		if err != nil || alone || seconds < 159e-6 {
			t.Errorf("%g s, alone %t (%v)", seconds, alone, err)
		}
		if most := sharedTries * (seekFor + settleFor + time.Millisecond); s.avoided == 0 || s.avoided > most {
			t.Errorf("it waited for %v, want %v at most", s.avoided, most)
		}
	})
	t.Run("hopelessly behind anyway", func(t *testing.T) {
		g := &guest{slow: 1, shared: always}
		s := &sweep{sentinel: sentinel{clock: g, core: g.core()}}
		s.Clock, s.State, s.start = g, Warm, -long
		run := func() error { g.spend(100 * time.Microsecond); return nil }
		a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1, behind: true}
		if _, alone, crowded, err := s.timed(a, 1); err != nil || !alone || crowded || s.avoided != 0 {
			t.Errorf("alone %t, crowded %t after a wait of %v (%v)", alone, crowded, s.avoided, err)
		}
	})
	t.Run("no time for him", func(t *testing.T) {
		g := &guest{slow: 1, shared: always}
		_, alone, s, err := timedOn(g, 0, fine)
		if err != nil || alone || s.avoided > 2*seekFor+2*settleFor {
			t.Errorf("alone %t after a wait of %v (%v)", alone, s.avoided, err)
		}
	})
	t.Run("a call that fails", func(t *testing.T) {
		broken := errors.New("broken")
		if _, _, _, err := timedOn(&guest{slow: 1, shared: always}, long, func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

// A batch of a brief visit looks for a core that nobody else uses, too. Otherwise a quarter of the batches beside an H200 had one
// that was shared.
func TestBriefBatchesAreAlone(t *testing.T) {
	g := &guest{slow: 1}
	g.shared = func(now time.Duration) bool { return now < 5*time.Millisecond }
	s := &sweep{sentinel: sentinel{clock: g, core: g.core()}, brief: true}
	s.Clock, s.State, s.start, s.Brief = g, Warm, -time.Hour, true
	run := func() error { g.spend(100 * time.Microsecond); return nil }
	a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1}
	s.sentinel.core.leastFull, s.sentinel.core.leastChain = 2e-6, 1e-6
	if _, alone, _, err := s.timed(a, 1); err != nil || !alone || s.avoided == 0 {
		t.Errorf("alone %t after a wait of %v (%v)", alone, s.avoided, err)
	}
}

// impatient is a sweep that waits for no quiet core.
func impatient(t *testing.T, g *guest) *sweep {
	s := &sweep{sentinel: sentinel{clock: g, core: g.core()}, caller: newCaller()}
	t.Cleanup(s.caller.close)
	s.Clock, s.State, s.Budget = g, Warm, time.Hour
	s.collections[0].Name = "/gc/cycles/total:gc-cycles"
	s.sentinel.settle(context.Background(), time.Minute)
	s.avoided = time.Hour
	return s
}

// A visit beside a neighbour takes up to as many blocks again for those with the neighbour. If all of them had the
// neighbour, it says so.
func TestVisitBesideANeighbour(t *testing.T) {
	for _, stays := range []bool{false, true} {
		g := &guest{slow: 1, shared: never}
		s := impatient(t, g)
		calls := 0
		g.shared = func(time.Duration) bool { return stays || calls%5 == 0 }
		run := func() error { calls++; g.spend(100 * time.Microsecond); return nil }
		r := &implementation{status: &Status{Name: "go"}, limit: 1 << 20}
		e := &entry{c: &kernels.Case{}, result: &Result{}, implementations: []*implementation{r}, rng: rand.New(rand.NewPCG(1, 2))}
		a := &callable{implementation: r, call: kernels.Call{Run: run}, seconds: 1e-3, iterations: 1}
		s.measure(t.Context(), e, []*callable{a}, nil, 64, 10)
		n := len(e.result.Samples.Blocks)
		if want := 10; !stays && (n != want || e.disturbed()) {
			t.Errorf("%d blocks, disturbed %t, want %d quiet ones", n, e.disturbed(), want)
		}
		if e.blame(); e.result.Degraded != stays || stays && (n != 20 || !strings.Contains(e.result.Warnings[0], neighbour)) {
			t.Errorf("stays %t: %d blocks, degraded %t, %q", stays, n, e.result.Degraded, e.result.Warnings)
		}
	}
}

// A hopelessly slow implementation is timed only in the first quiet blocks of a visit. Blocks beside a neighbour do not
// count.
func TestHopelesslyBehind(t *testing.T) {
	const fine, near, far = 100 * time.Microsecond, 3 * 100 * time.Microsecond, 5 * 100 * time.Microsecond
	for _, early := range []int{0, 3} {
		g := &guest{slow: 1, shared: never}
		s := impatient(t, g)
		e := &entry{c: &kernels.Case{}, result: &Result{}, costs: costs{hopelessBlocks: hopelessBlocks}, rng: rand.New(rand.NewPCG(1, 2))}
		g.shared = func(time.Duration) bool { return len(e.result.Samples.Blocks) < early }
		var callables []*callable
		for k, took := range []time.Duration{fine, near, far} {
			r := &implementation{status: &Status{}, limit: 1 << 20, index: k}
			e.implementations = append(e.implementations, r)
			run := func() error { g.spend(took); return nil }
			callables = append(callables, &callable{implementation: r, call: kernels.Call{Run: run}, seconds: took.Seconds(), iterations: 1})
		}
		s.measure(t.Context(), e, callables, nil, 64, 10)
		times := make([]int, len(callables))
		for _, b := range e.result.Samples.Blocks {
			for k := range times {
				if b.Timed(k) {
					times[k]++
				}
			}
		}
		if want := []int{10, 10, hopelessBlocks}; !slices.Equal(times, want) {
			t.Errorf("after %d blocks beside a neighbour: times are %v, want %v", early, times, want)
		}
	}
}

// If the fastest implementation fails, another one may no longer be hopelessly slow.
func TestBehindWhoFails(t *testing.T) {
	callables := []*callable{{seconds: 1e-3}, {seconds: 5e-3}, {seconds: 30e-3}}
	for _, c := range callables {
		c.implementation = &implementation{}
	}
	if near := markBehind(callables); len(near) != 1 || callables[0].behind || !callables[1].behind || !callables[2].behind {
		t.Errorf("%d are not behind the first", len(near))
	}
	if near := markBehind(callables[1:]); len(near) != 1 || callables[1].behind || !callables[2].behind {
		t.Errorf("%d are not behind the second", len(near))
	}
}

// An implementation on several cores is behind only if its counterpart on one core is.
func TestBehindItsCounterpart(t *testing.T) {
	of := func(name string, cores kernels.Cores, seconds float64) *callable {
		return &callable{implementation: &implementation{Implementation: kernels.Implementation{Name: name, Processor: kernels.CPU, Cores: cores}}, seconds: seconds}
	}
	for name, c := range map[string]struct {
		one, others float64
		behind      bool
	}{
		"the counterpart is the fastest": {4e-6, 8e-6, false}, "the counterpart is behind, too": {50e-6, 8e-6, true},
	} {
		parallel := of("go-parallel/fft", kernels.AllCores, 2e-3)
		markBehind([]*callable{of("go/fft", kernels.OneCore, c.one), of("fftw/fft", kernels.OneCore, c.others), parallel})
		if parallel.behind != c.behind {
			t.Errorf("%s: behind is %v", name, parallel.behind)
		}
	}
}

// After each search in vain, the next one ends sooner. After searches with success it lasts as long as before.
func TestPatience(t *testing.T) {
	g := &guest{slow: 1, shared: never}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	look := func(shared func(time.Duration) bool) time.Duration {
		g.shared = shared
		start := g.now
		c.seek()
		return g.now - start
	}
	first, total := look(always), time.Duration(0)
	for range 20 {
		total += look(always)
	}
	if first < seekFor || total > 2*seekFor {
		t.Errorf("it waited for %v in vain at first and for %v in the next twenty times", first, total)
	}
	for range 10 {
		look(never)
	}
	if again := look(always); again < seekFor {
		t.Errorf("it waited for %v after it had found one ten times, want %v", again, seekFor)
	}
}

// A helper of the pool that polls on the other thread of the core is no neighbour of a parallel batch. Somebody else is, whom only
// crowded tells from it.
func TestHelpersAreNoNeighbours(t *testing.T) {
	for name, c := range map[string]struct {
		cores          kernels.Cores
		alone, crowded bool
	}{"serial": {kernels.OneCore, false, false}, "parallel": {kernels.AllCores, true, true}} {
		g := &guest{slow: 1, shared: never}
		s := &sweep{sentinel: sentinel{clock: g, core: g.pair(func() bool { return true }, func() bool { return false })}}
		s.Clock, s.State, s.start, s.avoided = g, Warm, g.now-time.Second, time.Hour
		run := func() error {
			g.shared = always // the helpers poll from then on
			g.spend(100 * time.Microsecond)
			return nil
		}
		impl := &implementation{Implementation: kernels.Implementation{Processor: kernels.CPU, Cores: c.cores}}
		a := &callable{implementation: impl, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1}
		if _, alone, crowded, err := s.timed(a, 1); err != nil || alone != c.alone || crowded != c.crowded {
			t.Errorf("%s: alone %t, crowded %t (%v)", name, alone, crowded, err)
		}
	}
}
