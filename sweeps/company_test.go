package sweeps

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crossover/kernels"
)

// met returns a neighbour who is there for a share of the time, by turns of 2 ms.
func met(share float64) func(now time.Duration) bool {
	return func(now time.Duration) bool {
		turn := uint64(now / (2 * time.Millisecond))
		return rand.New(rand.NewPCG(turn, 1)).Float64() < share
	}
}

var seldomMet, seldomAlone = met(0.05), met(0.95)

// Company is usual if it was there for most of the recent time, and only then.
func TestUsualCompany(t *testing.T) {
	for name, c := range map[string]struct {
		start, later func(time.Duration) bool
		lasts        time.Duration // later
		usual        bool
		ended        int
	}{
		"never there":              {never, never, time.Minute, false, 0},
		"seldom there":             {seldomMet, seldomMet, time.Minute, false, 0},
		"seldom away":              {seldomAlone, seldomAlone, time.Minute, true, 0},
		"there for some seconds":   {seldomMet, always, companyFor / 2, false, 0},
		"there from then on":       {seldomMet, seldomAlone, 2 * companyFor, true, 0},
		"away for some seconds":    {seldomAlone, never, companyFor / 2, true, 0},
		"away from then on":        {seldomAlone, seldomMet, 2 * companyFor, false, 1},
		"away for a moment, first": {always, seldomAlone, 2 * companyFor, true, 0},
		"away, for the first time": {always, never, 2 * companyFor, false, 1},
	} {
		g := &guest{slow: 1, shared: c.start}
		core := g.core()
		core.settle(t.Context(), time.Minute)
		if ended := g.lookFor(core, time.Minute); len(ended) > 0 {
			t.Errorf("%s: nothing has changed, and yet there is an end of %+v", name, ended)
		}
		g.shared = c.later
		changed := g.now
		ended := g.lookFor(core, c.lasts)
		if core.company.usual != c.usual || len(ended) != c.ended {
			t.Errorf("%s: usual %t, want %t; %d times have ended, want %d", name, core.company.usual, c.usual, len(ended), c.ended)
		}
		for _, p := range ended {
			if !p.seen || (p.until-changed).Abs() > companyFor/2 {
				t.Errorf("%s: %+v has ended, want an end at %v", name, p, changed)
			}
		}
	}
}

// Batches are neither repeated nor called disturbed for company that is usual. It is on record how often it was there.
func TestBatchesInUsualCompany(t *testing.T) {
	for name, c := range map[string]struct {
		shared func(time.Duration) bool
		waits  bool
		there  float64
	}{
		"seldom there": {seldomMet, true, 0.05}, "half of the time": {met(0.5), true, 0.5}, "seldom away": {seldomAlone, false, 0.95},
	} {
		g := &guest{slow: 1, shared: c.shared}
		s := &sweep{sentinel: sentinel{clock: g, core: g.core()}}
		s.Clock, s.State, s.start = g, Warm, -time.Hour
		s.sentinel.core.settle(t.Context(), time.Minute)
		run := func() error { g.spend(100 * time.Microsecond); return nil }
		a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run}, seconds: 100e-6, iterations: 1}
		disturbed := 0
		for range 1000 {
			_, alone, crowded, err := s.timed(a, 1)
			if err != nil || crowded {
				t.Fatalf("%s: crowded %t (%v)", name, crowded, err)
			}
			if !alone {
				disturbed++
			}
			g.now += 7 * time.Millisecond
		}
		if waited := s.avoided > 0; waited != c.waits || !waited && disturbed > 0 {
			t.Errorf("%s: waited for %v, %d disturbed batches", name, s.avoided, disturbed)
		}
		if got := s.sentinel.observed().Company; math.Abs(got-c.there) > 0.1 {
			t.Errorf("%s: there for %.2f of the time, want %.2f", name, got, c.there)
		}
	}
}

// Beside usual company, one processor alone may take a third longer than at its baseline, and otherwise not.
func TestToleranceInCompany(t *testing.T) {
	for usual, want := range map[bool]bool{false: false, true: true} {
		g := &guest{slow: 1, shared: never}
		s := newSentinel(g, nil, nil, time.Hour)
		s.works, s.core = s.works[:1], g.core()
		s.spin.run = g.chain
		s.settle(t.Context(), time.Minute)
		s.core.company.usual = usual
		g.slow = 1.3
		if got := s.quiet(); got != want {
			t.Errorf("company usual %t: quiet %t, want %t", usual, got, want)
		}
	}
}
