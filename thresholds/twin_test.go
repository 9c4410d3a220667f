package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"crossover/timings"
)

// twinOf draws a number of visits with a number of blocks each. A block's log-ratio is its visit's luck plus bell-shaped
// noise.
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
	if got := twinOf(100, 15, 0, 0.001); got.tie() != MinTieBand {
		t.Errorf("tie band of a quiet machine is %v, want %v", got.tie(), MinTieBand)
	}
	// The median of 15 values of width 0.2 has a standard error of 0.2·1.25/√15 = 0.065, and 1.96 times that is 0.13.
	if got := twinOf(400, 15, 0, 0.2).tie(); math.Abs(got-0.135) > 0.02 {
		t.Errorf("tie band of noisy blocks is %v, want 0.135", got)
	}
	if got := twinOf(200, 150, 0, 0.2).tie(); math.Abs(got-0.041) > 0.008 {
		t.Errorf("tie band of ten times the noisy blocks is %v, want 0.041", got)
	}
	// The shared luck of a visit's blocks does not shrink with their number.
	if got := twinOf(400, 50, 0.1, 0.02).tie(); math.Abs(got-0.217) > 0.03 {
		t.Errorf("tie band of unlucky visits is %v, want 0.217", got)
	}
}

func TestShiftAfterVisits(t *testing.T) {
	a := twinStudy{shift: deviation{sd: 0.1}}
	// A log-ratio of twins has two shifts, and an estimate has one. Visits average them, by a median from three on.
	for visits, want := range map[int]float64{
		1: 0.1 / math.Sqrt2, 2: 0.05, 8: 0.025 * math.Sqrt(math.Pi/2),
	} {
		if got := a.shift.sd * a.shiftAfter(visits); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %d visits the shift is %v, want %v", visits, got, want)
		}
	}
}

// Luck that all blocks of a visit share, including those of the A/A twin, shows at sizes with several visits, and only
// there.
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
	if got := studyTwin(groups); got != (twinStudy{noise: MinTieBand}) {
		t.Errorf("the twin says %+v, want a tie band of %v and no shift", got, MinTieBand)
	}
}
