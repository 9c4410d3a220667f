package thresholds_test

import (
	"math"
	"slices"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// from is a cost that is measured from a size on.
func from(low float64, cost func(float64) float64) func(float64) float64 {
	return func(n float64) float64 {
		if n < low {
			return math.NaN()
		}
		return cost(n)
	}
}

// undivided returns a world in which go-parallel divides calls from a size on. Below, only go is timed for both.
func undivided(seed uint64, size float64, more ...func(float64) float64) *world {
	w := newWorld(seed, append([]func(float64) float64{costA, from(size, func(n float64) float64 { return costA(n) / 2 })}, more...)...)
	copy(w.names, []string{"go", "go-parallel", "other"})
	return w
}

// Above the last size at which go-parallel divided nothing, it is chosen if it wins at the next size. The interval says that nothing was measured in between, and that
// another run has other sizes.
func TestTheThresholdOfADividedLoopIsAtItsLowEnd(t *testing.T) {
	w := undivided(21, 3000)
	r := thresholds.Fit([]*timings.Set{w.set(15, 64, 256, 1024, 4096, 16384)}, thresholds.Options{Seed: 5, Resamples: 300})
	if len(r.Segments) != 2 || r.Segments[0].Implementation != 0 || r.Segments[1].Implementation != 1 {
		t.Fatalf("segments are %+v", r.Segments)
	}
	if s := r.Segments[1]; s.From != 1025 || s.Low != 256 || s.High != 4096 {
		t.Errorf("go-parallel is chosen from %d (%d to %d), want 1025 (256 to 4096)", s.From, s.Low, s.High)
	}
}

// If a run knows from which size on go-parallel divides calls, the threshold of all runs is there, although no run has measured
// that size. It is above if go-parallel loses there.
func TestTheThresholdOfADividedLoopIsWhereItBegins(t *testing.T) {
	slow := func(n float64) float64 {
		if n < 3000 {
			return math.NaN()
		}
		return costA(n) * math.Pow(6000/n, 2)
	}
	w := newWorld(29, costA, slow)
	copy(w.names, []string{"go", "go-parallel"})
	for name, c := range map[string]struct {
		set       *timings.Set
		low, high int
	}{
		"no size there":          {undivided(28, 3000).set(15, 64, 256, 1024, 4096, 16384), 3000, 3000},
		"the size is measured":   {undivided(28, 3000).set(15, 64, 256, 1024, 3000, 4096, 16384), 3000, 3000},
		"slower where it begins": {w.set(15, 64, 256, 1024, 3000, 12000, 48000), 5500, 7000},
	} {
		t.Run(name, func(t *testing.T) {
			c.set.SetDivides("go-parallel", 3000)
			sets := []*timings.Set{undivided(30, 3000).set(15, 64, 512, 2048, 8192), c.set}
			if name == "slower where it begins" {
				sets = sets[1:]
			}
			r := thresholds.Fit(sets, thresholds.Options{Seed: 5, Resamples: 300})
			if len(r.Segments) != 2 {
				t.Fatalf("segments are %+v", r.Segments)
			}
			s := r.Segments[1]
			if s.From < c.low || s.From > c.high || s.Low < 3000 {
				t.Errorf("go-parallel is chosen from %d (%d to %d), want %d to %d", s.From, s.Low, s.High, c.low, c.high)
			}
		})
	}
}

// After the grid, the planner goes first to the size from which on calls are divided, and to none between that and the one below.
func TestThePlannerGoesToTheFirstDividedSize(t *testing.T) {
	w := undivided(31, 3000)
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 1 << 16})
	set := &timings.Set{Case: "synthetic", Implementations: w.names}
	rungs := p.Rungs()
	for n := range 300 {
		size, blocks, worth := p.Next(set)
		if worth <= 0 {
			break
		}
		if n == len(rungs) && size != 3000 {
			t.Errorf("after the grid it goes to %d", size)
		}
		w.visit(set, size, blocks)
		p.Visited(size)
		if size >= 3000 {
			set.SetDivides("go-parallel", 3000)
		}
	}
	sizes := set.Sizes()
	k := slices.Index(sizes, 3000)
	if k < 1 {
		t.Fatalf("3000 is not among %v", sizes)
	}
	if below := sizes[k-1]; below > 2500 {
		t.Errorf("the planner went to %d, where nothing is divided: %v", below, sizes)
	}
}

// If no earlier run has measured the size from which on calls are divided, the next run does so right after its least size, and keeps its
// rungs. That is not needed if the size was measured, or one just above it, or if the implementation is far behind there. If no run has a
// greater size, nothing is known of the size yet.
func TestTheNextRunMeasuresTheFirstDividedSize(t *testing.T) {
	for name, c := range map[string]struct {
		sizes  []int
		behind bool
		first  bool
	}{
		"never measured":   {[]int{64, 256, 1024, 4096, 16384}, false, true},
		"far behind":       {[]int{64, 256, 1024, 4096, 16384}, true, false},
		"measured":         {[]int{64, 256, 1024, 3000, 4096, 16384}, false, false},
		"just above it":    {[]int{64, 256, 1024, 3200, 16384}, false, false},
		"above all others": {[]int{64, 256, 1024}, false, false},
		"below all others": {[]int{4096, 16384}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := undivided(32, 3000)
			if c.behind {
				w.costs[1] = func(n float64) float64 {
					if n < 3000 {
						return math.NaN()
					}
					return 10 * costA(n)
				}
			}
			set := w.set(5, c.sizes...)
			set.SetDivides("go-parallel", 3000)
			o := thresholds.PlannerOptions{Low: 64, High: 1 << 16}
			want := thresholds.NewPlanner(o).Rungs()
			if c.first {
				want = slices.Sorted(slices.Values(append(want, 3000)))
			}
			o.Earlier = []*timings.Set{set}
			p := thresholds.NewPlanner(o)
			if got := p.Rungs(); !slices.Equal(got, want) {
				t.Errorf("the rungs are %d, want %d", got, want)
			}
			if first := order(p, w.names, 2); first[0] != 64 || c.first != (first[1] == 3000) {
				t.Errorf("the first sizes are %d, want 64 and 3000: %t", first, c.first)
			}
		})
	}
}

// order returns the first sizes of a planner.
func order(p *thresholds.Planner, names []string, n int) (sizes []int) {
	empty := &timings.Set{Case: "synthetic", Implementations: names}
	for range n {
		size, _, _ := p.Next(empty)
		sizes = append(sizes, size)
		p.Visited(size)
	}
	return sizes
}

// A size speaks for one just below it at which another loop begins to be divided. Sizes that the operation or the command line leaves
// out are not measured. No step to such a size is a large one.
func TestWhichFirstDividedSizesAreMeasured(t *testing.T) {
	slower := func(n float64) float64 { return 1.5 * costA(n) }
	w := newWorld(34, costA, slower, slower)
	set := w.set(5, 64, 256, 1024, 1<<14, 1<<18)
	for name, c := range map[string]struct {
		divides []int
		options thresholds.PlannerOptions
		want    []int // after 64
	}{
		"close to each other": {[]int{3000, 3100}, thresholds.PlannerOptions{}, []int{3100, 256}},
		"equal":               {[]int{3000, 3000}, thresholds.PlannerOptions{}, []int{3000, 256}},
		"far apart":           {[]int{3000, 300}, thresholds.PlannerOptions{}, []int{300, 3000}},
		"above the range":     {[]int{3000}, thresholds.PlannerOptions{High: 2048}, []int{256, 1024}},
		"refused":             {[]int{5000}, thresholds.PlannerOptions{Round: func(n int) int { return max(1<<11, n>>11<<11) }}, []int{1 << 13}},
		"a large step":        {[]int{1 << 17}, thresholds.PlannerOptions{Work: func(n int) float64 { return float64(n) }}, []int{4096, 1 << 17}},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := *set
			for i, size := range c.divides {
				earlier.SetDivides(w.names[i], size)
			}
			o := c.options
			o.Low, o.Earlier = 64, []*timings.Set{&earlier}
			if o.High == 0 {
				o.High = 1 << 18
			}
			if got := order(thresholds.NewPlanner(o), w.names, 1+len(c.want))[1:]; !slices.Equal(got, c.want) {
				t.Errorf("after the least size it goes to %d, want %d", got, c.want)
			}
		})
	}
}

// A threshold that is somewhere above the first divided size has no side below that: nothing is divided there.
func TestNoSideIsBelowTheFirstDividedSize(t *testing.T) {
	w := undivided(33, 3000)
	w.costs[1] = func(n float64) float64 {
		if n < 3000 {
			return math.NaN()
		}
		return costA(n) * math.Sqrt(4000/n)
	}
	set := w.set(5, 64, 3000, 1<<18, 1<<24)
	set.SetDivides("go-parallel", 3000)
	without := *set
	without.Divides = nil
	for _, earlier := range []*timings.Set{set, &without} {
		p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 1 << 24, Ratio: 64, Earlier: []*timings.Set{earlier}})
		if sizes := order(p, w.names, 3); sizes[1] < 3000 || sizes[1] > 4000 || sizes[2] < 6000 {
			t.Errorf("the first sizes are %d, want 64 and the sides of 4000, not below 3000", sizes)
		}
	}
}

// Each run finds that threshold at its own last size below it, so the interval of several runs holds all of these.
func TestTheIntervalOfADividedLoopHoldsEveryRunsThreshold(t *testing.T) {
	sets := []*timings.Set{
		undivided(26, 3000).set(15, 64, 256, 1024, 4096, 16384),
		undivided(27, 3000).set(15, 64, 512, 2048, 8192),
	}
	r := thresholds.Fit(sets, thresholds.Options{Seed: 5, Resamples: 300})
	if len(r.Segments) != 2 {
		t.Fatalf("segments are %+v", r.Segments)
	}
	if s := r.Segments[1]; s.From != 2049 || s.Low != 1024 || s.High != 4096 {
		t.Errorf("go-parallel is chosen from %d (%d to %d), want 2049 (1024 to 4096)", s.From, s.Low, s.High)
	}
}

// Where the chosen go-parallel divides nothing, the time of go is its time: for the regret of a fit, and for an audit.
func TestTheCounterpartsTimeIsJudged(t *testing.T) {
	always := func(int) string { return "go-parallel" }
	sizes := []int{90, 150, 300, 500, 900, 1100, 3000, 9000}
	a, _ := audit(t, undivided(22, 1e6), always, sizes, 200)
	if a.Finding != thresholds.Holds || len(a.Sizes) != len(sizes) || math.Abs(a.Regret) > 0.02 {
		t.Errorf("beside go alone: %v at %d sizes, regret %.3f", a.Finding, len(a.Sizes), a.Regret)
	}
	half := func(n float64) float64 { return costA(n) / 2 }
	a, _ = audit(t, undivided(23, 1e6, half), always, sizes, 200)
	if a.Finding != thresholds.Drifted || math.Abs(a.Regret-1) > 0.1 {
		t.Errorf("beside one that takes half the time: %v, regret %.3f, want a drift of 1", a.Finding, a.Regret)
	}

	// One run chooses go-parallel above 1024. Another run finds that at 2048 it divides nothing, and that a third implementation
	// takes half its time.
	at2048 := func(n float64) float64 {
		if n != 2048 {
			return math.NaN()
		}
		return costA(n) / 2
	}
	sets := []*timings.Set{
		undivided(24, 3000, at2048).set(15, 64, 256, 1024, 4096, 16384),
		undivided(25, 3000, at2048).set(15, 64, 256, 1024, 2048, 4096, 16384),
	}
	r := thresholds.Fit(sets, thresholds.Options{Seed: 5, Resamples: 100})
	if r.Regret.Parts != 2 || r.Regret.Mean < 0.02 {
		t.Errorf("regret of two runs is %+v, want a loss at 2048", r.Regret)
	}
}
