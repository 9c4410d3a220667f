package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
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

// twinOf draws visits of so many blocks each: every block's log-ratio is its visit's luck plus bell-shaped noise.
func twinOf(visits, blocks int, luck, noise float64) twinStudy {
	rng := rand.New(rand.NewPCG(7, 7))
	set := &timings.Set{Implementations: []string{"a"}}
	for v := range visits {
		shift := luck * rng.NormFloat64()
		for range blocks {
			set.Blocks = append(set.Blocks, timings.Block{
				Size: 64 << (v % 8), Visit: v, Seconds: []float64{1},
				TwinSeconds: math.Exp(shift + noise*rng.NormFloat64()),
			})
		}
	}
	return studyTwin(groupBySize(set))
}

func TestTieBand(t *testing.T) {
	if got := twinOf(100, 15, 0, 0.001); got.tie != MinTieBand {
		t.Errorf("tie band of a quiet machine is %v, want %v", got.tie, MinTieBand)
	}
	// The median of 15 values of width 0.2 has a standard error of 0.2·1.25/√15 = 0.065, and 1.96 of it is 0.13.
	if got := twinOf(400, 15, 0, 0.2).tie; math.Abs(got-0.135) > 0.02 {
		t.Errorf("tie band of noisy blocks is %v, want 0.135", got)
	}
	if got := twinOf(200, 150, 0, 0.2).tie; math.Abs(got-0.041) > 0.008 {
		t.Errorf("tie band of ten times the noisy blocks is %v, want 0.041", got)
	}
	// What the blocks of a visit share no number of them averages away.
	if got := twinOf(400, 50, 0.1, 0.02).tie; math.Abs(got-0.217) > 0.03 {
		t.Errorf("tie band of unlucky visits is %v, want 0.217", got)
	}
}

func TestShiftIsWhatBlocksDoNotAverageAway(t *testing.T) {
	for _, c := range []struct{ luck, noise, want, within float64 }{
		{0, 0.1, 0, 0.010},
		{0.05, 0, 0.05, 0.004},
		{0.05, 0.02, 0.05, 0.004},
		{0.05, 0.1, 0.05, 0.008},
	} {
		if got := twinOf(400, 15, c.luck, c.noise).shift.sd; math.Abs(got-c.want) > c.within {
			t.Errorf("shift is %v with luck %v and noise %v, want %v", got, c.luck, c.noise, c.want)
		}
	}
}

func TestShiftAfterVisits(t *testing.T) {
	a := twinStudy{shift: deviation{sd: 0.1}}
	// A log-ratio of twins has two shifts in it, an estimate one; visits average them, by a median from three on.
	for visits, want := range map[int]float64{
		1: 0.1 / math.Sqrt2, 2: 0.05, 8: 0.025 * math.Sqrt(math.Pi/2),
	} {
		if got := a.shift.sd * a.shiftAfter(visits); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %d visits the shift is %v, want %v", visits, got, want)
		}
	}
}

// Luck that hits all of a visit alike, the A/A twin included, shows where a size is visited again, and only where it is.
func TestReturnsShowWhatTheTwinDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		luck      float64
		again     int // visits to each size
		low, high float64
	}{
		"luck":                     {0.15, 5, 0.1, 0.2},
		"none":                     {0, 5, 0, 0.02},
		"luck that nobody can see": {0.15, 1, 0, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 3))
			var sum float64
			const draws = 30
			for range draws {
				set := &timings.Set{Implementations: []string{"a", "b"}}
				visit := 0
				for _, size := range []int{100, 200, 400, 800} {
					for range c.again {
						luck := math.Exp(c.luck * rng.NormFloat64())
						for range 10 {
							noise := func() float64 { return math.Exp(0.02 * rng.NormFloat64()) }
							b := timings.Block{Size: size, Visit: visit, Seconds: []float64{noise(), 2 * luck * noise()}, Twin: 1}
							b.TwinSeconds = 2 * luck * noise()
							set.Blocks = append(set.Blocks, b)
						}
						visit++
					}
				}
				sum += studyTwin(groupBySize(set)).shift.sd
			}
			if got := sum / draws; got < c.low || got > c.high {
				t.Errorf("the shift is %.3f on average, want %v to %v", got, c.low, c.high)
			}
		})
	}
}

// A resample takes as many blocks of each visit as there are.
func TestVisitRanges(t *testing.T) {
	g := group{blocks: []*timings.Block{{Visit: 4}, {Visit: 4}, {Visit: 7}, {Visit: 9}, {Visit: 9}, {Visit: 9}}}
	if got, want := visitRanges(g), [][2]int{{0, 2}, {2, 3}, {3, 6}}; !slices.Equal(got, want) {
		t.Errorf("the visits are %v, want %v", got, want)
	}
}

// Normal deviates times draws of a deviation are Student's: with five degrees of freedom 5 % of them are beyond 2.571.
func TestDeviationsMakeStudents(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	d := deviation{0.1, 5}
	const draws = 20000
	beyond := 0
	for range draws {
		if math.Abs(rng.NormFloat64()*d.draw(rng)) > 0.2571 {
			beyond++
		}
	}
	if share := float64(beyond) / draws; math.Abs(share-0.05) > 0.006 {
		t.Errorf("%.3f of the deviates are beyond 2.571, want 0.05", share)
	}
	if got := (deviation{}).draw(rng); got != 0 {
		t.Errorf("no deviation is drawn as %v", got)
	}
}

func TestTieBandWithoutAUsableTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	groups := groupsOf(rng, 50, []int{64}, 0.5, 1, 2)
	for n, b := range groups[0].blocks {
		switch n % 5 {
		case 0:
			b.Twin = -1
		case 1:
			b.TwinSeconds = 0
		case 2:
			b.TwinSeconds = inf
		case 3:
			b.Twin = 5
		case 4:
			b.Seconds[b.Twin] = math.NaN()
		}
	}
	if got := studyTwin(groups); got != (twinStudy{tie: MinTieBand}) {
		t.Errorf("the twin says %+v, want a tie band of %v and no shift", got, MinTieBand)
	}
}

func TestFitCostRecoversTheModel(t *testing.T) {
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}
	for name, want := range map[string]Cost{
		"linear":                            {Fixed: 2e-5, PerSize: 1e-8, Exponent: 1},
		"no fixed part":                     {Fixed: 0, PerSize: 3e-9, Exponent: 1.25},
		"cubic":                             {Fixed: 1e-6, PerSize: 1e-12, Exponent: 3},
		"the square root":                   {Fixed: 1e-6, PerSize: 1e-7, Exponent: 0.5},
		"between the exponents of the grid": {Fixed: 1e-6, PerSize: 1e-10, Exponent: 1.51},
	} {
		for _, noise := range []float64{0, 0.01} {
			rng := rand.New(rand.NewPCG(3, 3))
			seconds := make([]float64, len(sizes))
			for s, n := range sizes {
				seconds[s] = want.At(float64(n)) * math.Exp(noise*rng.NormFloat64())
			}
			got := fitCost(sizes, seconds)
			// The exponents are 0.025 apart, which the factor makes up for at the large sizes.
			if math.Abs(got.Exponent-want.Exponent) > 0.0126+3*noise {
				t.Errorf("%s, noise %v: exponent is %v, want %v", name, noise, got.Exponent, want.Exponent)
			}
			if math.Abs(got.Fixed-want.Fixed) > (0.05+5*noise)*want.At(16) {
				t.Errorf("%s, noise %v: fixed part is %v, want %v", name, noise, got.Fixed, want.Fixed)
			}
			for _, n := range sizes {
				if ratio := got.At(float64(n)) / want.At(float64(n)); math.Abs(ratio-1) > 0.025+2*noise {
					t.Errorf("%s, noise %v: model at %d is off by a factor of %v", name, noise, n, ratio)
				}
			}
			if got.Residual > 0.01+noise {
				t.Errorf("%s, noise %v: residual is %v", name, noise, got.Residual)
			}
		}
	}
}

func TestFitCostOfOddTimes(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		seconds []float64
		valid   bool
	}{
		"nothing":        {[]float64{nan, nan, nan, nan}, false},
		"two sizes":      {[]float64{1e-6, nan, nan, 2e-6}, false},
		"three sizes":    {[]float64{1e-6, 2e-6, nan, 4e-6}, true},
		"constant":       {[]float64{1e-6, 1e-6, 1e-6, 1e-6}, true},
		"falling":        {[]float64{4e-6, 2e-6, 1e-6, 1e-7}, true},
		"far apart":      {[]float64{1e-12, 1e3, 1e-12, 1e3}, true},
		"a fourth power": {[]float64{1, 16, 256, 4096}, true},
	} {
		got := fitCost([]int{1, 2, 4, 8}, c.seconds)
		if got.Valid() != c.valid {
			t.Errorf("%s: valid is %v, want %v", name, got.Valid(), c.valid)
		}
		for _, v := range []float64{got.Fixed, got.PerSize, got.Residual} {
			if !(v >= 0) || math.IsInf(v, 1) {
				t.Errorf("%s: model %+v holds %v", name, got, v)
			}
		}
	}
}

func TestModelCrossing(t *testing.T) {
	slow := Cost{Fixed: 1e-6, PerSize: 1e-8, Exponent: 1}
	fast := Cost{Fixed: 1e-5, PerSize: 1e-9, Exponent: 1}
	for name, c := range map[string]struct {
		before, after Cost
		far           float64 // loss of each on the other's side
		want          float64
		ok            bool
	}{
		"where the models cross":     {slow, fast, 0.1, 1000, true},
		"never, the first wins":      {Cost{PerSize: 1e-9, Exponent: 1}, slow, 0.1, 4000, true},
		"never, the second wins":     {slow, Cost{PerSize: 1e-9, Exponent: 1}, 0.1, 10, true},
		"no model":                   {slow, Cost{}, 0.1, 0, false},
		"unmeasured":                 {slow, fast, inf, 0, false},
		"the second wins in between": {slow, Cost{Fixed: 1e-5, PerSize: 1e-15, Exponent: 3}, 0.1, 1000, true},
	} {
		r := &Result{
			Curves:   Curves{Sizes: []int{10, 90, 110, 4000}, Loss: [][]float64{{0, 0, c.far, 1}, {1, c.far, 0, 0}}},
			Costs:    []Cost{c.before, c.after},
			Segments: []Segment{{Implementation: 0, From: 10, To: 99}, {Implementation: 1, From: 100, To: 4000}},
		}
		got, ok := modelCrossing(r, 1)
		if ok != c.ok || math.Abs(got-c.want) > 0.07*c.want {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	low, high := medianInterval(nil)
	if !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("interval of nothing is %v..%v", low, high)
	}
	if low, high = medianInterval([]float64{1, 2, 3, 4, 5}); !math.IsInf(low, -1) {
		t.Errorf("interval of five values is %v..%v: five are too few for 95 %%", low, high)
	}
	// Six values cover their median with a chance of 1 − 2/64.
	if low, high = medianInterval([]float64{6, 1, 2, 5, 3, 4}); low != 1 || high != 6 {
		t.Errorf("interval of six values is %v..%v, want 1..6", low, high)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of three is %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four is %v", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

// A resample's median must be, to the last bit, that of the drawn log-ratios in order.
func TestMedianOfAResample(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for blocks := range 12 {
		for range 200 {
			g := group{}
			for range blocks {
				logs := []float64{float64(rng.IntN(5)) / 7, math.NaN()} // with ties
				if rng.IntN(4) == 0 {
					logs[0] = math.NaN()
				}
				g.logs = append(g.logs, logs)
			}
			times := make([]int, blocks)
			var drawn []float64
			for range blocks {
				b := rng.IntN(blocks)
				times[b]++
				if v := g.logs[b][0]; !math.IsNaN(v) {
					drawn = append(drawn, v)
				}
			}
			want := math.Inf(1)
			if len(drawn) > 0 {
				want = median(drawn)
			}
			ranks := g.rank(2)
			if got := ranks[0].median(times); got != want {
				t.Fatalf("of the log-ratios %v, drawn %v times, the median is %v, want %v", g.logs, times, got, want)
			}
			if got := ranks[1].median(times); !math.IsInf(got, 1) {
				t.Fatalf("the median of what was never timed is %v", got)
			}
		}
	}
}

func TestWinnerDoubts(t *testing.T) {
	const band = 0.03
	set := func(ratios ...float64) *timings.Set {
		s := &timings.Set{Implementations: []string{"a", "b"}}
		for _, r := range ratios {
			s.Blocks = append(s.Blocks, timings.Block{Size: 64, Seconds: []float64{1, r}, Twin: -1})
		}
		return s
	}
	for name, c := range map[string]struct {
		ratios []float64
		doubt  bool
	}{
		"a clear winner":                 {[]float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.4, 1.6, 1.5}, false},
		"a clear winner in three blocks": {[]float64{1.5, 1.4, 1.6}, false},
		"two blocks":                     {[]float64{1.5, 1.4}, true},
		"three blocks that disagree":     {[]float64{1.5, 0.9, 1.6}, true},
		"three blocks of a small gain":   {[]float64{1.02, 1.01, 1.02}, true},
		"a tie":                          {[]float64{1.01, 0.99, 1, 1, 1.01, 0.99, 1, 1.001}, false},
		"wide noise":                     {[]float64{1.2, 0.8, 1.1, 0.9, 1.3, 0.7, 1.1, 1.1}, true},
	} {
		groups := groupBySize(set(c.ratios...))
		if doubts := winnerDoubts(groups, lossTable(groups, 2), band); len(doubts) != 1 || (doubts[0] > 0) != c.doubt {
			t.Errorf("%s: doubts are %v, want doubt %v", name, doubts, c.doubt)
		}
	}
}
