package thresholds_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// The costs of most tests. a and b cross at 1000, b and c at 211 111; a and bent cross at 1001 and again at 898 999.
var (
	costA = linear(1e-6, 1e-8)
	costB = linear(1e-5, 1e-9)
	costC = linear(2e-4, 1e-10)
	bent  = func(n float64) float64 { return 1e-5 + 1e-9*n + 1e-14*n*n }
)

// until is a cost that was measured up to a size only, since the size that it was measured from.
func until(high float64, cost func(float64) float64) func(float64) float64 {
	return func(n float64) float64 {
		if n > high {
			return math.NaN()
		}
		return cost(n)
	}
}

type edge struct {
	implementation int
	truth          float64 // where the segment really starts; 0 for the first one
}

func TestFit(t *testing.T) {
	wide := geometric(64, 4<<20, 1.5)
	for name, c := range map[string]struct {
		costs   []func(float64) float64
		sizes   []int
		want    []edge
		verdict thresholds.Verdict
	}{
		"one crossing":          {[]func(float64) float64{costA, costB}, wide, []edge{{0, 0}, {1, 1000}}, thresholds.Switches},
		"in the other order":    {[]func(float64) float64{costB, costA}, wide, []edge{{1, 0}, {0, 1000}}, thresholds.Switches},
		"two crossings":         {[]func(float64) float64{costA, bent}, wide, []edge{{0, 0}, {1, 1001}, {0, 898999}}, thresholds.Switches},
		"three implementations": {[]func(float64) float64{costC, costA, costB}, wide, []edge{{1, 0}, {2, 1000}, {0, 211111}}, thresholds.Switches},
		"a third that never wins": {
			[]func(float64) float64{costA, costB, linear(1e-4, 1e-7)}, wide,
			[]edge{{0, 0}, {1, 1000}}, thresholds.Switches,
		},
		"no crossing":        {[]func(float64) float64{costA, linear(2e-6, 3e-8)}, wide, []edge{{0, 0}}, thresholds.Always},
		"one implementation": {[]func(float64) float64{costA}, wide, []edge{{0, 0}}, thresholds.Always},
		"one size":           {[]func(float64) float64{costA, costB}, []int{5000}, []edge{{1, 0}}, thresholds.Always},
		"one size, a tie":    {[]func(float64) float64{costA, costA}, []int{5000}, []edge{{-1, 0}}, thresholds.Tie},
		"two sizes":          {[]func(float64) float64{costA, costB}, []int{100, 10000}, []edge{{0, 0}, {1, 1000}}, thresholds.Switches},
		"a tie everywhere":   {[]func(float64) float64{costA, costA}, wide, []edge{{-1, 0}}, thresholds.Tie},
		"a tie of three":     {[]func(float64) float64{costA, costA, costA}, wide, []edge{{-1, 0}}, thresholds.Tie},
		"a tie of the best two": {
			[]func(float64) float64{linear(1e-5, 1e-7), costB, costB}, wide, []edge{{-1, 0}}, thresholds.Tie,
		},
		"a crossing inside the tie band": {
			// b gains one percent at most.
			[]func(float64) float64{linear(1e-6, 1e-8), linear(1.002e-6, 0.99e-8)}, wide, []edge{{-1, 0}}, thresholds.Tie,
		},
		"a small gain at one size": {
			[]func(float64) float64{costB, func(n float64) float64 {
				if n == float64(wide[7]) {
					return 0.95 * costB(n)
				}
				return 1.06 * costB(n)
			}}, wide, []edge{{0, 0}}, thresholds.Always,
		},
		"a small gain of a third at one size": {
			// The first two are a tie everywhere, but not with the best one.
			[]func(float64) float64{costB, func(n float64) float64 { return 1.01 * costB(n) }, func(n float64) float64 {
				if n == float64(wide[7]) {
					return 0.95 * costB(n)
				}
				return 2 * costB(n)
			}}, wide, []edge{{0, 0}}, thresholds.Always,
		},
		"measured at small sizes only": {
			[]func(float64) float64{costA, until(300, linear(1e-7, 1e-10))}, wide,
			[]edge{{1, 0}, {0, 300}}, thresholds.Switches,
		},
		"measured at small sizes only, and never best": {
			[]func(float64) float64{costA, costB, until(5000, linear(1e-4, 1e-7))}, wide,
			[]edge{{0, 0}, {1, 1000}}, thresholds.Switches,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(11, c.costs...)
			r := thresholds.Fit(w.set(21, c.sizes...), thresholds.Options{Seed: 5, Resamples: 300})
			if r.Verdict != c.verdict {
				t.Errorf("verdict is %v (%s), want %v", r.Verdict, r.Reason, c.verdict)
			}
			check(t, &r, c.sizes, c.want)
			if r.Regret > 0.03 {
				t.Errorf("regret is %v", r.Regret)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
		})
	}
}

// check holds the segments against the truth, and against what every result must be.
func check(t *testing.T, r *thresholds.Result, sizes []int, want []edge) {
	t.Helper()
	if len(r.Segments) != len(want) {
		t.Fatalf("there are %d segments, want %d: %+v", len(r.Segments), len(want), r.Segments)
	}
	next := sizes[0]
	for n, s := range r.Segments {
		if s.From != next || s.To < s.From {
			t.Errorf("segment %d is %d..%d, want one from %d", n, s.From, s.To, next)
		}
		next = s.To + 1
		if w := want[n].implementation; w >= 0 && s.Implementation != w {
			t.Errorf("segment %d is of implementation %d, want %d", n, s.Implementation, w)
		}
		for k, next := range s.Next {
			if next.Implementation == s.Implementation || k > 0 && next.Slowdown < s.Next[k-1].Slowdown {
				t.Errorf("segment %d has the alternatives %+v", n, s.Next)
			}
		}
		if n == 0 {
			if s.Low != 0 || s.High != 0 || s.Support != 1 {
				t.Errorf("the first segment has the interval %d..%d and the support %v", s.Low, s.High, s.Support)
			}
			continue
		}
		if s.From < s.Low || s.From > s.High || s.Low < sizes[0] || s.High > sizes[len(sizes)-1] {
			t.Errorf("segment %d starts at %d with the interval %d..%d on the axis %d..%d",
				n, s.From, s.Low, s.High, sizes[0], sizes[len(sizes)-1])
		}
		if truth := want[n].truth; truth < float64(s.Low)/1.03 || truth > float64(s.High)*1.03 {
			t.Errorf("segment %d starts in %d..%d, and in truth at %.0f", n, s.Low, s.High, truth)
		}
		if s.Support < 0.9 || s.Support > 1 {
			t.Errorf("segment %d has a support of %v", n, s.Support)
		}
	}
	if next != sizes[len(sizes)-1]+1 {
		t.Errorf("the segments end at %d, want %d", next-1, sizes[len(sizes)-1])
	}
}

func TestAlternativesAreOnlyThoseMeasuredInTheSegment(t *testing.T) {
	w := newWorld(2, costA, costB, until(500, linear(1e-4, 1e-7)))
	r := thresholds.Fit(w.set(11, geometric(64, 1<<20, 2)...), thresholds.Options{Resamples: 50})
	if len(r.Segments) != 2 {
		t.Fatalf("segments: %+v", r.Segments)
	}
	if next := r.Segments[0].Next; len(next) != 2 || next[0].Implementation != 1 || next[1].Implementation != 2 {
		t.Errorf("alternatives below are %+v, want 1 and then 2", next)
	}
	if next := r.Segments[1].Next; len(next) != 1 || next[0].Implementation != 0 {
		t.Errorf("alternatives above are %+v, want 0 alone", next)
	}
}

func TestAlternativesTellTheSlowdown(t *testing.T) {
	w := newWorld(2, costA, func(n float64) float64 { return 1.5 * costA(n) })
	w.noise = quiet
	r := thresholds.Fit(w.set(5, 64, 256, 1024), thresholds.Options{})
	if next := r.Segments[0].Next; len(next) != 1 || math.Abs(next[0].Slowdown-1.5) > 1e-9 {
		t.Errorf("alternatives are %+v, want a slowdown of 1.5", next)
	}
}

func TestFitOfUnusableSamples(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, set := range map[string]*timings.Set{
		"an empty set":       {},
		"no blocks":          {Implementations: []string{"a", "b"}},
		"no implementations": {Blocks: []timings.Block{{Size: 64, Twin: -1}}},
		"times that are none": {Implementations: []string{"a", "b"}, Blocks: []timings.Block{
			{Size: 64, Seconds: []float64{nan, nan}, Twin: -1},
			{Size: 64, Seconds: []float64{0, -1}, Twin: 0, TwinSeconds: 1},
			{Size: 64, Seconds: []float64{inf, nan}, Twin: 0, TwinSeconds: inf},
			{Size: 64, Twin: 3},
		}},
		"no size": {Implementations: []string{"a"}, Blocks: []timings.Block{{Size: 0, Seconds: []float64{1}, Twin: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := thresholds.Fit(set, thresholds.Options{})
			if r.Verdict != thresholds.Unresolved || r.Reason == "" || len(r.Segments) > 0 || r.TieBand != thresholds.MinTieBand {
				t.Errorf("result is %+v, want an unresolved one with a reason", r)
			}
			if size, _, worth := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 64}).Next(set); size != 64 || worth <= 0 {
				t.Errorf("a planner proposes %d, worth %v", size, worth)
			}
		})
	}
}

func TestUnusableTimesChangeNothing(t *testing.T) {
	sizes := geometric(64, 1<<20, 2)
	clean := newWorld(4, costA, costB).set(15, sizes...)
	soiled := &timings.Set{Case: clean.Case, Implementations: clean.Implementations}
	nan, inf := math.NaN(), math.Inf(1)
	for n, b := range clean.Blocks {
		soiled.Blocks = append(soiled.Blocks, b)
		switch n % 4 {
		case 0:
			soiled.Blocks = append(soiled.Blocks, timings.Block{Size: b.Size, Seconds: []float64{nan, nan}, Twin: -1})
		case 1:
			soiled.Blocks = append(soiled.Blocks, timings.Block{Size: b.Size, Seconds: []float64{0, inf}, Twin: 1, TwinSeconds: inf})
		case 2:
			soiled.Blocks = append(soiled.Blocks, timings.Block{Size: 77, Seconds: []float64{nan, nan}, Twin: 0})
		case 3:
			soiled.Blocks = append(soiled.Blocks, timings.Block{Size: b.Size, Twin: -1})
		}
	}
	want := thresholds.Fit(clean, thresholds.Options{Seed: 1, Resamples: 100})
	got := thresholds.Fit(soiled, thresholds.Options{Seed: 1, Resamples: 100})
	if a, b := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got); a != b {
		t.Errorf("result with unusable times differs:\n%s\nwithout:\n%s", b, a)
	}
}

func TestPartOfABlockMayBeUnusable(t *testing.T) {
	fitWith := func(none float64) thresholds.Result {
		set := newWorld(4, costA, costB, costC).set(15, geometric(64, 1<<20, 2)...)
		for n := range set.Blocks {
			// The slowest of a block says least about the fastest. At 256 none of its times can be used.
			if b := &set.Blocks[n]; n%3 == 0 || b.Size == 256 {
				slowest := 0
				for i, v := range b.Seconds {
					if v > b.Seconds[slowest] {
						slowest = i
					}
				}
				b.Seconds[slowest] = none
			}
		}
		return thresholds.Fit(set, thresholds.Options{Resamples: 100})
	}
	want := fitWith(math.NaN())
	check(t, &want, want.Curves.Sizes, []edge{{0, 0}, {1, 1000}, {2, 211111}})
	for _, none := range []float64{0, -1, math.Inf(1)} {
		if a, b := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", fitWith(none)); a != b {
			t.Errorf("times of %v give\n%s\nnone give\n%s", none, b, a)
		}
	}
}

func TestFitIsDeterministic(t *testing.T) {
	set := newWorld(9, costA, costB, costC).set(9, geometric(64, 1<<20, 1.15)...)
	text := func(seed uint64) string {
		return fmt.Sprintf("%+v", thresholds.Fit(set, thresholds.Options{Seed: seed, Resamples: 100}))
	}
	first := text(1)
	for range 5 {
		if again := text(1); again != first {
			t.Fatalf("the same samples and seed give another result:\n%s\nfirst:\n%s", again, first)
		}
	}
	if text(2) == first {
		t.Error("another seed gives the same intervals to the last digit: the bootstrap does not use it")
	}
}

func TestFitLeavesTheSamplesAlone(t *testing.T) {
	set := newWorld(9, costA, costB).set(9, geometric(64, 1<<20, 3)...)
	before := fmt.Sprintf("%+v", set)
	thresholds.Fit(set, thresholds.Options{Resamples: 10})
	if after := fmt.Sprintf("%+v", set); after != before {
		t.Error("the samples changed")
	}
}

// eachSeed runs f for seeds 0 to n−1, on all processors.
func eachSeed(n int, f func(seed uint64)) {
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				f(seed)
			}
		})
	}
	for seed := range n {
		seeds <- uint64(seed)
	}
	close(seeds)
	group.Wait()
}

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
			r := thresholds.Fit(set, thresholds.Options{Seed: seed, Resamples: 60})
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
		// The grid alone may leave a case unresolved; the planner is there to settle it.
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
		run   float64 // standard deviation of what a run adds to each implementation's log-time
		runs  int
	}{
		{"a steep crossing", costB, 0.02, 0, 0.01, 50},
		{"a shallow crossing", shallow, 0.02, 0, 0.01, 200},
		{"a shallow crossing on a machine of moods", shallow, 0.02, 0.03, 0.01, 50},
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
			r := thresholds.Fit(set, thresholds.Options{Seed: seed, Resamples: 120})
			mu.Lock()
			defer mu.Unlock()
			if len(r.Segments) != 2 {
				t.Errorf("%s, seed %d: segments %+v", c.name, seed, r.Segments)
				return
			}
			// The first size of the segment is the first whole one at or above the crossing, which is 1000 in all.
			if s := r.Segments[1]; s.Low <= 1000 && 1000 <= s.High {
				covered++
			}
		})
		share := float64(covered) / float64(c.runs)
		t.Logf("%s: %.1f %% of %d intervals hold the truth", c.name, 100*share, c.runs)
		// Three standard errors of a share of 95 % below it.
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
			// Sizes so close together that noise alone makes the interval.
			r := thresholds.Fit(w.set(blocks, geometric(600, 1800, 1.1)...), thresholds.Options{Seed: seed, Resamples: 200})
			if len(r.Segments) != 2 {
				t.Fatalf("seed %d, %d blocks: segments %+v", seed, blocks, r.Segments)
			}
			sum += math.Log(float64(r.Segments[1].High) / float64(r.Segments[1].Low))
		}
		return sum / 10
	}
	few, many, run := width(10, spiky(0.02)), width(90, spiky(0.02)), width(10, quiet)
	// Nine times the blocks make a third of the width, but for what no number of blocks narrows.
	if ratio := math.Sqrt((many*many - run*run) / (few*few - run*run)); !(ratio > 0.2 && ratio < 0.5) {
		t.Errorf("the interval is %v wide with 10 blocks and %v with 90, %v without noise: want a third beyond that", few, many, run)
	}
}

func TestAWideBracketIsTheInterval(t *testing.T) {
	w := newWorld(1, costA, costB)
	w.noise = quiet
	r := thresholds.Fit(w.set(15, 100, 300, 3000, 10000), thresholds.Options{})
	if s := r.Segments[1]; s.Low != 301 || s.High != 3000 {
		t.Errorf("the interval is %d..%d, want 301..3000: nothing was measured in between", s.Low, s.High)
	}
	w = newWorld(1, costA, costB)
	w.noise = quiet
	r = thresholds.Fit(w.set(15, 100, 300, 950, 1060, 3000), thresholds.Options{})
	if s := r.Segments[1]; s.Low < 955 || s.Low > 980 || s.High < 1020 || s.High > 1045 {
		t.Errorf("the interval is %d..%d without noise, want what runs differ by: about 965..1036", s.Low, s.High)
	}
}

// What a run adds to every call alike is most of a short call and nothing of a long one.
func TestShortCallsAreLessSure(t *testing.T) {
	width := func(scale float64) float64 {
		scaled := func(cost func(float64) float64) func(float64) float64 {
			return func(n float64) float64 { return scale * cost(n) }
		}
		w := newWorld(1, scaled(costA), scaled(costB))
		w.noise = quiet
		r := thresholds.Fit(w.set(15, geometric(300, 3000, 1.1)...), thresholds.Options{})
		s := r.Segments[1]
		return math.Log(float64(s.High) / float64(s.Low))
	}
	// Both take 11 µs where they cross, and at slopes that differ by 0.82 a unit of log-size.
	for _, c := range []struct{ scale, want float64 }{{1, 0.073}, {0.05, 0.44}} {
		if got := width(c.scale); math.Abs(got-c.want) > 0.15*c.want {
			t.Errorf("calls of %g µs: the interval is %.3f wide, want %.3f", 11*c.scale, got, c.want)
		}
	}
}

// Between a segment's single size and its neighbour the curves may take a step anywhere.
func TestIntervalBesideASingleSize(t *testing.T) {
	step := func(low, high float64) func(float64) float64 { // of b, which wins from low to high
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
			r := thresholds.Fit(w.set(15, c.sizes...), thresholds.Options{Resamples: 300})
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

// A single size below which there is none is a segment if anything is: many an operation is serial for one row alone.
func TestTheFirstOfFewSizes(t *testing.T) {
	serial := linear(0, 1e-6)
	for name, first := range map[string]int{"from 1": 1, "from 2": 2, "from 8": 8} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, serial, func(n float64) float64 {
				if n == float64(first) {
					return 1.3 * serial(n)
				}
				return serial(n) / 1.8
			})
			o := thresholds.PlannerOptions{Low: first, High: 64}
			set, visits := w.sweep(t, o)
			if visits > 40 {
				t.Errorf("the planner took %d visits", visits)
			}
			r := thresholds.Fit(set, thresholds.Options{})
			if len(r.Segments) != 2 || r.Verdict != thresholds.Switches {
				t.Fatalf("verdict %v, segments %+v; want two", r.Verdict, r.Segments)
			}
			if s := r.Segments[1]; s.From != first+1 || s.Low < first || s.High > first+2 {
				t.Errorf("the second segment starts at %d, in %d..%d; want %d", s.From, s.Low, s.High, first+1)
			}
		})
	}
}

func TestAFeebleSwitchIsUnresolved(t *testing.T) {
	// At the last size b is ahead in half of the blocks by much, and behind in the other half by little.
	set := newWorld(3, costA, func(n float64) float64 { return 2 * costA(n) }).set(15, 64, 256, 1024)
	for n := range 8 {
		ratio := 0.5
		if n%2 == 1 {
			ratio = 1.01
		}
		set.Blocks = append(set.Blocks, timings.Block{Size: 4096, Seconds: []float64{1, ratio}, Twin: -1})
	}
	r := thresholds.Fit(set, thresholds.Options{Resamples: 300})
	if len(r.Segments) != 2 || r.Verdict != thresholds.Unresolved || !strings.Contains(r.Reason, "resamples") {
		t.Errorf("verdict is %v (%s) with segments %+v, want unresolved", r.Verdict, r.Reason, r.Segments)
	}
}

func TestTheCostModelDisagrees(t *testing.T) {
	// b is much faster than its model in the upper half alone: a step that no power law has.
	step := func(n float64) float64 {
		if n > 30000 {
			return 0.5 * costA(n)
		}
		return 1.02 * costA(n)
	}
	w := newWorld(3, costA, step)
	r := thresholds.Fit(w.set(15, geometric(64, 1<<20, 2)...), thresholds.Options{Resamples: 100})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "cost model") || strings.Contains(r.Warnings[0], "\n") {
		t.Errorf("warnings: %q, want one line about the cost model; segments %+v", r.Warnings, r.Segments)
	}
}

// Winners that change there, back and there again, the last change so weak that some resamples do not have it: its
// interval must not reach down to the first change of the same kind.
func TestIntervalOfARepeatedSwitch(t *testing.T) {
	ratio := func(n float64) float64 { // of b to a
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
	r := thresholds.Fit(set, thresholds.Options{Seed: 1})
	if len(r.Segments) != 4 {
		t.Fatalf("segments are %+v, want four", r.Segments)
	}
	last := r.Segments[3]
	if last.Support > 0.99 {
		t.Errorf("the last switch is in every resample (%v): this test tests nothing", last.Support)
	}
	if last.Low < r.Segments[2].From {
		t.Errorf("the interval of the switch at %d is %d to %d, and reaches below the switch before it, at %d",
			last.From, last.Low, last.High, r.Segments[2].From)
	}
}

// Two implementations that are tied win below the crossover, and which of them a resample prefers is a toss. The switch
// to the third one is as clear as if there were one.
func TestSwitchFromATie(t *testing.T) {
	cost := linear(1e-6, 1e-8)
	w := newWorld(3, cost, cost, linear(1e-5, 1e-9)) // equal at 1000
	set := &timings.Set{Implementations: w.names}
	for size := 64; size <= 1<<14; size *= 2 {
		w.visit(set, size, 9)
	}
	r := thresholds.Fit(set, thresholds.Options{Seed: 1})
	if len(r.Segments) != 2 || r.Verdict != thresholds.Switches {
		t.Fatalf("verdict %v (%s), segments %+v; want a crossover", r.Verdict, r.Reason, r.Segments)
	}
	if s := r.Segments[1]; s.Support < 0.99 || s.Low > 1000 || s.High < 1000 {
		t.Errorf("the switch at %d (%d to %d) is in %v of the resamples", s.From, s.Low, s.High, s.Support)
	}
}

// BenchmarkFit fits what a sweep of one case leaves behind: three implementations, two switches.
func BenchmarkFit(b *testing.B) {
	w := newWorld(1, costA, costB, costC)
	w.luck = 0.01
	sizes := geometric(64, 4<<20, 1.5)
	set := w.set(10, sizes...)
	for range 2 {
		for _, size := range sizes {
			w.visit(set, size, 10)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if result := thresholds.Fit(set, thresholds.Options{Seed: 1}); len(result.Segments) != 3 {
			b.Fatalf("there are %d segments, want 3", len(result.Segments))
		}
	}
}

// BenchmarkPlan is a planner's share of one case's sweep, from the first visit to the last.
func BenchmarkPlan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newWorld(1, costA, costB).sweep(b, thresholds.PlannerOptions{Low: 64, High: 4 << 20})
	}
}

// Where resamples fall to one side of the estimate, the other side is no surer for it.
func TestIntervalsReachToBothSides(t *testing.T) {
	const seeds = 20
	for seed := range uint64(seeds) {
		w := newWorld(seed, linear(1e-6, 2e-9), linear(20e-6, 0.2e-9))
		w.luck = 0.05
		r := thresholds.Fit(w.set(10, geometric(512, 1<<20, 1.12)...), thresholds.Options{Seed: seed, Resamples: 300})
		for _, s := range r.Segments[1:] {
			below, above := math.Log(float64(s.From)/float64(s.Low)), math.Log(float64(s.High)/float64(s.From))
			if math.Abs(below-above) > 0.01 && s.Low > 512 && s.High < 1<<20 {
				t.Errorf("seed %d: %d to %d around %d", seed, s.Low, s.High, s.From)
			}
		}
	}
}
