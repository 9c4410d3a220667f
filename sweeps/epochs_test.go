package sweeps

import (
	"testing"
	"time"
)

// clocked is a sentinel of one piece of work, on a clock that only the work advances.
type clocked struct {
	hands
	sentinel
	took time.Duration
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	c := &clocked{took: 100 * time.Microsecond}
	w := &work{of: "it", tolerance: sentinelTolerance, tries: spinTries, lasts: lasting, run: func() { c.now += c.took }}
	c.sentinel = sentinel{clock: &c.hands, works: []*work{w}}
	c.settle(t.Context(), time.Minute)
	return c
}

// looks looks at the machine at intervals for a while, and returns how often it was disturbed.
func (c *clocked) looks(every, lasting time.Duration) (disturbed int) {
	for start := c.now; c.now-start < lasting; {
		c.now += every
		if !c.quiet() {
			disturbed++
		}
	}
	return disturbed
}

// A lasting change begins an epoch after half a second, in either direction. A change that is over before that does not.
func TestALastingChangeBeginsAnEpoch(t *testing.T) {
	for _, took := range []time.Duration{50, 91, 109, 140, 300} {
		for _, every := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
			c := newClocked(t)
			c.took = took * time.Microsecond
			if n := c.looks(every, 200*time.Millisecond); n == 0 || c.epoch() != 0 {
				t.Errorf("%d µs for 200 ms, seen every %v: disturbed %d times, epoch %d", took, every, n, c.epoch())
			}
			c.took = 100 * time.Microsecond
			if !c.quiet() || c.epoch() != 0 {
				t.Errorf("%d µs, seen every %v: over, but not quiet", took, every)
			}
			c.took = took * time.Microsecond
			c.looks(every, 700*time.Millisecond)
			if !c.quiet() || c.epoch() != 1 {
				t.Errorf("%d µs for 700 ms, seen every %v: epoch %d, %s", took, every, c.epoch(), c.moved)
			}
			c.took = 100 * time.Microsecond
			if c.quiet() {
				t.Errorf("%d µs: the level of before is quiet at once", took)
			}
			if !c.quiet() || c.epoch() != 2 {
				t.Errorf("%d µs: the level of before is not known again", took)
			}
		}
	}
}

// Readings that do not agree are no level, however many there are.
func TestAnErraticMachineHasNoEpochs(t *testing.T) {
	c := newClocked(t)
	for n := range 500 {
		c.took = 100 * time.Microsecond << (1 + n%3)
		c.now += 20 * time.Millisecond
		if c.quiet() {
			t.Fatalf("reading %d is quiet", n)
		}
	}
	if c.epoch() != 0 {
		t.Errorf("epoch %d", c.epoch())
	}
}

// The baseline follows a clock that rises or falls slowly.
func TestBaselineFollows(t *testing.T) {
	for _, to := range []time.Duration{70, 150} {
		c := newClocked(t)
		for n := range time.Duration(200) {
			c.took = 100*time.Microsecond + (to-100)*time.Microsecond*n/200
			if c.now += 20 * time.Millisecond; !c.quiet() {
				t.Errorf("%v, on the way to %d µs, is not quiet", c.took, to)
			}
		}
		if c.epoch() != 0 {
			t.Errorf("epoch %d", c.epoch())
		}
	}
}

// looks looks at the machine every 20 ms for a while, and returns how often it was disturbed.
func (w *watched) looks(s *sentinel, lasting time.Duration) (disturbed int) {
	for start := w.now; w.now-start < lasting; {
		w.now += 20 * time.Millisecond
		if !s.quiet() {
			disturbed++
		}
	}
	return disturbed
}

// The work of several processors is compared with its time at the new clock. A changed clock does not mean that the
// processors were disturbed before.
func TestAClockIsThatOfAllProcessors(t *testing.T) {
	for _, percent := range []time.Duration{40, 200} {
		m := quietPair()
		s := m.sentinel()
		s.settle(t.Context(), time.Minute)
		m.spin, m.one, m.all = m.spin*percent/100, m.one*percent/100, m.all*percent/100
		m.looks(&s, 600*time.Millisecond)
		if n := m.looks(&s, 10*time.Second); n > 0 || s.epoch() != 1 || len(s.pasts) > 0 {
			t.Errorf("a clock at %d %%: disturbed %d times, epoch %d, %s %v", percent, n, s.epoch(), s.moved, s.pasts)
		}
		for _, c := range []struct {
			times time.Duration
			epoch int
		}{{2, 2}, {1, 3}} {
			m.all = 104 * time.Microsecond * percent / 100 * c.times
			if m.looks(&s, 3500*time.Millisecond); s.epoch() != c.epoch || !s.quiet() {
				t.Errorf("a clock at %d %%, processors that take %d times as long: epoch %d, %s", percent, c.times, s.epoch(), s.moved)
			}
		}
		m.spin, m.one, m.all = m.spin*100/percent, m.one*100/percent, m.all*100/percent
		m.looks(&s, time.Second)
		m.all *= 2 // a known level, at the other clock
		if m.looks(&s, 700*time.Millisecond); s.epoch() != 5 || !s.quiet() {
			t.Errorf("a clock that was at %d %%: epoch %d, %s", percent, s.epoch(), s.moved)
		}
	}
}

// The time of several processors at once, or of a hand-over, may change for good in both directions. A better reading
// disturbs nothing. A worse one does until it has lasted. An earlier level is accepted sooner, if it is a worse one.
func TestEpochsOfSeveralProcessors(t *testing.T) {
	change := map[string]func(m *watched, times time.Duration){
		"all at once": func(m *watched, times time.Duration) { m.all = 104 * time.Microsecond * times },
		"hand-overs":  func(m *watched, times time.Duration) { m.handOver = 30 * times },
	}
	for name, set := range change {
		m := quietPair()
		s := m.sentinel()
		s.settle(t.Context(), time.Minute)
		for k, c := range []struct {
			times     time.Duration // as a multiple of the first time
			lasting   time.Duration
			disturbed time.Duration // at least, and at most twice that
			epoch     int
		}{
			{1, 10 * time.Second, 0, 0},
			{3, 1500 * time.Millisecond, 1500 * time.Millisecond, 0}, // another program
			{1, 10 * time.Second, 0, 0},
			{3, 10 * time.Second, 2900 * time.Millisecond, 1},
			{1, 2500 * time.Millisecond, 0, 1}, // luck
			{3, 10 * time.Second, 0, 1},
			{1, 10 * time.Second, 0, 2},
			{3, 10 * time.Second, 400 * time.Millisecond, 3}, // a known level by now
			{1, 10 * time.Second, 0, 4},
			{3, 300 * time.Millisecond, 300 * time.Millisecond, 4},
			{1, 10 * time.Second, 0, 4},
		} {
			set(m, c.times)
			disturbed := time.Duration(m.looks(&s, c.lasting)) * 20 * time.Millisecond
			if disturbed < c.disturbed*3/4 || disturbed > c.disturbed*3/2 || s.epoch() != c.epoch {
				t.Errorf("%s, step %d: disturbed for %v, want %v; epoch %d, want %d", name, k, disturbed, c.disturbed, s.epoch(), c.epoch)
			}
		}
	}
}

// While the machine's own processors share cores, no neighbours are looked for.
func TestWhoCrowdsWhom(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	g := &guest{slow: 1, shared: never}
	s.core = g.core()
	s.settle(t.Context(), time.Minute)
	for k, c := range []struct {
		all, lasting time.Duration
		own          bool
	}{{104, time.Second, false}, {204, time.Second, false}, {204, 4 * time.Second, true}, {104, time.Second, true}, {104, 4 * time.Second, false}} {
		m.all = c.all * time.Microsecond
		if m.looks(&s, c.lasting); s.core.ownCrowd != c.own {
			t.Errorf("step %d: the processors crowd one another: %t", k, s.core.ownCrowd)
		}
	}
	m.all = 204 * time.Microsecond
	if s.settle(t.Context(), time.Minute); !s.core.ownCrowd {
		t.Error("they crowded one another when the baseline was taken, and nobody knows")
	}
}

// Lucky readings between the others do not prevent an epoch, neither a few of them nor many in a short time.
func TestLuckDelaysNoEpoch(t *testing.T) {
	for _, lucky := range []func(k int) bool{
		func(k int) bool { return k%5 == 0 },
		func(k int) bool { return k%50 < 10 },
		func(k int) bool { return k == 0 },
	} {
		m := quietPair()
		s := m.sentinel()
		s.settle(t.Context(), time.Minute)
		for k := range 250 {
			if m.all = 220 * time.Microsecond; lucky(k) {
				m.all = 110 * time.Microsecond
			}
			m.looks(&s, 20*time.Millisecond)
		}
		if s.epoch() != 1 || !s.quiet() {
			t.Errorf("epoch %d after 5 s: %s", s.epoch(), s.moved)
		}
	}
}

// Readings that scatter up to the tolerance, and sometimes beyond, are of one state.
func TestScatterIsNoEpoch(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	for k := range 1000 {
		if m.all = 145 * time.Microsecond; k%5 == 0 {
			m.all = 165 * time.Microsecond
		}
		m.looks(&s, 20*time.Millisecond)
	}
	if s.epoch() != 0 {
		t.Errorf("epoch %d", s.epoch())
	}
}

// A machine that is worse for half of the time has no second state.
func TestWhatComesAndGoesIsNoEpoch(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	for k := range 1000 {
		if m.all = 104 * time.Microsecond; k%100 < 50 {
			m.all *= 2
		}
		m.looks(&s, 20*time.Millisecond)
	}
	if s.epoch() != 0 {
		t.Errorf("epoch %d", s.epoch())
	}
}

// With a short budget a change counts as lasting sooner, but after half a second at the earliest.
func TestAShortBudgetWaitsForLess(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{
		time.Hour: 3 * time.Second, 90 * time.Second: 3 * time.Second, 30 * time.Second: time.Second, 2 * time.Second: lasting,
	} {
		s := newSentinel(&hands{}, func() {}, &Together{Processors: 2}, budget)
		if s.all.lasts != want || s.relay.lasts != want || s.spin.lasts != lasting {
			t.Errorf("of a budget of %v, a change lasts %v, %v and %v", budget, s.all.lasts, s.relay.lasts, s.spin.lasts)
		}
	}
}

// A processor is slow after sleep until its clock is up. That must not look like a lasting disturbance.
func TestAClockThatFallsInASleep(t *testing.T) {
	c := newClocked(t)
	w := c.works[0]
	busy := time.Duration(0)
	w.run = func() {
		took := c.took
		if busy < 8*time.Millisecond {
			took = took * 3 / 2
		}
		busy += took
		c.now += took
	}
	c.took = 300 * time.Microsecond
	if c.quiet() {
		t.Fatal("three times the time is quiet")
	}
	c.clock = &sleeper{&c.hands, &busy}
	c.took = 100 * time.Microsecond
	if start := c.now; !c.backOff(t.Context(), time.Second) || c.now-start > 30*time.Millisecond {
		t.Errorf("%v of waiting for a machine that is quiet but for its sleep", c.now-start)
	}
}

// sleeper is a clock on which a sleep undoes the effect of keeping a processor busy.
type sleeper struct {
	*hands
	busy *time.Duration
}

func (s *sleeper) Sleep(d time.Duration) {
	*s.busy = 0
	s.hands.Sleep(d)
}
