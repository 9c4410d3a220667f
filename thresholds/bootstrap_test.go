package thresholds_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/thresholds"
	"crossover/timings"
)

func TestNoCrossoverInNoise(t *testing.T) {
	for name, c := range map[string]struct {
		noise, luck float64
		planned     bool
	}{
		"a quiet machine":                   {noise: 0.02},
		"a noisy machine":                   {noise: 0.1},
		"a machine of moods":                {noise: 0.02, luck: 0.03},
		"a quiet machine, sizes planned":    {noise: 0.02, planned: true},
		"a machine of moods, sizes planned": {noise: 0.02, luck: 0.03, planned: true},
	} {
		seeds := 100
		if c.planned {
			seeds = 50
		}
		var mu sync.Mutex
		claimed, switched := 0, 0
		eachSeed(seeds, func(seed uint64) {
			w := newWorld(seed, costA, costA, costA)
			w.noise, w.luck = spiky(c.noise), c.luck
			var set *timings.Set
			if c.planned {
				set, _ = w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536, Fit: thresholds.Options{Seed: seed}})
			} else {
				set = w.set(9, geometric(64, 65536, 2)...)
			}
			r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 60})
			mu.Lock()
			defer mu.Unlock()
			if r.Verdict == thresholds.Switches {
				claimed++
			}
			if len(r.Segments) > 1 {
				switched++
			}
		})
		t.Logf("%s: between equals %d of %d seeds claim a crossover, %d have a switch", name, claimed, seeds, switched)
		if claimed > 5 {
			t.Errorf("%s: %d of %d seeds claim a crossover between equals, want 5 at most", name, claimed, seeds)
		}
		// The grid alone may leave a case unresolved, which a planner settles.
		if c.planned && switched > 4 {
			t.Errorf("%s: %d of %d planned sweeps end with a switch between equals", name, switched, seeds)
		}
	}
}

func TestIntervalsCoverTheTruth(t *testing.T) {
	shallow := linear(4e-6, 7e-9)
	for _, c := range []struct {
		name  string
		b     func(float64) float64
		noise float64
		luck  float64
		run   float64 // standard deviation of a run's part in each implementation's log-time
		runs  int
	}{
		{"a steep crossing", costB, 0.02, 0, 0.01, 30},
		{"a shallow crossing", shallow, 0.02, 0, 0.01, 80},
		{"a shallow crossing on a machine of moods", shallow, 0.02, 0.03, 0.01, 30},
	} {
		var mu sync.Mutex
		covered := 0
		eachSeed(c.runs, func(seed uint64) {
			own := rand.New(rand.NewPCG(seed, 2))
			lucky := func(cost func(float64) float64) func(float64) float64 {
				factor := math.Exp(c.run * own.NormFloat64())
				return func(n float64) float64 { return factor * cost(n) }
			}
			w := newWorld(seed, lucky(costA), lucky(c.b))
			w.noise, w.luck = spiky(c.noise), c.luck
			set, _ := w.sweep(t, thresholds.PlannerOptions{Low: 128, High: 8192, Fit: thresholds.Options{Seed: seed}})
			r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 120})
			mu.Lock()
			defer mu.Unlock()
			if len(r.Segments) != 2 {
				t.Errorf("%s, seed %d: segments %+v", c.name, seed, r.Segments)
				return
			}
			// The first size of the segment is the first whole one at or above the crossing, which is 1000 in all cases.
			if s := r.Segments[1]; s.Low <= 1000 && 1000 <= s.High {
				covered++
			}
		})
		share := float64(covered) / float64(c.runs)
		t.Logf("%s: %.1f %% of %d intervals hold the truth", c.name, 100*share, c.runs)
		// This is three standard errors below 95 %.
		if least := 0.95 - 3*math.Sqrt(0.95*0.05/float64(c.runs)); share < least {
			t.Errorf("%s: %.1f %% of %d intervals hold the truth, want about 95 %%", c.name, 100*share, c.runs)
		}
	}
}

func TestIntervalsNarrowWithBlocks(t *testing.T) {
	width := func(blocks int, noise func(*rand.Rand) float64) (sum float64) {
		for seed := range uint64(10) {
			w := newWorld(seed, costA, linear(4e-6, 7e-9))
			w.noise = noise
			// The sizes are so close together that noise alone makes the interval.
			r := thresholds.Fit([]*timings.Set{w.set(blocks, geometric(600, 1800, 1.1)...)}, thresholds.Options{Seed: seed, Resamples: 200})
			if len(r.Segments) != 2 {
				t.Fatalf("seed %d, %d blocks: segments %+v", seed, blocks, r.Segments)
			}
			sum += math.Log(float64(r.Segments[1].High) / float64(r.Segments[1].Low))
		}
		return sum / 10
	}
	few, many, run := width(10, spiky(0.02)), width(90, spiky(0.02)), width(10, quiet)
	// Nine times the blocks make a third of the width, without the part that no blocks narrow.
	if ratio := math.Sqrt((many*many - run*run) / (few*few - run*run)); !(ratio > 0.2 && ratio < 0.5) {
		t.Errorf("the interval is %v wide with 10 blocks and %v with 90, %v without noise: want a third beyond that", few, many, run)
	}
}

func TestAWideBracketIsTheInterval(t *testing.T) {
	w := newWorld(1, costA, costB)
	w.noise = quiet
	r := thresholds.Fit([]*timings.Set{w.set(15, 100, 300, 3000, 10000)}, thresholds.Options{})
	if s := r.Segments[1]; s.Low != 301 || s.High != 3000 {
		t.Errorf("the interval is %d..%d, want 301..3000: nothing was measured in between", s.Low, s.High)
	}
	w = newWorld(1, costA, costB)
	w.noise = quiet
	r = thresholds.Fit([]*timings.Set{w.set(15, 100, 300, 950, 1060, 3000)}, thresholds.Options{})
	if s := r.Segments[1]; s.Low < 930 || s.Low > 960 || s.High < 1040 || s.High > 1070 {
		t.Errorf("the interval is %d..%d without noise, want what runs are assumed to differ by: about 945..1055", s.Low, s.High)
	}
}

// Between a segment's single size and its neighbour the curves may have a step anywhere.
func TestIntervalBesideASingleSize(t *testing.T) {
	step := func(low, high float64) func(float64) float64 { // cost of b, which wins from low to high
		return func(n float64) float64 {
			if n < low || n > high {
				return 1.06 * costA(n)
			}
			return costA(n) / 1.4
		}
	}
	for name, c := range map[string]struct {
		low, high float64
		sizes     []int
		want      [][2]int
	}{
		"at the end":    {3500, 1e9, []int{1000, 1600, 2600, 3000, 3518}, [][2]int{{3001, 3518}}},
		"at the start":  {0, 1100, []int{1000, 1170, 1350, 2200, 3500}, [][2]int{{1001, 1170}}},
		"in the middle": {1950, 2100, []int{1000, 1700, 2000, 2300, 5200}, [][2]int{{1701, 2000}, {2001, 2300}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, costA, step(c.low, c.high))
			r := thresholds.Fit([]*timings.Set{w.set(15, c.sizes...)}, thresholds.Options{Resamples: 300})
			var got [][2]int
			for _, s := range r.Segments[1:] {
				got = append(got, [2]int{s.Low, s.High})
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("the intervals are %v, want %v: nothing was measured in between", got, c.want)
			}
		})
	}
}

func TestAFeebleSwitchIsADoubt(t *testing.T) {
	// At the last size b is much faster in half of the blocks, and a little slower in the others.
	set := newWorld(3, costA, func(n float64) float64 { return 2 * costA(n) }).set(15, 64, 256, 1024)
	for n := range 8 {
		ratio := 0.5
		if n%2 == 1 {
			ratio = 1.01
		}
		set.Blocks = append(set.Blocks, timings.Block{Size: 4096, Seconds: []float64{1, ratio}, Twin: -1})
	}
	r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Resamples: 300})
	if len(r.Segments) != 1 || r.Segments[0].Implementation != 0 {
		t.Fatalf("segments are %+v, want one of the first", r.Segments)
	}
	want := []thresholds.Doubt{{From: 4096, To: 4096, Implementation: 1}}
	if diff := cmp.Diff(want, r.Segments[0].Doubts); diff != "" {
		t.Errorf("doubts differ (-want +got):\n%s", diff)
	}
}

// The winner changes, changes back and changes again. The last change is so weak that some resamples lack it. Its interval
// must not reach down to the first change of the same kind.
func TestIntervalOfARepeatedSwitch(t *testing.T) {
	ratio := func(n float64) float64 { // time of b divided by that of a
		switch {
		case n < 1000:
			return 1.6
		case n < 10_000:
			return 0.6
		case n < 100_000:
			return 1.6
		}
		return 0.85
	}
	a := func(n float64) float64 { return 1e-8 * n }
	w := newWorld(8, a, func(n float64) float64 { return ratio(n) * a(n) })
	w.noise = spiky(0.2)
	set := &timings.Set{Implementations: w.names}
	for size := 64; size <= 1<<20; size *= 2 {
		w.visit(set, size, 7)
		w.visit(set, size, 7)
	}
	r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 1})
	if len(r.Segments) != 4 {
		t.Fatalf("segments are %+v, want four", r.Segments)
	}
	last := r.Segments[3]
	if last.Low < r.Segments[2].From {
		t.Errorf("the interval of the switch at %d is %d to %d, and reaches below the switch before it, at %d",
			last.From, last.Low, last.High, r.Segments[2].From)
	}
}

// Two tied implementations win below the crossover, and a resample may prefer either. The switch to the third one is as
// clear as with one implementation below.
func TestSwitchFromATie(t *testing.T) {
	cost := linear(1e-6, 1e-8)
	w := newWorld(3, cost, cost, linear(1e-5, 1e-9)) // they cross at 1000
	set := &timings.Set{Implementations: w.names}
	for size := 64; size <= 1<<14; size *= 2 {
		w.visit(set, size, 9)
	}
	r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 1})
	if len(r.Segments) != 2 || r.Verdict != thresholds.Switches {
		t.Fatalf("verdict %v (%s), segments %+v; want a crossover", r.Verdict, r.Reason, r.Segments)
	}
	if s := r.Segments[1]; s.Support < 0.99 || s.Low > 1000 || s.High < 1000 {
		t.Errorf("the switch at %d (%d to %d) is in %v of the resamples", s.From, s.Low, s.High, s.Support)
	}
}
