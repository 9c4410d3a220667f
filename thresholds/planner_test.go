package thresholds_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// powerOfTwo rounds to the nearest power of two.
func powerOfTwo(n int) int {
	if n < 1 {
		return 1
	}
	low := 1 << (bits.Len(uint(n)) - 1)
	if n-low > 2*low-n {
		return 2 * low
	}
	return low
}

// multipleOf returns a function that rounds to the nearest positive multiple of m.
func multipleOf(m int) func(int) int {
	return func(n int) int { return max(m, (n+m/2)/m*m) }
}

// sevenSmooth rounds to the nearest size without prime factors above 7. Of two it takes the lower one.
func sevenSmooth(n int) int {
	smooth := func(n int) bool {
		for _, p := range []int{2, 3, 5, 7} {
			for n > 1 && n%p == 0 {
				n /= p
			}
		}
		return n == 1
	}
	for d := 0; ; d++ {
		for _, size := range []int{n - d, n + d} {
			if size >= 1 && smooth(size) {
				return size
			}
		}
	}
}

func TestPlannerFinishesOnEveryAxis(t *testing.T) {
	for name, c := range map[string]struct {
		low, high int
		ratio     float64
		round     func(int) int
		costs     []func(float64) float64
		from      float64 // of the second segment; 0 if one implementation wins
	}{
		"64 to 4Mi":                 {64, 4 << 20, 0, nil, []func(float64) float64{costA, costB}, 1000},
		"1 to 64":                   {1, 64, 0, nil, []func(float64) float64{linear(1e-6, 1e-6), linear(2e-5, 1e-8)}, 19.2},
		"1 to 3":                    {1, 3, 0, nil, []func(float64) float64{linear(1e-6, 1e-6), linear(2.5e-6, 1e-8)}, 2},
		"1 to 3 at a ratio of 2":    {1, 3, 2, nil, []func(float64) float64{linear(1e-6, 1e-6), linear(3.5e-6, 1e-8)}, 3},
		"1 to 2":                    {1, 2, 0, nil, []func(float64) float64{linear(1e-6, 1e-6), linear(2.5e-6, 1e-8)}, 2},
		"one size":                  {7, 7, 0, nil, []func(float64) float64{costA, costB}, 0},
		"one size, a tie":           {7, 7, 0, nil, []func(float64) float64{costA, costA}, 0},
		"powers of two":             {64, 1 << 20, 0, powerOfTwo, []func(float64) float64{costA, costB}, 1024},
		"powers of two, close":      {64, 1 << 20, 1.2, powerOfTwo, []func(float64) float64{costA, costB}, 1024},
		"bounds that are no size":   {100, 1000000, 0, powerOfTwo, []func(float64) float64{costA, costB}, 1024},
		"multiples of 48":           {48, 96000, 0, multipleOf(48), []func(float64) float64{costA, costB}, 1000},
		"all round to one":          {1, 40, 0, func(int) int { return 16 }, []func(float64) float64{costA, costB}, 0},
		"the crossing at the end":   {64, 1010, 0, nil, []func(float64) float64{costA, costB}, 0},
		"a tie":                     {64, 1 << 20, 0, nil, []func(float64) float64{costA, costA}, 0},
		"one implementation":        {64, 1 << 20, 0, nil, []func(float64) float64{costA}, 0},
		"three implementations":     {64, 65536, 0, nil, []func(float64) float64{costA, costB, costC}, 1000},
		"one of them is not there":  {64, 65536, 0, nil, []func(float64) float64{costA, until(0, costB)}, 0},
		"one of them stops at 2000": {64, 65536, 0, nil, []func(float64) float64{until(2000, costB), linear(1e-4, 1e-8)}, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(21, c.costs...)
			o := thresholds.PlannerOptions{
				Low: c.low, High: c.high, Ratio: c.ratio, Round: c.round, Fit: thresholds.Options{Seed: 3},
			}
			set, visits := w.sweep(t, o)
			if visits > 80 {
				t.Errorf("the planner took %d visits", visits)
			}
			sizes := set.Sizes()
			for _, size := range sizes {
				if c.round != nil && c.round(size) != size {
					t.Errorf("the planner went to %d, which rounds to %d", size, c.round(size))
				}
			}
			r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 3, Resamples: 300})
			if c.from == 0 {
				if len(r.Segments) != 1 {
					t.Errorf("segments are %+v, want one", r.Segments)
				}
				return
			}
			if len(r.Segments) != 2 {
				t.Fatalf("segments are %+v, want two", r.Segments)
			}
			s := r.Segments[1]
			if c.from < float64(s.Low)/1.03 || c.from > float64(s.High)*1.03 {
				t.Errorf("the second segment starts in %d..%d, and in truth at %v", s.Low, s.High, c.from)
			}
			// If every size can be measured, the interval is as narrow as wanted, or one whole size wide.
			if ratio := float64(s.High) / float64(s.Low); c.round == nil && ratio > 1.3 && s.High > s.Low+1 {
				t.Errorf("the interval is %d..%d after %d visits", s.Low, s.High, visits)
			}
		})
	}
}

func TestPlannerRefusesImpossibleAxes(t *testing.T) {
	empty := &timings.Set{Implementations: []string{"a"}}
	for name, c := range map[string]struct {
		o     thresholds.PlannerOptions
		sizes int // number of sizes that it may propose
	}{
		"from zero":             {thresholds.PlannerOptions{Low: 0, High: 64}, 4},
		"from below zero":       {thresholds.PlannerOptions{Low: -5, High: 64}, 4},
		"upside down":           {thresholds.PlannerOptions{Low: 64, High: 16}, 1},
		"steps of nothing":      {thresholds.PlannerOptions{Low: 1, High: 1 << 40, Ratio: 1.0000001}, 600},
		"steps back":            {thresholds.PlannerOptions{Low: 1, High: 64, Ratio: -3}, 90},
		"steps of NaN":          {thresholds.PlannerOptions{Low: 1, High: 64, Ratio: math.NaN()}, 2},
		"steps of infinity":     {thresholds.PlannerOptions{Low: 1, High: 64, Ratio: math.Inf(1)}, 2},
		"no size in the bounds": {thresholds.PlannerOptions{Low: 65, High: 100, Round: powerOfTwo}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := thresholds.NewPlanner(c.o)
			for n := 0; ; n++ {
				size, _, worth := p.Next(empty)
				if worth <= 0 {
					return
				}
				if n == c.sizes {
					t.Fatalf("the planner goes on after %d sizes, to %d", n, size)
				}
				if size < 1 || size < c.o.Low || size > max(c.o.High, c.o.Low, 1) {
					t.Fatalf("the planner goes to %d", size)
				}
				p.Visited(size)
			}
		})
	}
}

func TestPlannerWalksTheGridFirstAndUpwards(t *testing.T) {
	w := newWorld(1, costA, costB)
	set := w.set(0)
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536})
	var rungs, between []int
	last := math.Inf(1)
	for {
		size, blocks, worth := p.Next(set)
		if worth > last {
			t.Errorf("%d is worth %v, more than the %v of the one before", size, worth, last)
		}
		last = worth
		if worth >= 1000 {
			rungs = append(rungs, size)
		} else if worth >= 500 {
			between = append(between, size)
		} else {
			break
		}
		w.visit(set, size, blocks)
		p.Visited(size)
	}
	if want := []int{64, 256, 1024, 4096, 16384, 65536}; !slices.Equal(rungs, want) {
		t.Errorf("rungs are %v, want %v", rungs, want)
	}
	if len(between) != len(rungs)-1 || !slices.IsSorted(between) {
		t.Fatalf("sizes between the rungs are %v", between)
	}
	powers := 0
	for k, size := range between {
		if size <= rungs[k] || size >= rungs[k+1] {
			t.Errorf("%d is not between %d and %d", size, rungs[k], rungs[k+1])
		}
		if powerOfTwo(size) == size {
			powers++
		}
	}
	if powers == len(between) {
		t.Errorf("sizes between the rungs are all powers of two: %v", between)
	}
}

// A budget that ends early should have measured great sizes too, but no step may be so large that the cost of its visit does
// not follow from the sizes before it.
func TestPlannerGoesUpInLargeStepsOfWork(t *testing.T) {
	power := func(exponent float64) func(int) float64 {
		return func(size int) float64 { return math.Pow(float64(size), exponent) }
	}
	for name, c := range map[string]struct {
		ratio float64
		work  func(int) float64
		want  []int
	}{
		"work unknown":        {4, nil, []int{64, 256, 1024, 4096, 16384, 65536}},
		"linear":              {4, power(1), []int{64, 256, 4096, 65536, 1024, 16384}},
		"linear, small steps": {2, power(1), []int{64, 256, 4096, 65536, 1024, 16384, 128, 512, 2048, 8192, 32768}},
		"linear, large steps": {16, power(1), []int{64, 1024, 16384, 65536}},
		"cubic":               {4, power(3), []int{64, 256, 1024, 4096, 16384, 65536}},
		"constant":            {4, power(0), []int{64, 256, 65536, 4096, 1024, 16384}},
	} {
		p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536, Ratio: c.ratio, Work: c.work})
		var got []int
		for range len(p.Rungs()) {
			size, _, worth := p.Next(&timings.Set{Implementations: []string{"a"}})
			if worth < 1000 {
				t.Errorf("%s: %d is worth %v", name, size, worth)
			}
			got = append(got, size)
			p.Visited(size)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the rungs come in the order %v, want %v", name, got, c.want)
		}
	}
}

func TestPlannerWeighsEveryVisit(t *testing.T) {
	w := newWorld(1, costA, costB)
	set := w.set(0)
	light := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536, Fit: thresholds.Options{Seed: 1}})
	heavy := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536, Weight: 3, Fit: thresholds.Options{Seed: 1}})
	for range 16 {
		size, blocks, worth := light.Next(set)
		if same, _, more := heavy.Next(set); same != size || math.Abs(more-3*worth) > 1e-9*worth {
			t.Errorf("%d is worth %v, and %d with a weight of 3 is worth %v", size, worth, same, more)
		}
		w.visit(set, size, max(blocks, 15))
		light.Visited(size)
		heavy.Visited(size)
	}
}

func TestPlannerRepeatsItsProposalUntilItIsVisited(t *testing.T) {
	w := newWorld(1, costA, costB)
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536})
	set := w.set(0)
	for range 12 {
		size, blocks, worth := p.Next(set)
		for range 3 {
			if s, b, v := p.Next(set); s != size || b != blocks || v != worth {
				t.Fatalf("the planner proposes %d, %d, %v and then %d, %d, %v", size, blocks, worth, s, b, v)
			}
		}
		w.visit(set, size, 15)
		p.Visited(size)
	}
}

func TestPlannerIsDeterministic(t *testing.T) {
	path := func(seed uint64) string {
		set, _ := newWorld(5, costA, costB).sweep(t, thresholds.PlannerOptions{
			Low: 64, High: 65536, Fit: thresholds.Options{Seed: seed},
		})
		return fmt.Sprint(set.Sizes())
	}
	if a, b := path(1), path(1); a != b {
		t.Errorf("the same seed and samples give the paths %s and %s", a, b)
	}
	if path(1) == path(2) {
		t.Error("another seed jitters to the same sizes")
	}
}

func TestPlannerStopsWhenPrecise(t *testing.T) {
	measure := func(precision float64) (visits int, width float64) {
		w := newWorld(1, costA, costB)
		w.noise = spiky(0.005)
		set, visits := w.sweep(t, thresholds.PlannerOptions{
			Low: 64, High: 65536, Fit: thresholds.Options{Seed: 1, Precision: precision},
		})
		r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 1, Precision: precision})
		return visits, math.Log(float64(r.Segments[1].High) / float64(r.Segments[1].Low))
	}
	rough, wide := measure(0.5)
	fine, narrow := measure(0.02)
	if rough >= fine {
		t.Errorf("a precision of 0.5 takes %d visits, one of 0.02 takes %d", rough, fine)
	}
	// The assumed difference between runs makes 0.1 of it, which the planner does not try to narrow.
	if wide > 2*math.Log(1.5) || narrow > 0.11 {
		t.Errorf("intervals are %v and %v wide, want 0.81 and 0.11 at most", wide, narrow)
	}
	if fine > 45 {
		t.Errorf("a clear crossing took %d visits", fine)
	}
}

// If the operation takes no size inside the bracket, more blocks do not narrow the interval.
func TestPlannerLeavesABracketThatCannotBeSplit(t *testing.T) {
	w := newWorld(1, costA, costB)
	_, visits := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536, Round: powerOfTwo})
	if visits > 14 {
		t.Errorf("11 powers of two took %d visits", visits)
	}
}

func TestPlannerStaysBelowTheLimit(t *testing.T) {
	// One limit is above the crossing at 1000, and one below.
	for _, high := range []int{496, 4096} {
		for after := range 16 {
			w := newWorld(2, costA, costB)
			p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536, Round: multipleOf(8)})
			set := w.set(0)
			for visits := 0; ; visits++ {
				if visits == after {
					p.Limit(high)
					p.Limit(2 * high) // a higher limit does not undo it
				}
				size, blocks, worth := p.Next(set)
				if worth <= 0 {
					break
				}
				if visits >= after && size > high {
					t.Fatalf("limited to %d after %d visits, the planner goes to %d", high, after, size)
				}
				if visits == 200 {
					t.Fatalf("limited to %d after %d visits, the planner does not finish", high, after)
				}
				w.visit(set, size, max(blocks, 15))
				p.Visited(size)
			}
		}
	}
}

func TestPlannerVisitsARungOnce(t *testing.T) {
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 1024, Ratio: 1.2, Round: powerOfTwo})
	var rungs []int
	for {
		size, _, worth := p.Next(&timings.Set{Implementations: []string{"a"}})
		if worth < 1000 {
			break
		}
		rungs = append(rungs, size)
		p.Visited(size)
	}
	if want := []int{64, 128, 256, 512, 1024}; !slices.Equal(rungs, want) {
		t.Errorf("rungs are %v, want %v", rungs, want)
	}
}

// An edge follows from its two sizes, and one visit may have bad luck.
func TestPlannerConfirmsEdges(t *testing.T) {
	w := newWorld(1, costA, costB)
	set, _ := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536})
	r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{})
	above, _ := slices.BinarySearch(r.Curves.Sizes, r.Segments[1].From)
	for _, size := range r.Curves.Sizes[above-1 : above+1] {
		visits := map[int]bool{}
		for _, b := range set.At(size) {
			visits[b.Visit] = true
		}
		if len(visits) < 3 {
			t.Errorf("%d was visited %d times, want 3", size, len(visits))
		}
	}
}

// On a machine whose times vary from visit to visit, every size inside the interval keeps it wide, not only the two beside
// the edge.
func TestPlannerNarrowsTheWholeInterval(t *testing.T) {
	const seeds = 16
	var mu sync.Mutex
	var sum float64
	eachSeed(seeds, func(seed uint64) {
		w := newWorld(seed, costA, costB)
		w.luck = 0.1
		set, visits := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536, Fit: thresholds.Options{Seed: seed}})
		r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 200})
		mu.Lock()
		defer mu.Unlock()
		if len(r.Segments) != 2 {
			t.Errorf("seed %d: segments are %+v", seed, r.Segments)
			return
		}
		if visits > 120 {
			t.Errorf("seed %d: %d visits", seed, visits)
		}
		sum += math.Log(float64(r.Segments[1].High) / float64(r.Segments[1].Low))
	})
	if width := sum / seeds; width > 0.29 {
		t.Errorf("the intervals are %v wide, want 0.22: the visits went to the wrong sizes", width)
	}
}

// More than a dozen visits to a size change nothing, so the planner must end with the result that it has.
func TestPlannerGivesUpOnAHopelessMachine(t *testing.T) {
	w := newWorld(3, costA, costB)
	w.luck = 0.3
	set, _ := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536, Fit: thresholds.Options{Precision: 0.05}})
	visits := map[int]map[int]bool{}
	most := 0
	for _, b := range set.Blocks {
		if visits[b.Size] == nil {
			visits[b.Size] = map[int]bool{}
		}
		visits[b.Size][b.Visit] = true
		most = max(most, len(visits[b.Size]))
	}
	if most != 12 {
		t.Errorf("the most visited size was visited %d times, want 12", most)
	}
}

func TestPlannerWithNothingLeft(t *testing.T) {
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536})
	p.Limit(0)
	if size, _, worth := p.Next(&timings.Set{Implementations: []string{"a"}}); worth > 0 {
		t.Errorf("the planner goes to %d", size)
	}
}

// A size that yields no block must not be proposed again and again.
func TestPlannerGivesUpOnSizesThatCannotBeMeasured(t *testing.T) {
	w := newWorld(2, costA, costB)
	p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536})
	set := w.set(0)
	for visits := 0; ; visits++ {
		size, blocks, worth := p.Next(set)
		if worth <= 0 {
			break
		}
		if visits == 500 {
			t.Fatalf("the planner still goes to %d", size)
		}
		if size <= 256 || size >= 4096 {
			w.visit(set, size, blocks)
		}
		p.Visited(size)
	}
}

// An implementation that becomes parallel at too small a size loses in a stretch between two others in which it wins. One or
// two sizes of the grid lie there, so the planner must measure beside them before anything is decided.
func TestPlannerLooksBesideALoss(t *testing.T) {
	serial := linear(0, 2e-9)
	early := func(n float64) float64 {
		if n < 760 {
			return 0.985 * serial(n)
		}
		return 1.2e-6 + 0.6*serial(n)
	}
	found := 0
	const runs = 20
	for seed := range uint64(runs) {
		w := newWorld(seed, serial, early)
		w.luck = 0.02
		set, _ := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 1 << 20, Fit: thresholds.Options{Seed: seed}})
		r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed})
		at := func(size int) int {
			n := slices.IndexFunc(r.Segments, func(s thresholds.Segment) bool { return size <= s.To })
			return r.Segments[n].Implementation
		}
		if at(1000) == 0 && at(1<<20) == 1 {
			found++
		}
	}
	if found < runs-2 {
		t.Errorf("%d of %d sweeps find the stretch from 760 to 1500", found, runs)
	}
}

// A step near an end of the range, or a stretch inside it, leaves one of the planned sizes alone in its segment. A size
// within a factor of 1.2 is not near enough to say where the stretch begins.
func TestPlannerLooksBesideASingleSize(t *testing.T) {
	stretch := func(low, high, gain float64) func(float64) float64 {
		return func(n float64) float64 {
			if n < low || n > high {
				return 1.3 * costA(n)
			}
			return costA(n) / gain
		}
	}
	for name, c := range map[string]struct{ low, high, gain float64 }{
		"at the start":  {0, 70, 1.5},
		"at the end":    {60500, 1e9, 1.5},
		"in the middle": {980, 1100, 1.5},
	} {
		t.Run(name, func(t *testing.T) {
			eachSeed(2, func(seed uint64) {
				w := newWorld(seed, costA, stretch(c.low, c.high, c.gain))
				set, _ := w.sweep(t, thresholds.PlannerOptions{
					Low: 64, High: 65536,
					// An interval of this width is reached at once, and then the planner still measures beside the size.
					Fit: thresholds.Options{Seed: seed, Precision: 0.3},
				})
				in := 0
				for _, size := range set.Sizes() {
					if float64(size) >= c.low && float64(size) <= c.high {
						in++
					}
				}
				if in < 2 {
					t.Errorf("seed %d: %d of the sizes lie in %v to %v, want 2: %v", seed, in, c.low, c.high, set.Sizes())
				}
				if n := len(set.Sizes()); n > 45 {
					t.Errorf("seed %d: %d sizes: the planner looks on and on", seed, n)
				}
			})
		})
	}
}

// From 10 000 on b is much faster, except at powers of two, where a is a little faster. Rungs of the grid are such powers,
// and so is the greatest size. Programs hardly ever call such sizes.
func TestAwkwardSizesAreNoSegments(t *testing.T) {
	const low, high = 64, 1 << 20
	a := linear(1e-6, 1e-8)
	b := func(n float64) float64 {
		octave := math.Log2(n)
		switch {
		case octave == math.Floor(octave) && n > 10_000:
			return (1.07 + 0.02*math.Sin(octave)) * a(n)
		case n > 10_000:
			return a(n) / (1.65 + 0.35*math.Sin(3*octave))
		}
		return 1.4 * a(n)
	}
	const runs = 10
	var mu sync.Mutex
	good := 0
	eachSeed(runs, func(seed uint64) {
		w := newWorld(seed, a, b)
		set, _ := w.sweep(t, thresholds.PlannerOptions{
			Low: low, High: high, Round: sevenSmooth, Fit: thresholds.Options{Seed: seed},
		})
		r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 200})
		rng := rand.New(rand.NewPCG(seed, 7))
		worst := 0.0
		for range 500 {
			size := sevenSmooth(int(low * math.Pow(high/low, rng.Float64())))
			n := float64(size)
			if size == powerOfTwo(size) || math.Abs(math.Log(n/10_000)) < math.Log(1.1) {
				continue
			}
			k := slices.IndexFunc(r.Segments, func(s thresholds.Segment) bool { return size <= s.To })
			chosen := []float64{a(n), b(n)}[r.Segments[k].Implementation]
			worst = max(worst, chosen/min(a(n), b(n))-1)
		}
		mu.Lock()
		defer mu.Unlock()
		if worst < 0.01 {
			good++
		}
		sizes := r.Curves.Sizes
		if len(sizes) > 70 {
			t.Errorf("seed %d: %d sizes: the planner looks on and on", seed, len(sizes))
		}
		before := sizes[len(sizes)-2]
		for _, s := range r.Segments[1:] {
			if s.From > before && (s.Low > before+1 || s.High < high) {
				t.Errorf("seed %d: a threshold at %d, in %d..%d; nothing was measured between %d and %d",
					seed, s.From, s.Low, s.High, before, high)
			}
		}
	})
	if good < runs-1 {
		t.Errorf("%d of %d sweeps choose well at sizes that are no powers of two", good, runs)
	}
}

// A size without quiet blocks is visited again until it has one, up to a number of visits.
func TestDisturbedSizesAreVisitedAgain(t *testing.T) {
	for name, quietFrom := range map[string]int{"quiet the second time": 1, "never quiet": 1000} {
		w := newWorld(5, linear(1e-6, 1e-9), linear(2e-6, 2e-9)) // there is one winner, so that no other rule returns to a size
		const loud = 4096
		visits := map[int]int{} // sizes, by the numbers of visits
		w.disturbed = func(size int) bool {
			visits[w.visits] = size
			return size == loud && countOf(visits, loud) <= quietFrom
		}
		w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 65536})
		counts := countOf(visits, loud)
		if least, most := 2, 4; counts < least || counts > most || counts < most && quietFrom > most {
			t.Errorf("%s: visited %d times", name, counts)
		}
	}
}

// If a visit turns out to be disturbed, its size is visited again, however often it was visited before.
func TestDoubtedSizesAreVisitedAgain(t *testing.T) {
	for _, told := range []bool{true, false} {
		w := newWorld(5, linear(1e-6, 1e-9), linear(2e-6, 2e-9))
		p := thresholds.NewPlanner(thresholds.PlannerOptions{Low: 64, High: 65536})
		set := &timings.Set{Implementations: w.names}
		visit := func() (size int) {
			size, blocks, worth := p.Next(set)
			if worth <= 0 {
				return 0
			}
			w.visit(set, size, blocks)
			p.Visited(size)
			return size
		}
		for visit() != 0 {
		}
		const doubted = 4096
		for range 4 {
			w.visit(set, doubted, 5)
			p.Visited(doubted)
		}
		for k := range set.Blocks {
			set.Blocks[k].Disturbed = set.Blocks[k].Size == doubted
		}
		if told {
			p.Doubted(doubted)
		}
		if _, _, worth := p.Next(set); told != (worth > 100) {
			t.Errorf("told %t: the next visit is worth %v, and a first one some hundreds", told, worth)
		}
		if size := visit(); (size == doubted) != told {
			t.Errorf("told %t: %d is visited next", told, size)
		}
	}
}

func countOf(visits map[int]int, size int) int {
	n := 0
	for _, s := range visits {
		if s == size {
			n++
		}
	}
	return n
}

// If a threshold stays uncertain after enough visits to its sizes, sizes between them are measured.
func TestRoughCurvesWantSizes(t *testing.T) {
	rough := func(n float64) float64 { // up to 15 % in either direction, the same at each call
		return linear(2e-6, 1e-9)(n) * math.Exp(0.15*math.Sin(37*math.Log(n)*math.Log(n)))
	}
	w := newWorld(5, rough, linear(8e-6, 0.7e-9)) // without the roughness they cross at 20 000
	set, _ := w.sweep(t, thresholds.PlannerOptions{Low: 64, High: 1 << 20})
	sizes := slices.DeleteFunc(set.Sizes(), func(size int) bool { return size < 16_000 || size > 26_000 })
	for k := 1; k < len(sizes); k++ {
		if ratio := float64(sizes[k]) / float64(sizes[k-1]); ratio > 1.11 {
			t.Errorf("nothing was measured between %d and %d", sizes[k-1], sizes[k])
		}
	}
}
