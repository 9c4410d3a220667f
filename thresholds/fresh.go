package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Fresh draws sizes that a calibration did not measure. An Auditor checks them.
type Fresh struct {
	low, high int
	round     func(int) int
	taken     map[int]bool
	rng       *rand.Rand
}

// NewFresh returns a source of sizes from low to high that differ from the measured ones. round returns the nearest size
// that the operation takes. A nil round takes every size.
func NewFresh(low, high int, round func(int) int, measured []int, rng *rand.Rand) *Fresh {
	f := &Fresh{low: low, high: high, round: round, taken: map[int]bool{}, rng: rng}
	for _, size := range measured {
		f.taken[size] = true
	}
	return f
}

const (
	checked = 20 // least number of sizes of a case
	strata  = 8  // least number of random ones among them; the others are beside thresholds
)

// beside are the sizes beside a threshold, as factors of it.
var beside = []float64{1 / 2.0, 1 / 1.55, 1 / 1.3, 1 / 1.1, 1.1, 1.3, 1.55, 2}

// Sizes returns the sizes to check: twenty or more, if the axis has as many. One random size lies in each of several equal
// parts of the range in log-size. Four lie on either side of every threshold, where a wrong threshold would show.
func (f *Fresh) Sizes(thresholds []int) []int {
	low, high := math.Log(float64(f.low)), math.Log(float64(f.high))
	var sizes []int
	add := func(x float64) {
		if size, ok := f.draw(x); ok {
			sizes = append(sizes, size)
		}
	}
	random := max(strata, checked-len(beside)*len(thresholds))
	for k := range random {
		add(math.Exp(low + (high-low)*(float64(k)+f.rng.Float64())/float64(random)))
	}
	for _, from := range thresholds {
		for _, factor := range beside {
			add(float64(from) * factor)
		}
	}
	// At its lower end an axis may have few whole sizes. Other random sizes replace the missing ones.
	for try := 0; len(sizes) < checked && try < 10*checked; try++ {
		add(math.Exp(low + (high-low)*f.rng.Float64()))
	}
	slices.Sort(sizes)
	return sizes
}

// Near returns a fresh size close to a checked one. It reports false if there is none.
func (f *Fresh) Near(size int) (int, bool) {
	factor := 1.06
	if f.rng.IntN(2) == 0 {
		factor = 1 / factor
	}
	return f.draw(float64(size) * factor)
}

// draw takes the fresh size nearest to x, within a quarter of x. There may be none on an axis with few whole sizes.
func (f *Fresh) draw(x float64) (int, bool) {
	for reach := 0.0; reach <= 0.25; reach += 0.005 {
		for _, factor := range []float64{1 + reach, 1 / (1 + reach)} {
			candidate := x * factor
			if candidate < float64(f.low) || candidate > float64(f.high) {
				continue
			}
			size := int(math.Round(candidate))
			if f.round != nil {
				size = f.round(size)
			}
			if size = min(max(size, f.low), f.high); !f.taken[size] {
				f.taken[size] = true
				return size, true
			}
		}
	}
	return 0, false
}
