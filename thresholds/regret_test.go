package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/timings"
)

// groupsOf draws groups with a number of blocks at each size. Each implementation's time is its factor times bell-shaped
// noise of a width.
func groupsOf(rng *rand.Rand, blocks int, sizes []int, width float64, factors ...float64) []group {
	set := &timings.Set{Implementations: make([]string, len(factors))}
	for visit, size := range sizes {
		for range blocks {
			b := timings.Block{Size: size, Visit: visit}
			for _, factor := range factors {
				b.Seconds = append(b.Seconds, 1e-6*factor*math.Exp(width*rng.NormFloat64()))
			}
			b.Twin = rng.IntN(len(factors))
			b.TwinSeconds = 1e-6 * factors[b.Twin] * math.Exp(width*rng.NormFloat64())
			set.Blocks = append(set.Blocks, b)
		}
	}
	return groupBySize(set)
}

// historyOf returns the history of runs with a number of implementations.
func historyOf(groups []group, implementations int, more ...[]group) *history {
	h := &history{implementations: make([]string, implementations), divides: make([]int, implementations)}
	return h.of(append([][]group{groups}, more...))
}

// A choice from other timings is compared with the implementation that these pick, on timings of neither.
func TestRegretOfOneRun(t *testing.T) {
	sizes := []int{100, 200, 400, 800, 1600}
	for name, c := range map[string]struct {
		factors []float64
		want    float64
	}{
		"a clear choice":              {[]float64{1, 1.2}, 0},
		"many that are the same":      {[]float64{1, 1, 1, 1, 1, 1}, 0},
		"the only one that there is":  {[]float64{1}, 0},
		"beside one that is hopeless": {[]float64{1, 1000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			const draws = 100
			var sum float64
			for range draws {
				sum += historyOf(groupsOf(rng, 12, sizes, 0.05, c.factors...), len(c.factors)).regret().Mean
			}
			// If the same blocks picked and timed, six identical implementations would give 0.03.
			if got := sum / draws; math.Abs(got-c.want) > 0.004 {
				t.Errorf("regret is %.4f on average, want %.4f", got, c.want)
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if r := historyOf(groupsOf(rng, 1, []int{64, 128}, 0.01, 1, 2), 2).regret(); r.Parts != 0 || !math.IsNaN(r.Mean) || !math.IsNaN(r.Upper) {
		t.Errorf("single blocks have the regret %+v, want none: nothing is left to choose", r)
	}
}

// Sizes of a single run whose losses are all 0 do not promise 0. Losses that were seen are not made smaller.
func TestASingleRunDoesNotPromiseNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	of := func(sizes ...int) Regret { return historyOf(groupsOf(rng, 4, sizes, 0, 1, 1.2), 2).regret() }
	few, many := of(100, 200, 400, 800), of(geometricSizes(60, 1.1)...)
	if few.Mean != 0 || many.Mean != 0 {
		t.Fatalf("regrets are %+v and %+v, want 0", few, many)
	}
	if !(many.Upper > 0.001 && many.Upper < few.Upper && few.Upper < 0.06) {
		t.Errorf("at most %.3f by four sizes and %.4f by sixty, want above 0, and less by more sizes", few.Upper, many.Upper)
	}
	same := loss{math.Log(1.4), 1}
	if r := regretOfSizes([]loss{same, same, same, same, same}); math.Abs(r.Mean-0.4) > 1e-9 || r.Upper < r.Mean {
		t.Errorf("five losses of 40 %% have the regret %+v", r)
	}
}

// A size at which the choices of other sizes lose counts with the log-size that it stands for.
func TestRegretWeighsSizesByTheLogRangeThatTheyStandFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	// The last of these is a bump that is too narrow for a segment: ln 1.1 ÷ 2 of ln 1331.
	groups := slices.Concat(groupsOf(rng, 4, []int{1, 10, 100, 1000, 1210}, 0, 1, 1.2), groupsOf(rng, 4, []int{1331}, 0, 1.1, 1))
	want := math.Log(1.1) * math.Log(1.1) / 2 / math.Log(1331)
	if got := historyOf(groups, 2).regret().Mean; math.Abs(got-math.Expm1(want)) > 1e-9 {
		t.Errorf("regret is %v, want %v", got, math.Expm1(want))
	}
}

// The luck of a run makes a choice that another run does not confirm, so timings that choose must not judge.
func TestRegretIsHeldOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	sizes := []int{100, 200, 400, 800, 1600}
	runs := func(second float64) *history {
		return historyOf(groupsOf(rng, 8, sizes, 0.01, 1, 1.2), 2, groupsOf(rng, 8, sizes, 0.01, 1, second))
	}
	if r := runs(1.2).regret(); math.Abs(r.Mean) > 0.005 || r.Upper < r.Mean || r.Parts != 2 {
		t.Errorf("two runs that agree have the regret %+v, want about 0", r)
	}
	// In the first run one is faster by 1.2, and in the second run the other one is.
	if r := runs(1 / 1.2).regret(); math.Abs(r.Mean-0.2) > 0.01 {
		t.Errorf("two runs that exclude each other have the regret %+v, want 0.2", r)
	}
	negative := 0
	for range 50 {
		h := historyOf(groupsOf(rng, 8, []int{100, 100, 200, 200, 400, 400, 800, 800}, 0.05, 1, 1), 2)
		if h.regret().Mean < 0 {
			negative++
		}
	}
	if negative < 10 || negative > 40 {
		t.Errorf("%d of 50 regrets of equals are below 0, want about half: nothing is cut off", negative)
	}
}
