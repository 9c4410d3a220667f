package sweeps

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// met returns a neighbour who is there for a share of the time, by turns of 2 ms.
func met(share float64) func(now time.Duration) bool {
	return func(now time.Duration) bool {
		turn := uint64(now / (2 * time.Millisecond))
		return rand.New(rand.NewPCG(turn, 1)).Float64() < share
	}
}

var seldomMet, seldomAlone = met(0.05), met(0.95)

// stretch is what a neighbour does for some time.
type stretch struct {
	shared func(time.Duration) bool
	lasts  time.Duration
}

// Company is usual if it was there for most of the recent time, and only then. A time of company that ends is reported from its
// beginning to its end.
func TestUsualCompany(t *testing.T) {
	const s = time.Second
	type ended struct{ from, until time.Duration } // after settling
	for name, c := range map[string]struct {
		settles func(time.Duration) bool
		then    []stretch
		usual   bool
		ended   []ended
	}{
		"never there":              {never, []stretch{{never, 60 * s}}, false, nil},
		"seldom there":             {seldomMet, []stretch{{seldomMet, 60 * s}}, false, nil},
		"half of the time":         {met(0.5), []stretch{{met(0.5), 600 * s}}, false, nil},
		"less than six tenths":     {met(0.55), []stretch{{met(0.55), 600 * s}}, false, nil},
		"more than six tenths":     {met(0.65), []stretch{{met(0.65), 600 * s}}, true, nil},
		"seldom away":              {seldomAlone, []stretch{{seldomAlone, 600 * s}}, true, nil},
		"eight tenths of the time": {met(0.8), []stretch{{met(0.8), 600 * s}}, true, nil},
		"there for some seconds":   {seldomMet, []stretch{{seldomMet, 60 * s}, {always, 7 * s}, {seldomMet, 60 * s}}, false, nil},
		"there from then on":       {seldomMet, []stretch{{seldomMet, 60 * s}, {seldomAlone, 30 * s}}, true, nil},
		"away for some seconds":    {seldomAlone, []stretch{{seldomAlone, 60 * s}, {never, 3 * s}, {seldomAlone, 60 * s}}, true, nil},
		"away from then on":        {seldomAlone, []stretch{{seldomAlone, 60 * s}, {seldomMet, 30 * s}}, false, []ended{{-99 * s, 60 * s}}},
		"there for a minute": {seldomMet, []stretch{{seldomMet, 60 * s}, {seldomAlone, 60 * s}, {seldomMet, 30 * s}}, false,
			[]ended{{69 * s, 121 * s}}},
		"half, after most of it":   {seldomAlone, []stretch{{seldomAlone, 20 * s}, {met(0.3), 600 * s}}, false, []ended{{-99 * s, 26 * s}}},
		"away for a moment, first": {always, []stretch{{always, 20 * s}, {seldomAlone, 60 * s}}, true, nil},
		"away for a moment, first, and later for good": {always, []stretch{{always, 20 * s}, {seldomAlone, 60 * s}, {never, 30 * s}}, false,
			[]ended{{-99 * s, 80 * s}}},
		"away, for the first time":               {always, []stretch{{always, 20 * s}, {never, 60 * s}}, false, []ended{{-99 * s, 20 * s}}},
		"away half of the time, after some time": {always, []stretch{{always, 20 * s}, {met(0.5), 60 * s}}, false, []ended{{-99 * s, 20 * s}}},
	} {
		g := &guest{slow: 1, shared: c.settles}
		core := g.core()
		core.settle(t.Context(), time.Minute)
		start := g.now
		var got []past
		for _, stretch := range c.then {
			g.shared = stretch.shared
			got = append(got, g.lookFor(core, stretch.lasts)...)
		}
		if core.company.usual != c.usual || len(got) != len(c.ended) {
			t.Errorf("%s: usual %t, want %t; %+v have ended, want %v", name, core.company.usual, c.usual, got, c.ended)
			continue
		}
		for k, p := range got {
			from := max(c.ended[k].from+start, 0)
			if p.company == p.seen || (p.from-from).Abs() > 3*s || (p.until-start-c.ended[k].until-2*s).Abs() > 3*s {
				t.Errorf("%s: %+v has ended (settled at %v), want about %v", name, p, start, c.ended[k])
			}
		}
	}
}

// A second beside a neighbour is not enough for a sweep to begin in usual company, however short the sweep.
func TestCompanyAtTheStart(t *testing.T) {
	for _, budget := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
		for _, there := range []time.Duration{40 * time.Millisecond, 1100 * time.Millisecond} {
			g := &guest{slow: 1}
			g.shared = func(now time.Duration) bool { return now < there && now%(50*time.Millisecond) > time.Millisecond }
			c := newCore(g, budget)
			c.full, c.chain, c.all, c.seen, c.company.possible = g.full, g.chain, nil, nil, true
			within := budget / 25
			c.settle(t.Context(), within)
			if c.company.usual {
				t.Errorf("budget %v, there for %v: usual", budget, there)
			}
			if most := min(2*within, meetMost) + 20*time.Millisecond; g.now > most {
				t.Errorf("budget %v: it settled for %v", budget, g.now)
			}
			g.lookFor(c, there)
			if c.company.usual {
				t.Errorf("budget %v, there for %v: usual later", budget, there)
			}
		}
	}
	// A short sweep in company sees it in time.
	g := &guest{slow: 1, shared: seldomAlone}
	c := newCore(g, time.Second)
	c.full, c.chain, c.all, c.seen, c.company.possible = g.full, g.chain, nil, nil, true
	c.settle(t.Context(), 40*time.Millisecond)
	if g.lookFor(c, 3*companyLeast); !c.company.usual {
		t.Error("company is not usual in a short sweep")
	}
}

// Few looks with long pauses between them make nothing usual.
func TestFewLooks(t *testing.T) {
	g := &guest{slow: 1, shared: never}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	g.shared = always
	for range 20 {
		g.now += 5 * time.Second
		c.look()
	}
	if c.company.usual {
		t.Error("twenty looks within 100 s make company usual")
	}
}

// Helpers of the pool that still poll, on the other thread of the core, are no company.
func TestHelpersAreNoCompany(t *testing.T) {
	g := &guest{slow: 1, shared: never}
	c := g.core()
	c.settle(t.Context(), time.Minute)
	parallel := g.now
	g.shared = func(now time.Duration) bool { return now-parallel < 250*time.Microsecond }
	for range 1000 {
		g.now += 20 * time.Millisecond
		parallel = g.now
		c.look()
	}
	if c.company.share > 0 {
		t.Errorf("helpers are company for %.2f of the time", c.company.share)
	}
}

// With many processors, one of them has no neighbour. A core that is found faster than ever was shared until then.
func TestCompanyOfManyProcessors(t *testing.T) {
	g := &guest{slow: 1, shared: always}
	c := g.core()
	c.company.possible = false
	c.settle(t.Context(), time.Minute)
	g.lookFor(c, time.Minute)
	g.shared = seldomAlone
	if ended := g.lookFor(c, 0); len(ended) > 0 || c.company.usual {
		t.Errorf("usual %t, %+v", c.company.usual, ended)
	}
	g.shared = never
	c.shared()
	if ended := c.pastTimes(); len(ended) != 1 || ended[0].from != 0 {
		t.Errorf("%+v has ended", ended)
	}
}

// Batches are neither repeated nor called disturbed for company that is usual.
func TestBatchesInUsualCompany(t *testing.T) {
	for name, c := range map[string]struct {
		shared func(time.Duration) bool
		waits  bool
	}{"seldom there": {seldomMet, true}, "half of the time": {met(0.5), true}, "seldom away": {seldomAlone, false}} {
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
	}
}

// The share of the sweep in usual company is on record. If it is small, its blocks are those of a disturbed machine. It does not
// matter whether company has ended, or how much of a processor others took meanwhile.
func TestCompanyOfASweep(t *testing.T) {
	for _, c := range []struct {
		since, until time.Duration
		rare         bool
	}{{0, 100, false}, {40, 100, false}, {90, 100, true}, {0, 50, false}, {20, 60, false}, {0, 10, true}, {50, 70, true}} {
		since, until := c.since*time.Second, c.until*time.Second
		g := &guest{slow: 1, shared: never}
		g.now = 5 * time.Second
		s := &sweep{sentinel: sentinel{clock: g, core: g.core()}}
		s.Clock, s.start, s.Budget = g, g.now, 100*time.Second
		e := &entry{c: &kernels.Case{}, result: &Result{}, planner: &counted{}}
		for k := range 100 {
			e.result.Samples.Blocks = append(e.result.Samples.Blocks, timings.Block{Size: k, Elapsed: float64(k)})
		}
		s.entries = []*entry{e}
		s.usage = usage{{s.start, 0}, {s.start + 100*time.Second, 90}}
		core := s.sentinel.core
		core.company.usual, core.company.since = true, s.start+since
		for step := range 100 {
			if g.now += time.Second; time.Duration(step+1)*time.Second == until && until < 100*time.Second {
				core.company.usual, core.company.high = false, g.now
				s.sentinel.pasts = []past{{from: core.company.since, until: g.now, was: "others were there", company: true}}
			}
			s.review()
		}
		s.reviewEnd()
		disturbed := 0
		for _, b := range e.result.Samples.Blocks {
			if b.Disturbed {
				disturbed++
			}
		}
		lasted := int(c.until - c.since)
		if want := map[bool]int{true: lasted}[c.rare]; disturbed != want {
			t.Errorf("%v: %d disturbed blocks, want %d", c, disturbed, want)
		}
		want := float64(lasted) / 100
		if c.rare && until < 100*time.Second {
			want = 0
		}
		if got := s.observed().Company; math.Abs(got-want) > 0.01 {
			t.Errorf("%v: share %.2f, want %.2f", c, got, want)
		}
		s.sentinel.core = nil
		if got := s.observed().Company; got != -1 {
			t.Errorf("where nobody looks: share %.2f", got)
		}
	}
}

// Beside usual company, one processor alone may take a third longer than at its baseline, which stays, and otherwise not. Afterwards
// all baselines are as before.
func TestToleranceInCompany(t *testing.T) {
	g := &guest{slow: 1, shared: never}
	s := newSentinel(g, nil, nil, time.Hour)
	slower := 1.0
	s.spin.run = func() { g.spend(time.Duration(slower * float64(100*time.Microsecond))) }
	all := &work{of: "all", run: func() { g.spend(50 * time.Microsecond) }, tolerance: 0.5, tries: 1, slowerOnly: true, lasts: time.Second}
	s.works, s.core = []*work{s.spin, all}, g.core()
	s.settle(t.Context(), time.Minute)
	quiet := func(for_ time.Duration) (share float64) {
		count, all := 0.0, 0.0
		for until := g.now + for_; g.now < until; g.now += 20 * time.Millisecond {
			if all++; s.quiet() {
				count++
			}
		}
		return count / all
	}
	if got := quiet(time.Second); got < 1 {
		t.Errorf("alone: quiet for %.2f", got)
	}
	baselines := [2]float64{s.spin.baseline, all.baseline}
	g.shared, slower = seldomAlone, 1.3
	quiet(20 * time.Second)
	if got := quiet(20 * time.Second); got < 1 || !s.core.company.usual {
		t.Errorf("in company: quiet for %.2f, usual %t", got, s.core.company.usual)
	}
	before := s.spin.baseline
	slower = 1.1
	if quiet(20 * time.Second); s.spin.baseline != before {
		t.Errorf("in company: baseline %v, want %v", s.spin.baseline, before)
	}
	if g.shared, slower = never, 1; s.core.company.recent == 0 {
		t.Fatal("nothing is recent")
	}
	quiet(30 * time.Second)
	if off := all.baseline / baselines[1]; off < 0.99 || off > 1.01 {
		t.Errorf("after company: baseline of all is %v, want %v", all.baseline, baselines[1])
	}
	if slower = 1.1; s.quiet() {
		t.Error("after company: 10 % slower, and quiet")
	}
}
