package thresholds_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// kinked crosses linear(1e-5, 1e-9) at 30 000: until its cache is full an element costs a third of that.
func kinked(n float64) float64 { return 1e-7 + 3e-10*min(n, 20000) + 3.39e-9*max(n-20000, 0) }

const kinkedAt = 30000

// Each run of a few sizes measures closer to the threshold than the one before. Without the earlier runs, each would measure the
// same sizes again, and would know no better where between two of them the threshold is.
func TestRunsCloseIn(t *testing.T) {
	width := func(guided bool) (widths []float64, last *thresholds.Segment) {
		w := newWorld(5, kinked, linear(1e-5, 1e-9))
		w.noise = spiky(0.01)
		var runs []*timings.Set
		for run := range 4 {
			o := thresholds.PlannerOptions{Low: 64, High: 1 << 24, Ratio: 64, Fit: thresholds.Options{Seed: uint64(run)}}
			if guided {
				o.Earlier = runs
			}
			p, set := thresholds.NewPlanner(o), &timings.Set{Case: "synthetic", Implementations: w.names}
			for range 4 {
				size, _, _ := p.Next(set)
				w.visit(set, size, 5)
				p.Visited(size)
			}
			runs = append(runs, set)
			r := thresholds.Fit(runs, thresholds.Options{Seed: 1, Resamples: 200})
			if len(r.Segments) != 2 {
				t.Fatalf("after run %d segments are %+v, want two", run, r.Segments)
			}
			last = &r.Segments[1]
			widths = append(widths, math.Log(float64(last.High)/float64(last.Low)))
		}
		return widths, last
	}
	widths, last := width(true)
	if widths[0] < 2 || widths[3] > widths[0]/4 || last.Low > kinkedAt || last.High < kinkedAt {
		t.Errorf("after each run the interval is %.2f wide in log-size, and %d to %d in the end: want it around %d and narrower by a factor of four",
			widths, last.Low, last.High, kinkedAt)
	}
	if widths, _ := width(false); widths[3] < widths[0]/2 {
		t.Errorf("runs that do not know of one another lead to intervals %.2f wide, so this test shows nothing", widths)
	}
}

// After the least size, the first sizes are the sides of the thresholds that earlier runs know to be in a wide gap, upwards. If
// the gap is not wide, the grid stays: closer to a threshold, two implementations differ by less than runs do.
func TestSidesComeFirst(t *testing.T) {
	for ratio, wide := range map[float64]bool{64: true, 4: false} {
		w := newWorld(6, costA, costB)
		o := thresholds.PlannerOptions{Low: 64, High: 1 << 24, Ratio: ratio}
		grid := thresholds.NewPlanner(o).Rungs()
		o.Earlier = []*timings.Set{w.set(10, grid...), w.set(10, grid...)}
		p, empty := thresholds.NewPlanner(o), &timings.Set{Implementations: w.names}
		if !wide {
			if got := p.Rungs(); !slices.Equal(got, grid) {
				t.Errorf("at a ratio of %v the rungs are %v, want %v as before", ratio, got, grid)
			}
			continue
		}
		var sizes []int
		for worth := 1.0; ; {
			var size int
			if size, _, worth = p.Next(empty); worth == 0 || slices.Contains(sizes, size) || len(sizes) == 20 {
				break
			}
			sizes = append(sizes, size)
			p.Visited(size)
		}
		if low, high := sizes[1], sizes[2]; sizes[0] != 64 || low < 150 || low > 700 || high < 1400 || high > 4000 {
			t.Errorf("the first sizes are %v; want 64 and then both sides of 1000", sizes)
		}
		rungs := p.Rungs()
		for k, size := range rungs {
			if k > 0 && float64(size) > 2*ratio*float64(rungs[k-1]) {
				t.Errorf("rungs %v are much more than a factor of %v apart", rungs, ratio)
			}
			if !slices.Contains(sizes, size) {
				t.Errorf("%d is not among the first sizes %v", size, sizes)
			}
		}
		if slices.Contains(rungs, 4096) {
			t.Errorf("rungs %v have 4096 beside the upper side of the threshold", rungs)
		}
	}
}

// A wide grid goes between the sizes of earlier runs. A narrow one stays, because runs are compared best at the same sizes.
func TestAWideGridIsShifted(t *testing.T) {
	for ratio, shifted := range map[float64]bool{64: true, 4: false} {
		w := newWorld(7, costA, linear(5e-6, 5e-8)) // a wins everywhere
		o := thresholds.PlannerOptions{Low: 64, High: 1 << 24, Ratio: ratio}
		first := thresholds.NewPlanner(o).Rungs()
		o.Earlier = []*timings.Set{w.set(5, first...)}
		next := thresholds.NewPlanner(o).Rungs()
		if shifted == slices.Equal(first, next) || next[0] != 64 || next[len(next)-1] != 1<<24 {
			t.Errorf("at a ratio of %v the rungs %v become %v", ratio, first, next)
		}
		for _, size := range next[1 : len(next)-1] {
			if shifted && slices.ContainsFunc(first, func(f int) bool { return math.Abs(math.Log(float64(f)/float64(size))) < 1 }) {
				t.Errorf("%d of %v is near a size of %v", size, next, first)
			}
		}
	}
}

// Whatever earlier runs hold, sizes stay inside the range and are such that the operation takes.
func TestAnyEarlierRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		w := newWorld(rng.Uint64(), costA, costB, costC)
		w.noise = spiky(0.3)
		var earlier []*timings.Set
		for range rng.IntN(4) {
			var sizes []int
			for range rng.IntN(6) {
				sizes = append(sizes, 1+rng.IntN(1<<rng.IntN(22)))
			}
			set := w.set(1+rng.IntN(3), sizes...)
			if rng.IntN(2) == 0 {
				set.SetDivides(w.names[rng.IntN(len(w.names))], 1+rng.IntN(1<<rng.IntN(22)))
			}
			earlier = append(earlier, set)
		}
		o := thresholds.PlannerOptions{
			Low: 1 + rng.IntN(100), High: 1 << rng.IntN(20), Ratio: []float64{0, 1, 2, 64}[rng.IntN(4)], Earlier: earlier,
		}
		if rng.IntN(2) == 0 {
			o.Round = sevenSmooth
		}
		rungs := thresholds.NewPlanner(o).Rungs()
		if !slices.IsSorted(rungs) || len(rungs) == 0 && o.Round == nil { // there may be no smooth size in a short range
			t.Fatalf("%+v: rungs %v", o, rungs)
		}
		for _, size := range rungs {
			if high := max(o.High, o.Low); size < 1 || o.Round == nil && (size < o.Low || size > high) || o.Round != nil && sevenSmooth(size) != size {
				t.Fatalf("%+v: %d in rungs %v", o, size, rungs)
			}
		}
	}
}
