package sweeps_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
)

// The machine runs at two thirds of its speed for a while, which the sweep waits out.
func TestThrottlingEpisode(t *testing.T) {
	m := newMachine()
	episode := func(now float64) bool { return now > 0.1 && now < 0.3 || now > 0.6 && now < 0.7 }
	m.speed = func(now float64) float64 {
		if episode(now) {
			return 1.5
		}
		return 1
	}
	r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
	if m.now < 0.7 {
		t.Fatalf("the sweep was over after %v s: it saw no second episode", m.now)
	}
	if r.Discarded.Total() == 0 || m.slept < 0.1 {
		t.Errorf("%d blocks were thrown away and %v s slept", r.Discarded.Total(), m.slept)
	}
	if r.Degraded {
		t.Errorf("degraded: %q", r.Warnings)
	}
	for _, b := range r.Samples.Blocks {
		for i, cost := range []func(float64) float64{quickStarter().cost, slowStarter().cost} {
			if ratio := b.Seconds[i] / cost(float64(b.Size)); ratio > 1.2 {
				t.Errorf("a block at %d has a time %.2f times what it should be: it was taken while the machine was slow", b.Size, ratio)
			}
		}
	}
}

// A clock that settles at another speed costs less than a twentieth of the budget, and degrades nothing.
func TestPermanentChangeOfSpeed(t *testing.T) {
	for _, factor := range []float64{1.5, 1.09, 1 / 1.09} {
		m := newMachine()
		m.speed = func(now float64) float64 {
			if now > 0.3 {
				return factor
			}
			return 1
		}
		r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
		if r.Degraded || len(r.Warnings) > 0 || r.Discarded.Total() == 0 {
			t.Errorf("%v: degraded %v, warnings %q, thrown away %+v", factor, r.Degraded, r.Warnings, r.Discarded)
		}
		f := fit(r)
		if len(f.Segments) != 2 || f.Segments[1].Low > 1030 || f.Segments[1].High < 970 {
			t.Errorf("%v: segments are %+v: a change of speed is no change of threshold", factor, f.Segments)
		}
		if r.Discarded.Total() > 30 || m.slept > 0.8 {
			t.Errorf("%v: %+v was thrown away and %v s slept", factor, r.Discarded, m.slept)
		}
		for _, b := range r.Samples.Blocks {
			if b.Disturbed {
				t.Errorf("%v: a block at %d counts as disturbed", factor, b.Size)
			}
		}
	}
}

// The machine never stays as it is for long. Whether a case is degraded is a matter of luck, which is mostly bad.
func TestRestlessMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	degraded := 0
	for seed := range uint64(5) {
		m := newMachine()
		m.rng = rand.New(rand.NewPCG(seed, 2))
		m.speed = func(now float64) float64 {
			if math.Mod(now, 0.02) > 0.01 {
				return 1.3
			}
			return 1
		}
		r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
		if r.Degraded {
			degraded++
		}
		if r.Discarded.Total() == 0 {
			t.Error("no block was thrown away")
		}
		if f := fit(r); len(f.Segments) != 2 || f.Segments[1].Low > 1050 || f.Segments[1].High < 950 {
			t.Errorf("segments are %+v: the case must not be left empty", f.Segments)
		}
	}
	if degraded < 2 {
		t.Errorf("%d cases of 5 are degraded", degraded)
	}
}

func TestThrottledMachine(t *testing.T) {
	t.Run("for a while", func(t *testing.T) {
		m := newMachine()
		o := m.options(60 * time.Second)
		o.Throttled = func() (string, bool) { return "serious", m.now > 0.02 && m.now < 8 }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 65536, quickStarter(), slowStarter()))[0]
		if r.Degraded || m.slept < 7 {
			t.Errorf("degraded %v after %v s of waiting: the machine was hot for 8 s", r.Degraded, m.slept)
		}
	})
	t.Run("for good", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Throttled = func() (string, bool) { return "serious", true }
		cases := []kernels.Case{
			m.newCase("a/x=1", 64, 65536, quickStarter(), slowStarter()),
			m.newCase("b/x=1", 64, 65536, quickStarter(), slowStarter()),
		}
		for _, r := range m.sweep(t, o, cases...) {
			if !r.Degraded || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "serious") {
				t.Errorf("degraded %v, warnings %q; want one about the thermal state", r.Degraded, r.Warnings)
			}
			if f := fit(r); len(f.Segments) != 2 {
				t.Errorf("segments are %+v: the case must not be left empty", f.Segments)
			}
		}
		if m.slept > 5.1 {
			t.Errorf("the sweep waited %v s of 20", m.slept)
		}
	})
	t.Run("and again later", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Planner = script{{64, 5}, {128, 5}, {256, 5}}.planner
		// Hot until the sweep gives up after ten waits of half a second; cool; then hot for two of them.
		asked := 0
		o.Throttled = func() (string, bool) { asked++; return "serious", asked <= 11 || asked == 13 || asked == 14 }
		m.sweep(t, o, m.newCase("op/x=1", 64, 256, quickStarter()))
		if math.Abs(m.slept-6) > 0.01 {
			t.Errorf("the sweep waited %v s, want 6: a machine that was cool is worth waiting for again", m.slept)
		}
	})
	t.Run("until the sweep is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := m.options(10 * time.Minute)
		o.Throttled = func() (string, bool) { cancel(); return "serious", true }
		_, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, o)
		if !errors.Is(err, context.Canceled) || m.slept > 5 {
			t.Errorf("error %v after %v s of waiting", err, m.slept)
		}
	})
}

// A busy program that runs from the start does not change the sentinel's readings. Its processor time is noticed.
func TestOthersCompute(t *testing.T) {
	for _, c := range []struct {
		share    float64 // of a processor
		degraded bool
	}{{0, false}, {0.05, false}, {0.9, true}, {math.NaN(), false}} {
		m := newMachine()
		o := m.options(5 * time.Second)
		o.Others = func() float64 { return c.share * m.now }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 65536, quickStarter(), slowStarter()))[0]
		if r.Degraded != c.degraded {
			t.Errorf("beside programs that take %v of a processor: degraded %v, warnings %q", c.share, r.Degraded, r.Warnings)
		}
		if c.degraded && !strings.Contains(r.Warnings[0], "other programs or virtual machines took 90 %") {
			t.Errorf("warnings %q", r.Warnings)
		}
	}
}
