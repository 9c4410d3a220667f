package proof

import (
	"math"
	"slices"

	"crossover/thresholds"
)

// crossing is the nth threshold of a case between two implementations.
type crossing struct{ p, below, above, n int }

// addHindsight adds, for each crossing that other runs foresee, the single interval that scores best for all runs that found
// it. No method that predicts runs without knowing them can be expected to score better than that.
func (out *Intervals) addHindsight(alone, without [][]thresholds.Result) {
	found := map[crossing][]float64{}
	for k := range alone {
		for c := range alone[k] {
			itself := alone[k][c].Segments
			seen := map[crossing]int{}
			for n := 1; n < len(itself); n++ {
				at := crossing{p: c, below: itself[n-1].Implementation, above: itself[n].Implementation}
				if sameSides(without[k][c].Segments, at.below, at.above, itself[n].From) == nil {
					continue
				}
				seen[at]++
				at.n = seen[at]
				found[at] = append(found[at], math.Log(float64(itself[n].From)))
			}
		}
	}
	for _, x := range found {
		low, high := bestInterval(x)
		for _, x := range x {
			out.Held.Of++
			if low <= x && x <= high {
				out.Held.Count++
			}
			out.Score += intervalScore(low, high, x)
		}
	}
}

// bestInterval returns the interval with the least sum of scores. Its ends are among the values.
func bestInterval(values []float64) (low, high float64) {
	slices.Sort(values)
	least := math.Inf(1)
	for i, l := range values {
		for _, h := range values[i:] {
			sum := 0.0
			for _, x := range values {
				sum += intervalScore(l, h, x)
			}
			if sum < least {
				least, low, high = sum, l, h
			}
		}
	}
	return low, high
}
