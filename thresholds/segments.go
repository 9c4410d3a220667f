package thresholds

import (
	"math"
)

// Segment is an interval of sizes with one chosen implementation.
type Segment struct {
	From, To       int // first and last size
	Implementation int
	Low, High      int     // interval of From; 0, 0 for the first segment
	Assumed        float64 // standard deviation of a log-ratio between runs that the interval assumes; 0 if several runs show it
	Support        float64 // share of the bootstrap's resamples with this switch; 1 for the first segment
	Next           []Alternative
	Doubts         []Doubt

	edge float64 // From without rounding to a size
}

// segments returns the stretches of curves as segments, with edges at whole sizes. loss is that of the curves, or of a resample
// of them.
func segments(stretches []stretch, c *Curves, loss [][]float64) []Segment {
	sizes := c.Sizes
	out := make([]Segment, len(stretches))
	for n, r := range stretches {
		out[n] = Segment{Implementation: r.implementation, From: sizes[0], To: sizes[len(sizes)-1], Support: 1}
		if n == 0 {
			continue
		}
		x := c.edge(loss, stretches[n-1].implementation, r.implementation, r.from-1)
		// The first size of the segment is the next whole one, and never a measured one of the other side.
		from := min(max(int(math.Ceil(x-1e-9)), sizes[r.from-1]+1), sizes[r.from])
		out[n].edge, out[n].From, out[n].Low, out[n].High = x, from, from, from
		out[n-1].To = from - 1
	}
	return out
}

// edge returns the size at which implementations i (below) and j (above) take equally long, between two neighbouring measured
// sizes: see crossing. If the sign of the difference does not change, it returns their geometric mean. If one of the two
// implementations was not measured on the other's side, the edge is that one's own last size, because it may not be able to run
// beyond it. But if j runs on several cores and its counterpart on one was measured below, that one's time is
// j's, which divides no call of that size. So the edge is where j begins to divide calls, or above. If that size is not known,
// the lower size stands for it: above it, j divides nothing, or a call that is longer than any that it was seen not to divide.
func (c *Curves) edge(loss [][]float64, i, j, below int) float64 {
	above := below + 1
	low, high := float64(c.Sizes[below]), float64(c.Sizes[above])
	if first := c.firstDivided(loss, j, below); first > 0 {
		low = float64(first)
	}
	d0, d1 := loss[i][below]-loss[c.asTimed(loss, j, below)][below], loss[i][above]-loss[j][above]
	switch {
	case math.IsInf(d1, 1), d0 == 0 && d1 > 0:
		return low // to the digit
	case math.IsInf(d0, -1):
		return high
	case d0 < 0 && d1 >= 0:
		return c.crossing(loss, i, j, below, low)
	}
	return math.Sqrt(low * high)
}

// crossing returns where the times of implementations i and j cross, between low and the measured size above. Low may be above
// the measured size below, and the ratio of the two times is the same at both. If times are powers of the size, the logarithm of
// their ratio goes to zero along a straight line. If each time is a constant and an amount for each element, their difference
// does. Curves are often between the two, so the result is the geometric mean of both zeros: docs/method.md has the errors.
func (c *Curves) crossing(loss [][]float64, i, j, below int, low float64) float64 {
	above := below + 1
	high, one := float64(c.Sizes[above]), c.asTimed(loss, j, below)
	zero := func(d0, d1 float64) float64 { return d0 / (d0 - d1) }
	byRatio := low * math.Pow(high/low, zero(loss[i][below]-loss[one][below], loss[i][above]-loss[j][above]))

	start := float64(c.Sizes[below])
	growth := math.Pow(c.fastest(above)/c.fastest(below), math.Log(high/low)/math.Log(high/start)) // of times from low to high
	byTime := low + (high-low)*zero(math.Exp(loss[i][below])-math.Exp(loss[one][below]),
		growth*(math.Exp(loss[i][above])-math.Exp(loss[j][above])))
	if byTime >= low && byTime <= high { // not without seconds, which are NaN
		return math.Sqrt(byRatio * byTime)
	}
	return byRatio
}

// fastest returns the time of the fastest implementation at a size, in seconds; NaN if none was measured.
func (c *Curves) fastest(size int) float64 {
	least := math.NaN()
	for i := range c.Seconds {
		if t := c.Seconds[i][size]; !math.IsNaN(t) && !(t >= least) {
			least = t
		}
	}
	return least
}

// firstDivided returns the least size at which implementation i divides a call, if that is above a measured size at which i was
// not timed for its counterpart, and at most the next one. Otherwise it returns 0.
func (c *Curves) firstDivided(loss [][]float64, i, below int) int {
	if first := c.divides[i]; c.asTimed(loss, i, below) != i && first > c.Sizes[below] && first <= c.Sizes[below+1] {
		return first
	}
	return 0
}

// asTimed returns the implementation whose loss at a size is that of implementation i: itself, or its counterpart on one core
// if i was not timed there.
func (c *Curves) asTimed(loss [][]float64, i, size int) int {
	if one := c.counterparts[i]; one >= 0 && math.IsInf(loss[i][size], 1) {
		return one
	}
	return i
}

// insideUnknown is how far the truth may be from an interpolated threshold, as a share of the bracket's log-size, in several
// runs. It was found by fitting runs of which all sizes but a few were taken away: docs/method.md.
const insideUnknown = 0.5

// widen extends an interval inside its bracket, which is the two measured sizes beside a threshold, in three cases. In the first,
// the bracket is wider than the wanted precision: nothing was measured inside, and noise alone does not say where in it the truth
// is. In the second, the bracket is beside a segment of a single size: the curves may have a step anywhere between that size and
// its neighbour. In the third, not both implementations were measured at the ends of the bracket. A single run then says the
// whole bracket, and so do several runs in the third case. Otherwise several runs say insideUnknown of it on either side of the
// threshold. If it is known from which size on a loop is divided, the bracket begins there.
func (h *history) widen(segs []Segment, c *Curves, stretches []stretch, precision float64) {
	for n := 1; n < len(segs); n++ {
		k := stretches[n].from
		below, above := c.Sizes[k-1], c.Sizes[k]
		missing := math.IsInf(c.Loss[stretches[n-1].implementation][k], 1) || math.IsInf(c.Loss[stretches[n].implementation][k-1], 1)
		if first := c.firstDivided(c.Loss, stretches[n].implementation, k-1); first > 0 {
			below, missing = first-1, false
		}
		low, high := below+1, above
		if len(h.runs) > 1 && !missing {
			reach := math.Pow(float64(above)/float64(below), insideUnknown)
			low, high = max(low, int(segs[n].edge/reach)), min(high, int(math.Ceil(segs[n].edge*reach)))
		}
		lone := stretches[n-1].alone() || stretches[n].alone()
		if missing || lone || float64(above) > float64(below)*(1+precision)*(1+precision) {
			segs[n].Low = min(segs[n].Low, low)
			segs[n].High = max(segs[n].High, high)
		}
	}
}

// reachRuns extends the intervals of thresholds at which a loop on several cores begins to be divided, if no run knows that
// size. Such a threshold is at the last size at which the loop was not divided, see edge, and each run finds it at its own last
// size. The next run has other sizes again. So the interval reaches from the last size of the run that stopped lowest. If there
// is a single run, it reaches from the size before the last one, because the next run may have its last size anywhere between
// the two.
func (h *history) reachRuns(segs []Segment, c *Curves, stretches []stretch) {
	for n := 1; n < len(segs); n++ {
		k, i := stretches[n].from, stretches[n].implementation
		if c.asTimed(c.Loss, i, k-1) == i || c.firstDivided(c.Loss, i, k-1) > 0 {
			continue
		}
		for _, groups := range h.runs {
			before, last := 0, 0
			for _, g := range groups {
				if g.size <= c.Sizes[k-1] {
					before, last = last, g.size
				}
			}
			if len(h.runs) == 1 && before > 0 {
				last = before
			}
			if last > 0 {
				segs[n].Low = min(segs[n].Low, max(last, segs[n-1].From))
			}
		}
	}
}

// loneSizes returns the indices of the sizes that are a stretch of their own.
func loneSizes(stretches []stretch) []int {
	var lone []int
	for _, r := range stretches {
		if len(stretches) > 1 && r.alone() {
			lone = append(lone, r.from)
		}
	}
	return lone
}
