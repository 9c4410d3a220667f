package thresholds

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// A threshold is interpolated between two measured sizes, as if curves were smooth between them. Those of real
// implementations are not: a transform depends on the factors of its length, a convolution on the block that it fits
// into. Another calibration measures other sizes and interpolates between those. How much that matters shows wherever a
// measured size lies between two others: in how far it is off the line through them.

// A size is held against the line through its neighbours where those are no further apart than stretch: over a wider range
// smooth curves bend by as much as rough ones are off. It counts for a threshold within vicinity of it. Fewer than
// leastMiddles such sizes say nothing, and a few say that there is roughness better than they say how much: it counts as
// known with leastFreedom degrees of freedom, or intervals would have no end.
const (
	stretch      = 1.7
	vicinity     = 2
	leastMiddles = 3
	leastFreedom = 4
)

// roughness returns, for each switch, the standard deviation with which the log-ratio of its two implementations
// scatters from size to size near it, beyond the errors of the estimates. It is 0 where that is not doubtless.
func roughness(groups []group, loss [][]float64, runs []run, segs []Segment, twin arm) []deviation {
	rough := make([]deviation, len(runs))
	for n := 1; n < len(runs); n++ {
		i, j := runs[n-1].implementation, runs[n].implementation
		if groups[runs[n].from].size-groups[runs[n-1].to-1].size == 1 {
			continue // nothing lies between: another calibration measures the same sizes
		}
		squaredError := func(s int) float64 {
			shift := twin.shift.sd * twin.shiftAfter(visitsOf(groups[s]))
			return pairError(groups[s], i, j) + 2*shift*shift
		}
		var squares, expected []float64 // by middle size: of what it is off, for a variance of 1 of each size
		for s := 1; s+1 < len(groups); s++ {
			low, size, high := float64(groups[s-1].size), float64(groups[s].size), float64(groups[s+1].size)
			if high > stretch*low || high < segs[n].edge/vicinity || low > segs[n].edge*vicinity {
				continue
			}
			t := math.Log(size/low) / math.Log(high/low)
			ratio := func(s int) float64 { return loss[i][s] - loss[j][s] }
			off := ratio(s) - (1-t)*ratio(s-1) - t*ratio(s+1)
			if math.IsNaN(off) || math.IsInf(off, 0) {
				continue // one of the two was not measured
			}
			before, after := (1-t)*(1-t), t*t
			weight := 1 + before + after
			squares = append(squares, off*off/weight)
			expected = append(expected, (squaredError(s)+before*squaredError(s-1)+after*squaredError(s+1))/weight)
		}
		if len(squares) < leastMiddles {
			continue
		}
		// The median, because a single step somewhere near says nothing of the sizes on either side of it.
		square, noise := median(squares)*normalMAD*normalMAD, stat.Mean(expected, nil)
		if square > doubtless*noise {
			// Neighbouring threes share two sizes: they are worth half as many that share none.
			rough[n] = deviation{math.Sqrt(square - noise), max(len(squares)/2, leastFreedom)}
		}
	}
	return rough
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

// nearestSwitch returns the segment whose threshold is nearest to a size.
func nearestSwitch(segs []Segment, size int) int {
	nearest, distance := 0, math.Inf(1)
	for n := 1; n < len(segs); n++ {
		if d := math.Abs(math.Log(float64(size) / segs[n].edge)); d < distance {
			nearest, distance = n, d
		}
	}
	return nearest
}
