package sweeps

import (
	"testing"
	"time"
)

// clocked is a sentinel of one piece of work on a clock that moves when work is done.
type clocked struct {
	hands
	sentinel
	took time.Duration
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	c := &clocked{took: 100 * time.Microsecond}
	w := &work{of: "it", tolerance: sentinelTolerance, tries: spinTries, run: func() { c.now += c.took }}
	c.sentinel = sentinel{clock: &c.hands, works: []*work{w}}
	c.settle(t.Context(), time.Minute)
	return c
}

// looks has the machine looked at every 20 ms for a while, and returns how often it was found disturbed.
func (c *clocked) looks(every, lasting time.Duration) (disturbed int) {
	for start := c.now; c.now-start < lasting; {
		c.now += every
		if !c.quiet() {
			disturbed++
		}
	}
	return disturbed
}

// What changes and stays begins an epoch after half a second, faster or slower. What is over before that does not.
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

// Readings that do not agree are no level, however long they go on.
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

// A clock that rises or falls slowly is followed.
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

// What several processors take is held against what they would take at the new clock. A clock that has risen is no sign
// that they were disturbed before. What slows them alone stays a disturbance, however long it lasts.
func TestEpochsOfSeveralProcessors(t *testing.T) {
	for _, percent := range []time.Duration{40, 200} {
		m := quietPair()
		s := m.sentinel()
		s.settle(t.Context(), time.Minute)
		quiet := func(looks int) (is bool) {
			for range looks {
				m.now += 20 * time.Millisecond
				is = s.quiet()
			}
			return is
		}
		m.spin, m.one, m.all = m.spin*percent/100, m.one*percent/100, m.all*percent/100
		if !quiet(30) || s.epoch() != 1 || s.better != "" {
			t.Errorf("a clock at %d %%: epoch %d, %s %s", percent, s.epoch(), s.moved, s.better)
		}
		m.all *= 2
		if quiet(100) || s.epoch() != 1 {
			t.Errorf("at %d %%: processors that share a core are quiet, epoch %d", percent, s.epoch())
		}
	}
}

// A processor that has slept is slow until its clock is up. That must not look like a disturbance that goes on.
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

// sleeper is a clock on which sleep ends what kept a processor busy.
type sleeper struct {
	*hands
	busy *time.Duration
}

func (s *sleeper) Sleep(d time.Duration) {
	*s.busy = 0
	s.hands.Sleep(d)
}
