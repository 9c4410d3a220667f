package thresholds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Cost is the model a + b·n^c of one implementation's seconds per call at size n, with a, b ≥ 0. It is compared with the
// segments, and predicts the effect of waiting for a GPU. No segment depends on it.
type Cost struct {
	Fixed    float64 // a, seconds
	PerSize  float64 // b, seconds per size^c
	Exponent float64 // c, above 0; 0 if there were too few sizes for a fit
	Residual float64 // median |measured/model − 1|
}

// At returns the model's seconds per call at a size.
func (c Cost) At(size float64) float64 { return c.Fixed + c.PerSize*math.Pow(size, c.Exponent) }

// Valid reports whether the model was fitted.
func (c Cost) Valid() bool { return c.Exponent > 0 }

// fitCosts fits one model for each implementation, by least squares of the relative error for each exponent of a fine grid.
func fitCosts(curves Curves) []Cost {
	costs := make([]Cost, len(curves.Implementations))
	for i := range costs {
		costs[i] = fitCost(curves.Sizes, curves.Seconds[i])
	}
	return costs
}

// alike is how much greater the root-mean-square of the relative errors may be for an exponent that fits as well as the best one.
// Times are known to about so much.
const alike = 0.01

// fitCost takes the exponent nearest to 1 of those that fit as well as the best one. Where a launch takes nearly all of the time at
// the measured sizes, every exponent fits. At 80 times the greatest of these sizes, an exponent of 3 predicted 23 ms
// for a spectrogram on an H200, which takes about 0.1 ms.
func fitCost(sizes []int, seconds []float64) Cost {
	var n, t, weights []float64
	for s, v := range seconds {
		if v > 0 {
			n = append(n, float64(sizes[s]))
			t = append(t, v)
			weights = append(weights, 1/(v*v))
		}
	}
	if len(n) < 3 {
		return Cost{}
	}
	type fit struct {
		Cost
		rms float64 // of the relative errors
	}
	var fits []fit
	least := math.Inf(1)
	power := make([]float64, len(n))
	for c := 0.05; c <= 3.001; c += 0.025 {
		for k := range n {
			power[k] = math.Pow(n[k], c)
		}
		a, b := stat.LinearRegression(power, t, weights, false)
		if a < 0 {
			a, b = stat.LinearRegression(power, t, weights, true)
		}
		if b < 0 {
			a, b = stat.Mean(t, weights), 0
		}
		var sum float64
		for k := range n {
			d := (a+b*power[k])/t[k] - 1
			sum += d * d
		}
		one := fit{Cost{Fixed: a, PerSize: b, Exponent: c}, math.Sqrt(sum / float64(len(n)))}
		fits, least = append(fits, one), min(least, one.rms)
	}
	var best Cost
	for _, one := range fits {
		if one.rms <= least+alike && (!best.Valid() || math.Abs(one.Exponent-1) < math.Abs(best.Exponent-1)) {
			best = one.Cost
		}
	}
	if !best.Valid() {
		return Cost{}
	}
	residuals := make([]float64, len(n))
	for k := range n {
		residuals[k] = math.Abs(t[k]/best.At(n[k]) - 1)
	}
	best.Residual = median(residuals)
	return best
}

// credible is the greatest residual of a model that may contradict a measurement.
const credible = 0.1

// modelCrossing returns the size from which the cost model of segment n is faster than that of the segment before it. Inside
// the two segments there is at most one such size. If the model of segment n is faster everywhere there, the size is the
// lower end, and if it is slower everywhere, the upper end. modelCrossing reports false if the models are not credible, or
// if one of the two implementations was not measured on the other's side, so that the change is not a matter of cost.
func modelCrossing(r *Result, n int) (float64, bool) {
	i, j := r.Segments[n-1].Implementation, r.Segments[n].Implementation
	before, after := r.Costs[i], r.Costs[j]
	above, _ := slices.BinarySearch(r.Curves.Sizes, r.Segments[n].From)
	if !before.Valid() || !after.Valid() || max(before.Residual, after.Residual) > credible ||
		math.IsInf(r.Curves.Loss[i][above], 1) || math.IsInf(r.Curves.Loss[j][above-1], 1) {
		return 0, false
	}
	wins := func(x float64) bool { return after.At(x) < before.At(x) }
	low, high := float64(r.Segments[n-1].From), float64(r.Segments[n].To)
	// A step is a hundredth of the range in log-size. That suffices, because the crossing is only compared with a factor of
	// two.
	const steps = 100
	for k := range steps {
		if x := low * math.Pow(high/low, float64(k)/steps); wins(x) {
			return x, true
		}
	}
	return high, true
}
