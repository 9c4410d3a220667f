package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"
)

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

// Normal deviates times draws of a deviation have Student's distribution: with five degrees of freedom 5 % are beyond 2.571.
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
