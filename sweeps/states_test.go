package sweeps_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
)

// stateful is a machine whose processors are faster or slower together at different times. Calls take the same time in every
// state, so that the lost blocks can be counted.
type stateful struct {
	allRatio over // time of all processors at once divided by that of one alone
	handOver over // in nanoseconds; nil means 30
	others   over // processor seconds of other programs; nil if they are not reported
}

// over is a quantity over the time, in seconds.
type over func(now float64) float64

func constant(value float64) over { return func(float64) float64 { return value } }

// during returns o with another value in some time.
func (o over) during(from, until, value float64) over {
	return func(now float64) float64 {
		if now >= from && now < until {
			return value
		}
		return o(now)
	}
}

// alternating returns a quantity that alternates between two values, each for a number of seconds.
func alternating(first, second, seconds float64) over {
	return func(now float64) float64 {
		if math.Mod(now, 2*seconds) < seconds {
			return first
		}
		return second
	}
}

// idle is the processor time of other programs that do next to nothing.
func idle(now float64) float64 { return 0.02 * now }

// machine returns the machine, and the options of a sweep on it.
func (s stateful) machine(budget time.Duration) (*machine, sweeps.Options) {
	m := newMachine()
	o := m.options(budget)
	o.Virtual = true
	if s.handOver == nil {
		s.handOver = constant(30)
	}
	o.Together = &sweeps.Together{
		Processors: 2,
		One:        func() { m.spend(100e-6 * m.mood) },
		All:        m.taking(func() float64 { return 100e-6 * s.allRatio(m.now) * m.mood }),
		HandOver:   func() { m.spend(sweeps.HandOvers * 1e-9 * s.handOver(m.now) * m.mood) },
	}
	if s.others != nil {
		o.Others = func() float64 { return s.others(m.now) }
	}
	return m, o
}

// sweep sweeps two cases for all of a budget.
func (s stateful) sweep(t *testing.T, budget time.Duration) (results []*sweeps.Result, observed sweeps.Observed) {
	t.Helper()
	m, o := s.machine(budget)
	o.Planner = func(*kernels.Case) sweeps.Planner { return new(endless) }
	o.Observe = func(seen sweeps.Observed) { observed = seen }
	one, other := implementation{name: "go", cost: linear(1.5e-3, 1e-9)}, implementation{name: "parallel", cost: linear(1.6e-3, 1e-10)}
	return m.sweep(t, o, m.newCase("a", 64, 1<<20, one, other), m.newCase("b", 64, 1<<20, one, other)), observed
}

// States and hand-overs that we measured, on machines of 16 and of two processors. The baselines are taken before settled.
const (
	apart, together = 1.05, 2.1
	near, far       = 30, 165
	settled         = 0.4
)

// A virtual machine with two states loses next to no block and degrades no case, whichever state it was in at the baseline,
// and whether or not other programs are reported.
func TestTwoStates(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	const budget = 85 * time.Second
	// In one state the sentinel's own work takes longer.
	fast, _ := stateful{allRatio: constant(apart)}.sweep(t, budget)
	slow, _ := stateful{allRatio: constant(together)}.sweep(t, budget)
	luckEverySecond := func(now float64) float64 {
		if now < settled || math.Mod(now, 1) < 0.05 {
			return apart
		}
		return together
	}
	for name, c := range map[string]struct {
		stateful
		share  float64 // share of the time, together
		epochs int
	}{
		"a moment's luck":     {stateful{allRatio: constant(together).during(0, settled, apart), others: idle}, 1, 2},
		"a moment's bad luck": {stateful{allRatio: constant(apart).during(0, settled, together)}, 0, 2},
		"luck now and then":   {stateful{allRatio: luckEverySecond, others: idle}, 1, 2},
		"luck for a second and two": {
			stateful{allRatio: constant(together).during(0, settled, apart).during(40, 41, apart).during(60, 62, apart)}, 1, 2,
		},
		"luck, then states of 40 s": {stateful{allRatio: alternating(together, apart, 40).during(0, settled, apart), others: idle}, 45. / 85, 4},
		"states of 40 s":            {stateful{allRatio: alternating(apart, together, 40)}, 40. / 85, 3},
		"states of a minute":        {stateful{allRatio: alternating(together, apart, 60), others: idle}, 60. / 85, 2},
		"hand-overs": {
			stateful{allRatio: constant(apart), handOver: alternating(far, near, 40).during(0, settled, near)}, 0, 4,
		},
		"both": {
			stateful{
				allRatio: alternating(together, apart, 40).during(0, settled, apart),
				handOver: alternating(far, near, 40).during(0, settled, near), others: idle,
			}, 45. / 85, 7,
		},
	} {
		results, seen := c.sweep(t, budget)
		want := (1-c.share)*float64(quietBlocks(fast)) + c.share*float64(quietBlocks(slow))
		lost := 1 - float64(quietBlocks(results))/want
		t.Logf("%-26s %4.1f %% of %5.0f blocks, %d epochs, %+v, %+v", name, 100*lost, want, seen.Epochs, seen.Discarded, seen.Crowded)
		if lost > 0.05 {
			t.Errorf("%s: %.1f %% of %.0f blocks are lost, want 5 %% at most: %+v", name, 100*lost, want, seen.Discarded)
		}
		if seen.Epochs != c.epochs {
			t.Errorf("%s: %d epochs, want %d", name, seen.Epochs, c.epochs)
		}
		if got := seen.Crowded; math.Abs(got.Share-c.share) > 0.06 || c.share > 0.1 && math.Abs(got.AllRatio-together) > 0.1 {
			t.Errorf("%s: %+v, want a share of %.2f", name, got, c.share)
		}
		for _, r := range results {
			if r.Degraded {
				t.Errorf("%s: %s is degraded, %q", name, r.Case.Name, r.Warnings)
			}
		}
	}
}

// The blocks of a machine with two states have the number of their epoch.
func TestBlocksOfTwoStates(t *testing.T) {
	results, _ := stateful{allRatio: alternating(apart, together, 10), others: idle}.sweep(t, 40*time.Second)
	for _, r := range results {
		var blocks [4]int
		for _, b := range r.Samples.Blocks {
			want := int(b.Elapsed / 10)
			if left := 10 - math.Mod(b.Elapsed, 10); b.Disturbed || left < 0.05 {
				continue
			}
			if b.Epoch != want {
				t.Fatalf("a block that began after %v s is of epoch %d, want %d", b.Elapsed, b.Epoch, want)
			}
			blocks[want]++
		}
		for k, n := range blocks {
			if n < 100 {
				t.Errorf("%s: %d blocks of epoch %d", r.Case.Name, n, k)
			}
		}
	}
}

// quietIn counts the undisturbed blocks that began in a time.
func quietIn(results []*sweeps.Result, from, until float64) (count int) {
	for _, r := range results {
		for _, b := range r.Samples.Blocks {
			if !b.Disturbed && b.Elapsed >= from && b.Elapsed < until {
				count++
			}
		}
	}
	return count
}

// Another program costs the blocks beside it, and no others. It runs for a second and a half anywhere, for ten seconds at
// the start, when the baseline is taken, and for most of the sweep.
func TestAnotherProgramCostsItsBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	const budget = 120 * time.Second
	reference, _ := stateful{allRatio: constant(apart)}.sweep(t, budget)
	for name, c := range map[string]struct {
		from, until float64
		unseen      bool // the system does not report other programs
		epochs      int
	}{
		"for a moment":                     {60, 61.5, false, 1},
		"for a moment, on a Mac":           {60, 61.5, true, 1},
		"in the first ten seconds":         {0, 10, false, 2},
		"in the first ten seconds, on Mac": {0, 10, true, 2},
		"in the middle":                    {30, 45, false, 3},
		"in the middle, on a Mac":          {30, 45, true, 3},
		"in the first half":                {0, 60, false, 2},
	} {
		s := stateful{allRatio: constant(apart).during(c.from, c.until, together)}
		if !c.unseen {
			s.others = func(now float64) float64 { return 1.9 * (min(max(now, c.from), c.until) - c.from) }
		}
		results, seen := s.sweep(t, budget)
		all, beside := quietIn(results, 0, math.Inf(1)), quietIn(results, c.from+settled, c.until-0.05)
		lost := 1 - float64(all)/float64(quietBlocks(reference))
		t.Logf("%-35s %4.1f %% of %d blocks, %d epochs, %+v, %q", name, 100*lost, quietBlocks(reference), seen.Epochs, seen.Discarded, results[0].Warnings)
		if beside > 0 {
			t.Errorf("%s: %d blocks beside it count as quiet", name, beside)
		}
		if most := (c.until-c.from+2)/budget.Seconds() + 0.02; lost > most {
			t.Errorf("%s: %.1f %% of the blocks are lost, want %.1f %% at most", name, 100*lost, 100*most)
		}
		if seen.Epochs != c.epochs {
			t.Errorf("%s: %d epochs, want %d", name, seen.Epochs, c.epochs)
		}
		for _, r := range results {
			if r.Degraded {
				t.Errorf("%s: %s is degraded, %q", name, r.Case.Name, r.Warnings)
			}
		}
	}
}

// A state in which a virtual machine is for a small part of a run costs the blocks of that time, wherever it lies. Without
// that, sizes that were visited in it alone would be those of another machine.
func TestARareStateCostsItsBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	const budget = 120 * time.Second
	reference, _ := stateful{allRatio: constant(apart)}.sweep(t, budget)
	for name, c := range map[string]struct {
		from, until float64
		rare        bool
	}{
		"in the first seconds": {0, 20, true},
		"in the middle":        {50, 75, true},
		"at the end":           {100, 120, true},
		"for most of the time": {30, 110, false},
		"for half of the time": {60, 120, false},
	} {
		s := stateful{allRatio: constant(apart).during(c.from, c.until, together), others: idle}
		results, seen := s.sweep(t, budget)
		in := quietIn(results, c.from+settled, c.until-0.05)
		t.Logf("%-22s %5d blocks in it, %d of %d in all, %+v", name, in, quietIn(results, 0, math.Inf(1)), quietBlocks(reference), seen.Discarded)
		if c.rare != (in == 0) {
			t.Errorf("%s: %d blocks of it count as quiet", name, in)
		}
		if lost := 1 - float64(quietIn(results, 0, math.Inf(1)))/float64(quietBlocks(reference)); c.rare && lost > (c.until-c.from+5)/budget.Seconds()+0.02 {
			t.Errorf("%s: %.1f %% of the blocks are lost", name, 100*lost)
		}
	}
}

// Sizes that were visited beside another program are visited again, however often they were visited beside it.
func TestSizesBesideAProgramAreVisitedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for name, c := range map[string]struct{ from, until float64 }{"early": {4, 12}, "late": {4, 25}} {
		ratio := constant(apart).during(c.from, c.until, together)
		m, o := stateful{allRatio: ratio, others: func(now float64) float64 {
			return 1.9 * (min(max(now, c.from), c.until) - c.from)
		}}.machine(45 * time.Second)
		parallel := implementation{name: "parallel", cost: func(n float64) float64 { return (2e-4 + 3e-9*n) * ratio(m.now) }}
		var cases []kernels.Case
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			cases = append(cases, m.newCase(name, 64, 1<<20, implementation{name: "go", cost: linear(1e-4, 1e-8)}, parallel))
		}
		for _, r := range m.sweep(t, o, cases...) {
			disturbed := 0
			for _, b := range r.Samples.Blocks {
				if b.Disturbed {
					disturbed++
				}
			}
			if disturbed > 0 || r.Degraded || r.Discarded.Total() == 0 {
				t.Errorf("%s: %s: %d of %d blocks are disturbed, %q, thrown away %+v",
					name, r.Case.Name, disturbed, len(r.Samples.Blocks), r.Warnings, r.Discarded)
			}
		}
	}
}

// A program that runs from start to end does not change the baseline. Only its processor time is noticed. Processors that
// share their cores from start to end take as long as they do beside it.
func TestAProgramThatRunsThroughout(t *testing.T) {
	for _, share := range []float64{0.02, 0.95} {
		results, seen := stateful{
			allRatio: constant(together), others: func(now float64) float64 { return share * now },
		}.sweep(t, 20*time.Second)
		for _, r := range results {
			if r.Degraded != (share > 0.5) {
				t.Errorf("others take %v of a processor: degraded %t", share, r.Degraded)
			}
			if said := strings.Join(r.Warnings, ""); r.Degraded && !strings.Contains(said, "other programs or virtual machines took 95 % of a processor") {
				t.Errorf("others take %v of a processor: %q", share, said)
			}
		}
		if seen.Epochs != 1 || seen.Discarded.Total() > 0 || seen.Crowded.Share != 1 {
			t.Errorf("others take %v of a processor: %+v", share, seen)
		}
	}
}
