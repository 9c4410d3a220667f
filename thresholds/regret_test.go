package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"crossover/timings"
)

// groupsOf draws groups of blocks: so many blocks at each size, each implementation's time a factor times bell-shaped
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

func TestCrossFittedRegret(t *testing.T) {
	sizes := []int{100, 200, 400, 800, 1600}
	for name, c := range map[string]struct {
		factors []float64
		chosen  int
		want    float64
	}{
		"the right choice":                 {[]float64{1, 1.2}, 0, 0},
		"the wrong choice":                 {[]float64{1, 1.2}, 1, 0.2},
		"the worst of three":               {[]float64{1.5, 1, 1.2}, 0, 0.5},
		"one of two that are the same":     {[]float64{1, 1}, 0, 0},
		"one of many that are the same":    {[]float64{1, 1, 1, 1, 1, 1}, 3, 0},
		"the only one that there is":       {[]float64{1}, 0, 0},
		"beside a choice that is hopeless": {[]float64{1, 1000}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			const draws = 100
			var sum float64
			for range draws {
				groups := groupsOf(rng, 11, sizes, 0.05, c.factors...)
				sum += crossFittedRegret(groups, []stretch{{c.chosen, 0, len(sizes)}})
			}
			// Each draw is cut off at 0, so a regret of nothing comes out as a little: half the noise of a draw, which
			// is about 0.05 ÷ √(11·5) each. An oracle that picked and timed on the same blocks would say 0.03 for six
			// implementations that are the same.
			if got := sum / draws; math.Abs(got-c.want) > 0.008 {
				t.Errorf("regret is %.4f on average, want %.4f", got, c.want)
			}
		})
	}
}

func TestRegretWeighsSizesByTheLogRangeThatTheyStandFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	// Three sizes close together and one far off: 1, 1.1, 1.21 … 1000. Only the far one has a loss.
	near := groupsOf(rng, 4, []int{1000, 1100, 1210}, 0, 1, 2)
	far := groupsOf(rng, 4, []int{1210000}, 0, 2, 1)
	groups := append(near, far...)
	span := math.Log(1210)
	want := math.Exp(math.Ln2*(math.Log(1000)/2)/span) - 1
	if got := crossFittedRegret(groups, []stretch{{0, 0, 4}}); math.Abs(got-want) > 1e-9 {
		t.Errorf("regret is %v, want %v", got, want)
	}
}

func TestRegretOfTooFewBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	if got := crossFittedRegret(groupsOf(rng, 1, []int{64, 128}, 0.01, 1, 2), []stretch{{1, 0, 2}}); got != 0 {
		t.Errorf("regret of single blocks is %v, want 0: there is no second half", got)
	}
	if got := crossFittedRegret(groupsOf(rng, 3, []int{64}, 0, 1, 2), []stretch{{1, 0, 1}}); math.Abs(got-1) > 1e-9 {
		t.Errorf("regret at a single size is %v, want 1", got)
	}
}
