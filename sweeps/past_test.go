package sweeps

import (
	"math"
	"slices"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// counted is a planner that asks for nothing.
type counted struct {
	limit   int
	doubted []int
}

func (*counted) Next(*timings.Set) (size, blocks int, worth float64) { return 0, 0, 0 }
func (*counted) Visited(int)                                         {}
func (c *counted) Doubted(size int)                                  { c.doubted = append(c.doubted, size) }
func (c *counted) Limit(high int)                                    { c.limit = high }

// pasts returns a sweep of two minutes with one case, at its n-th second. A block began every second, and a new size every
// ten.
func pasts(n int) (s *sweep, e *entry, planners *int) {
	clock := &hands{now: time.Hour}
	planners = new(int)
	s = &sweep{sentinel: sentinel{clock: clock}}
	s.Clock, s.Budget, s.start = clock, 2*time.Minute, clock.now
	s.Planner = func(*kernels.Case) Planner { *planners++; return &counted{} }
	e = &entry{
		result: &Result{}, high: 512, implementations: []*implementation{{}}, done: true, planner: &counted{},
	}
	for second := range n {
		size := 64 << (second / 10)
		e.keep([]timings.Block{{Size: size, Elapsed: float64(second)}}, size)
	}
	s.entries = []*entry{e}
	clock.now += time.Duration(n) * time.Second
	return s, e, planners
}

// In a worse past, only blocks beside another program are replaced.
func TestWhatAPastIs(t *testing.T) {
	const unknown = -1.0
	for name, c := range map[string]struct {
		others float64 // of a processor, in the past
		long   time.Duration
		passed bool
	}{
		"a compile job":                       {2, 10 * time.Second, true},
		"one that takes long":                 {0.9, 50 * time.Second, true},
		"the machine's state":                 {0.02, 10 * time.Second, false},
		"one that nobody can tell from a job": {unknown, 10 * time.Second, true},
		"one that takes long, on a Mac":       {unknown, 40 * time.Second, false},
	} {
		s, _, _ := pasts(60)
		if c.others != unknown {
			busy := 0.0
			s.Others = func() float64 { return busy }
			end := s.Clock.Now()
			clock := s.Clock.(*hands)
			for clock.now = s.start; clock.now < end; clock.now += time.Second {
				s.noteOthers()
				if clock.now < s.start+c.long {
					busy += c.others
				}
			}
		}
		p := past{from: s.start, until: s.start + c.long}
		if got := s.passed(p); got != c.passed {
			t.Errorf("%s: passed %t", name, got)
		}
		if p.seen = true; !s.passed(p) {
			t.Errorf("%s: somebody was seen, but is not past", name)
		}
	}
}

// The share of others is that between the records around a time.
func TestUsage(t *testing.T) {
	var u usage
	if share := u.share(0, time.Second); !math.IsNaN(share) {
		t.Errorf("of nothing known: %v", share)
	}
	for second, taken := range []float64{0, 0, 1, 2, 2} {
		u = append(u, used{time.Duration(second) * time.Second, taken})
	}
	for _, c := range []struct {
		from, until time.Duration
		want        float64
	}{{1, 3, 1}, {0, 4, 0.5}, {3, 4, 0}, {0, 100, 0.5}, {3, 100, 0}} {
		if got := u.share(c.from*time.Second, c.until*time.Second); got != c.want {
			t.Errorf("from %d s to %d s: %v of a processor, want %v", c.from, c.until, got, c.want)
		}
	}
	if share := u.share(1500*time.Millisecond, 1600*time.Millisecond); share != 1 {
		t.Errorf("between two notes: %v", share)
	}
	if share := (usage{{0, math.NaN()}, {1, math.NaN()}}).share(0, 1); !math.IsNaN(share) {
		t.Errorf("where the system does not tell: %v", share)
	}
}

// Early in the sweep, a case whose blocks are mostly of a worse past starts over. Other cases keep such blocks until there
// are better ones of their size.
func TestStartOver(t *testing.T) {
	for name, c := range map[string]struct {
		seconds                      int // of the sweep so far
		from, until                  int // of the past
		forgotten, doubted, replaced int
	}{
		"all of it, early":    {10, 0, 10, 10, 0, 0},
		"most of it, early":   {13, 0, 10, 10, 0, 0},
		"its middle":          {50, 20, 30, 0, 10, 0},
		"some of each size":   {50, 15, 35, 0, 10, 10},
		"all of it, but late": {80, 0, 80, 0, 80, 0},
		"most of it, late":    {80, 0, 65, 0, 60, 5},
		"none of it":          {50, 60, 70, 0, 0, 0},
	} {
		s, e, planners := pasts(c.seconds)
		at := func(second int) time.Duration { return s.start + time.Duration(second)*time.Second }
		s.sentinel.kept = []kept{{at: at(c.until) - 1}, {at: at(c.until)}}
		s.sentinel.pasts = []past{{from: at(c.from), until: at(c.until), was: "it had taken long", epoch: 3, seen: true}}
		s.review()
		doubted, renumbered := 0, 0
		for _, b := range e.result.Samples.Blocks {
			if in := b.Elapsed >= float64(c.from) && b.Elapsed < float64(c.until); in != b.Disturbed {
				t.Fatalf("%s: a block of second %v is disturbed: %t", name, b.Elapsed, b.Disturbed)
			}
			if b.Disturbed {
				doubted++
			}
			if b.Epoch == 3 {
				renumbered++
			}
		}
		if want := (Discarded{Restarts: c.forgotten, Replaced: c.replaced}); doubted != c.doubted || e.result.Discarded != want ||
			len(e.result.Samples.Blocks) != c.seconds-c.forgotten-c.replaced {
			t.Errorf("%s: %d blocks are doubted, of %d; %+v", name, doubted, len(e.result.Samples.Blocks), e.result.Discarded)
		}
		if want := max(0, c.seconds-c.until); renumbered != want {
			t.Errorf("%s: %d blocks are of the new epoch, want %d", name, renumbered, want)
		}
		touched := c.forgotten+c.doubted+c.replaced > 0
		if (*planners > 0) != (c.forgotten > 0) || e.done == touched || touched && (e.planner.(*counted).limit != 512 || !e.dirty) {
			t.Errorf("%s: %d new planners, done %t, dirty %t, limit %d", name, *planners, e.done, e.dirty, e.planner.(*counted).limit)
		}
		if late := c.seconds > 60; (len(s.sentinel.kept) == 1) == late {
			t.Errorf("%s: %d readings are left", name, len(s.sentinel.kept))
		}
		var again []int // sizes without a quiet block
		for _, size := range e.result.Samples.Sizes() {
			if !e.quietAt(size) {
				again = append(again, size)
			}
		}
		if told := e.planner.(*counted).doubted; !slices.Equal(told, again) {
			t.Errorf("%s: the planner is told to doubt %v, want %v", name, told, again)
		}
		if len(s.sentinel.pasts) > 0 {
			t.Errorf("%s: it would start over again and again", name)
		}
	}
}

// A better epoch ends a past only if it began after a worse one. The blocks of the past are those before the better level
// began.
func TestAPastEndsWhereABetterEpochBegins(t *testing.T) {
	m := quietPair()
	m.all *= 2
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	from := m.now
	m.looks(&s, 10*time.Second)
	until := m.now
	m.all /= 2
	m.looks(&s, 10*time.Second)
	if len(s.pasts) != 1 {
		t.Fatalf("pasts are %+v", s.pasts)
	}
	p := s.pasts[0]
	near := func(a, b time.Duration) bool { return (a - b).Abs() < 50*time.Millisecond }
	if !near(p.from, from) || !near(p.until, until) || p.epoch != 1 || p.seen ||
		p.was != "until then, all processors at once took 2.00 times as long as afterwards" {
		t.Errorf("%+v, want it from %v to %v", p, from, until)
	}
	m.all *= 2
	if m.looks(&s, 10*time.Second); len(s.pasts) != 1 || s.epoch() != 2 {
		t.Errorf("epoch %d, and pasts are %+v: a worse one ends no worse one", s.epoch(), s.pasts)
	}
}
