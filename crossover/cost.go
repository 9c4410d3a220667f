package crossover

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Cost is the model a + b·n^c of one implementation's seconds per call at size n, with a, b ≥ 0. It is fitted to draw
// and to cross-check; segments do not rest on it.
type Cost struct {
	Fixed    float64 // a, seconds
	PerSize  float64 // b, seconds per size^c
	Exponent float64 // c; 0 where there were too few sizes to fit
	Residual float64 // median |measured/model − 1|
}

// At returns the model's seconds per call at a size.
func (c Cost) At(size float64) float64 { return c.Fixed + c.PerSize*math.Pow(size, c.Exponent) }

// Valid reports whether the model was fitted.
func (c Cost) Valid() bool { return c.Exponent > 0 }

// fitCosts fits one model an implementation by least squares of the relative error, for each exponent of a fine grid.
func fitCosts(curves Curves) []Cost {
	costs := make([]Cost, len(curves.Implementations))
	for i := range costs {
		costs[i] = fitCost(curves.Sizes, curves.Seconds[i])
	}
	return costs
}

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
	var best Cost
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
		if sum < least {
			least, best = sum, Cost{Fixed: a, PerSize: b, Exponent: c}
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

// modelCrossing returns where the cost models of segment n and the one before it cross, if they do within the
// measured sizes; a model that has no such crossing puts it at the end of the range where its sign says it lies.
func modelCrossing(r *Result, n int) (float64, bool) {
	before, after := r.Costs[r.Segments[n-1].Implementation], r.Costs[r.Segments[n].Implementation]
	if !before.Valid() || !after.Valid() {
		return 0, false
	}
	low, high := float64(r.Segments[n-1].From), float64(r.Segments[n].To)
	gain := func(x float64) float64 { return math.Log(before.At(x) / after.At(x)) }
	if gain(low) >= 0 {
		return low, true
	}
	if gain(high) <= 0 {
		return high, true
	}
	for range 60 {
		mid := math.Sqrt(low * high)
		if gain(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return low, true
}
