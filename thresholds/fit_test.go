package thresholds_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// The costs of most tests. a and b cross at 1000, and b and c at 211 111. a and bent cross at 1001 and again at 898 999.
var (
	costA = linear(1e-6, 1e-8)
	costB = linear(1e-5, 1e-9)
	costC = linear(2e-4, 1e-10)
	bent  = func(n float64) float64 { return 1e-5 + 1e-9*n + 1e-14*n*n }
)

// until is a cost that was measured up to a size.
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
	truth          float64 // true edge of the segment; 0 for the first one
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
			// b is faster by at most one percent.
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
			// The first two are tied everywhere, but are not the best.
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
			r := thresholds.Fit([]*timings.Set{w.set(21, c.sizes...)}, thresholds.Options{Seed: 5, Resamples: 300})
			if r.Verdict != c.verdict {
				t.Errorf("verdict is %v (%s), want %v", r.Verdict, r.Reason, c.verdict)
			}
			few := map[int]string{1: "only one size was measured", 2: "only two sizes were measured"}[len(c.sizes)]
			if few == "" && strings.Contains(r.Reason, "only") || !strings.HasSuffix(r.Reason, few) {
				t.Errorf("the reason is %q, want its end to be %q", r.Reason, few)
			}
			check(t, &r, c.sizes, c.want)
			if r.Regret.Mean > 0.03 {
				t.Errorf("regret is %v", r.Regret)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
		})
	}
}

// check compares the segments with the truth, and tests what holds for every result.
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
			r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{})
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
	want := thresholds.Fit([]*timings.Set{clean}, thresholds.Options{Seed: 1, Resamples: 100})
	got := thresholds.Fit([]*timings.Set{soiled}, thresholds.Options{Seed: 1, Resamples: 100})
	if a, b := fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got); a != b {
		t.Errorf("result with unusable times differs:\n%s\nwithout:\n%s", b, a)
	}
}

func TestPartOfABlockMayBeUnusable(t *testing.T) {
	fitWith := func(none float64) thresholds.Result {
		set := newWorld(4, costA, costB, costC).set(15, geometric(64, 1<<20, 2)...)
		for n := range set.Blocks {
			// The slowest of a block matters least for the fastest. At 256 none of its times can be used.
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
		return thresholds.Fit([]*timings.Set{set}, thresholds.Options{Resamples: 100})
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
		return fmt.Sprintf("%+v", thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 100}))
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
	thresholds.Fit([]*timings.Set{set}, thresholds.Options{Resamples: 10})
	if after := fmt.Sprintf("%+v", set); after != before {
		t.Error("the samples changed")
	}
}

// A single size at the lower end can be a segment, because many operations are serial at one row only.
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
			r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{})
			if len(r.Segments) != 2 || r.Verdict != thresholds.Switches {
				t.Fatalf("verdict %v, segments %+v; want two", r.Verdict, r.Segments)
			}
			if s := r.Segments[1]; s.From != first+1 || s.Low < first || s.High > first+2 {
				t.Errorf("the second segment starts at %d, in %d..%d; want %d", s.From, s.Low, s.High, first+1)
			}
		})
	}
}

func TestTheCostModelDisagrees(t *testing.T) {
	// b is much faster than its model in the upper half only, a step that no power law has.
	step := func(n float64) float64 {
		if n > 30000 {
			return 0.5 * costA(n)
		}
		return 1.02 * costA(n)
	}
	w := newWorld(3, costA, step)
	r := thresholds.Fit([]*timings.Set{w.set(15, geometric(64, 1<<20, 2)...)}, thresholds.Options{Resamples: 100})
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "cost model") || strings.Contains(r.Warnings[0], "\n") {
		t.Errorf("warnings: %q, want one line about the cost model; segments %+v", r.Warnings, r.Segments)
	}
}

// BenchmarkFit fits the samples of one case: three implementations, two switches.
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
		if result := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 1}); len(result.Segments) != 3 {
			b.Fatalf("there are %d segments, want 3", len(result.Segments))
		}
	}
}

// BenchmarkPlan runs a planner through one case's sweep, from the first visit to the last.
func BenchmarkPlan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newWorld(1, costA, costB).sweep(b, thresholds.PlannerOptions{Low: 64, High: 4 << 20})
	}
}
