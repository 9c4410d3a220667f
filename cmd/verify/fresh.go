package main

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"crossover/calibration"
	"crossover/kernels"
)

// fresh draws sizes that the calibration did not measure.
type fresh struct {
	recorded *calibration.Case
	axis     kernels.Axis
	taken    map[int]bool
	rng      *rand.Rand
}

func newFresh(recorded *calibration.Case, axis kernels.Axis, seed uint64) *fresh {
	name := fnv.New64a()
	name.Write([]byte(recorded.Name))
	f := &fresh{recorded: recorded, axis: axis, taken: map[int]bool{}, rng: rand.New(rand.NewPCG(seed, name.Sum64()))}
	for _, size := range recorded.Sizes {
		f.taken[size] = true
	}
	return f
}

// strata is the number of random sizes spread over the whole range.
const strata = 6

// sizes returns the sizes to check: one random size in each of several equal parts of the range in log-size, and three
// on either side of every threshold, where a wrong one would show.
func (f *fresh) sizes() []int {
	low, high := math.Log(float64(f.axis.Min)), math.Log(float64(f.axis.Max))
	var sizes []int
	add := func(x float64) {
		if size, ok := f.draw(x); ok {
			sizes = append(sizes, size)
		}
	}
	for k := range strata {
		add(math.Exp(low + (high-low)*(float64(k)+f.rng.Float64())/strata))
	}
	for _, s := range f.recorded.Segments[1:] {
		for _, factor := range []float64{1 / 4.0, 1 / 2.0, 1 / 1.25, 1.25, 2, 4} {
			add(float64(s.From) * factor)
		}
	}
	return sizes
}

// near returns a fresh size close to one that was checked.
func (f *fresh) near(size int) (int, bool) {
	factor := 1.06
	if f.rng.IntN(2) == 0 {
		factor = 1 / factor
	}
	return f.draw(float64(size) * factor)
}

// draw takes the fresh size nearest to x, within a quarter of it. On an axis of few whole sizes there may be none.
func (f *fresh) draw(x float64) (int, bool) {
	for reach := 0.0; reach <= 0.25; reach += 0.005 {
		for _, factor := range []float64{1 + reach, 1 / (1 + reach)} {
			candidate := x * factor
			if candidate < float64(f.axis.Min) || candidate > float64(f.axis.Max) {
				continue
			}
			if size := f.axis.Nearest(int(math.Round(candidate))); !f.taken[size] {
				f.taken[size] = true
				return size, true
			}
		}
	}
	return 0, false
}
