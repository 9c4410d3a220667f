package thresholds

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// A threshold is interpolated between two measured sizes, as if curves were smooth between them. Those of real
// implementations are not: the time of a transform depends on the factors of its length, and that of a convolution on the
// block into which it fits. Another calibration measures other sizes and interpolates between those. If a measured size lies
// between two others, its distance from the line through them shows how much that matters.
const (
	// widestThree is the greatest ratio of the outer two of three neighbouring sizes. Over a wider range, smooth curves bend
	// by as much as rough ones scatter.
	widestThree = 1.7
	// vicinity is the factor within which sizes count for a threshold.
	vicinity = 2
	// leastMiddles is the least number of middle sizes for an estimate.
	leastMiddles = 3
	// leastFreedom is the least number of degrees of freedom of an estimate. A few middle sizes show that there is roughness
	// better than how much, and with fewer degrees intervals would have no end.
	leastFreedom = 4
)

// roughness returns, for each switch, the standard deviation of the log-ratio of its two implementations from size to size
// near the switch, beyond the errors of the estimates. It is 0 unless it is significant. Several runs have sizes of their
// own, so the variance between runs already has this effect.
func roughness(h *history, loss [][]float64, stretches []stretch, segs []Segment, twin twinStudy) []deviation {
	rough := make([]deviation, len(stretches))
	if len(h.runs) > 1 {
		return rough
	}
	groups := h.runs[0]
	for n := 1; n < len(stretches); n++ {
		if groups[stretches[n].from].size-groups[stretches[n-1].to-1].size == 1 {
			continue // no size lies between, so another calibration measures the same sizes
		}
		pair := ratioCurve{groups, loss, twin, stretches[n-1].implementation, stretches[n].implementation}
		squares, expected := pair.offLines(segs[n].edge)
		if len(squares) < leastMiddles {
			continue
		}
		// The median ignores a single step nearby, which says nothing of other sizes.
		square, noise := median(squares)*normalMAD*normalMAD, stat.Mean(expected, nil)
		if square > doubtless*noise {
			// Neighbouring threes share two sizes, so they count as half as many that share none.
			rough[n] = deviation{math.Sqrt(square - noise), max(len(squares)/2, leastFreedom)}
		}
	}
	return rough
}

// ratioCurve is the log-ratio of two implementations, i and j, over the sizes.
type ratioCurve struct {
	groups []group
	loss   [][]float64
	twin   twinStudy
	i, j   int
}

// at returns the log-ratio at the s-th size.
func (c ratioCurve) at(s int) float64 { return c.loss[c.i][s] - c.loss[c.j][s] }

// squaredError returns the squared error of the log-ratio at the s-th size.
func (c ratioCurve) squaredError(s int) float64 {
	shift := c.twin.shift.sd * c.twin.shiftAfter(visitsOf(c.groups[s]))
	return pairError(c.groups[s], c.i, c.j) + 2*shift*shift
}

// offLines returns, for each size between two others near an edge, the square of the curve's distance from the line through
// those two, and the square that the errors of the three make likely. Both are scaled to a variance of 1 of each of the
// three sizes.
func (c ratioCurve) offLines(edge float64) (squares, expected []float64) {
	for s := 1; s+1 < len(c.groups); s++ {
		low, size, high := float64(c.groups[s-1].size), float64(c.groups[s].size), float64(c.groups[s+1].size)
		if high > widestThree*low || high < edge/vicinity || low > edge*vicinity {
			continue
		}
		t := math.Log(size/low) / math.Log(high/low)
		off := c.at(s) - (1-t)*c.at(s-1) - t*c.at(s+1)
		if math.IsNaN(off) || math.IsInf(off, 0) {
			continue // one of the two was not measured
		}
		before, after := (1-t)*(1-t), t*t
		weight := 1 + before + after
		squares = append(squares, off*off/weight)
		expected = append(expected, (c.squaredError(s)+before*c.squaredError(s-1)+after*c.squaredError(s+1))/weight)
	}
	return squares, expected
}

// pairError returns the squared error of the median log-ratio of two implementations at one size.
func pairError(g group, i, j int) float64 {
	var ratios []float64
	for _, logs := range g.logs {
		if d := logs[i] - logs[j]; !math.IsNaN(d) {
			ratios = append(ratios, d)
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	return squaredErrorOfMedian(ratios, median(ratios))
}
