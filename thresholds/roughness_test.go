package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"
)

// roughOf returns the roughness at a switch from 0 to 1 at 1000. Neighbouring sizes have the ratio step. The log-ratio of
// the two implementations is bend, and normal deviates of the deviation rough move each size.
func roughOf(seed uint64, sizes int, step, rough, noise float64, bend func(x float64) float64) deviation {
	rng := rand.New(rand.NewPCG(seed, 5))
	var groups []group
	cut := 0
	for k := range sizes {
		x := (float64(k-sizes/2) + 0.5) * math.Log(step)
		if x < 0 {
			cut = k + 1
		}
		size := int(math.Round(1000 * math.Exp(x)))
		ratio := bend(x) + rough*rng.NormFloat64()
		g := groupsOf(rng, 10, []int{size}, noise, 1, math.Exp(-ratio))[0]
		groups = append(groups, g)
	}
	loss := lossTable(groups, 2)
	stretches := []stretch{{0, 0, cut}, {1, cut, sizes}}
	segs := []Segment{{}, {edge: 1000}}
	return roughness(historyOf(groups, 2), loss, stretches, segs, twinStudy{})[1]
}

func TestRoughness(t *testing.T) {
	straight := func(x float64) float64 { return x }
	for name, c := range map[string]struct {
		sizes              int
		step, rough, noise float64
		bend               func(float64) float64
		low, high          float64 // of the root mean square
	}{
		"rough":             {12, 1.15, 0.1, 0.01, straight, 0.08, 0.12},
		"rough, few sizes":  {7, 1.28, 0.1, 0.01, straight, 0.07, 0.14},
		"rough and noisy":   {12, 1.15, 0.1, 0.05, straight, 0.07, 0.13},
		"smooth":            {12, 1.15, 0, 0.01, straight, 0, 0.003},
		"smooth but bent":   {12, 1.15, 0, 0.01, func(x float64) float64 { return x + 0.2*x*x }, 0, 0.006},
		"too few":           {4, 1.15, 0.3, 0.01, straight, 0, 0},
		"too far apart":     {12, 1.5, 0.3, 0.01, straight, 0, 0},
		"lost in the noise": {12, 1.15, 0.01, 0.1, straight, 0, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			var squares float64
			const runs = 60
			for seed := range uint64(runs) {
				got := roughOf(seed, c.sizes, c.step, c.rough, c.noise, c.bend)
				squares += got.sd * got.sd
			}
			if got := math.Sqrt(squares / runs); got < c.low || got > c.high {
				t.Errorf("the roughness is %.4f, want %v to %v", got, c.low, c.high)
			}
		})
	}
}

// Between neighbouring whole numbers nothing can be rough.
func TestNeighboursAreNotRough(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var groups []group
	for size := 1; size <= 8; size++ {
		groups = append(groups, groupsOf(rng, 10, []int{size}, 0.01, 1, math.Exp(0.3*rng.NormFloat64()))[0])
	}
	stretches := []stretch{{0, 0, 3}, {1, 3, 8}}
	if got := roughness(historyOf(groups, 2), lossTable(groups, 2), stretches, []Segment{{}, {edge: 4}}, twinStudy{})[1]; got.sd != 0 {
		t.Errorf("a roughness of %v between 3 and 4", got.sd)
	}
}
