package thresholds

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// DriftLimit is the relative slowdown of a committed choice above which it no longer holds, away from a threshold.
const DriftLimit = 0.10

const (
	// laterBlocks is how many blocks each later look has.
	laterBlocks = 9
	// farLooks is how many later looks a suspicious size gets away from a threshold.
	farLooks = 3
	// nearLooks is how many looks a suspicious size near a threshold gets in all, and a witness. They are many, because
	// what a moved threshold costs may be a few percent everywhere, and it is told from the luck of a visit's buffers by
	// the mean of many visits.
	nearLooks = 14
)

// laterLooks are the looks of an audit that decide. They are taken at the sizes that first looks nominate, spread over the
// rest of the check, and they decide on blocks of their own.
type laterLooks struct {
	*committed
	visits    map[int]int // looks at a size so far, the first one included
	neighbour map[int]int // fresh size that must confirm a slow one; 0 if there is none
}

// twice returns how many sizes were looked at more than once.
func (l *laterLooks) twice() int {
	n := 0
	for _, visits := range l.visits {
		if visits > 1 {
			n++
		}
	}
	return n
}

// enough returns how many looks a suspicious size gets in all.
func (l *laterLooks) enough(size int) int {
	if l.nearThreshold(size) {
		return nearLooks
	}
	return 1 + farLooks
}

// doubtful returns the log-slowdown above which a size does not simply hold. That is the tie band, and suspicion where it
// is more. While a size near a threshold can still be looked at, it is suspicion alone.
func (l *laterLooks) doubtful(size int) float64 {
	if l.nearThreshold(size) && l.visits[size] < l.enough(size) {
		return math.Log1p(suspicion)
	}
	return max(l.band, math.Log1p(suspicion))
}

// judge sets what the later looks at a size say. The first number of blocks in the group, of the first look, pick what the
// choice is held against, and the others time it.
func (l *laterLooks) judge(g group, first int, out *SizeAudit) {
	out.Best = fastest(g.logs[:first])
	var diffs []float64
	byVisit := map[int][]float64{}
	for n := first; n < len(g.logs); n++ {
		if d := g.logs[n][out.Chosen] - g.logs[n][out.Best]; !math.IsNaN(d) {
			diffs = append(diffs, d)
			byVisit[g.blocks[n].Visit] = append(byVisit[g.blocks[n].Visit], d)
		}
	}
	if len(diffs) == 0 {
		return
	}
	low, high := medianInterval(slices.Clone(diffs))
	middle := median(diffs)
	out.Slowdown, out.Low, out.High = math.Exp(middle), math.Exp(low), math.Exp(high)
	switch {
	case l.drifted(out.Size, byVisit, low) && !l.unknown(out.Size):
		out.Finding = Drifted
	case middle > l.doubtful(out.Size):
		out.Finding = Ambiguous
	default:
		out.Finding = Holds
	}
}

// drifted reports whether the log-slowdowns of the looks at a size are those of a choice that no longer holds. low is the
// lower end of the interval of their median. Away from a threshold every look must be slow, and near one the mean of the
// looks must be slow beyond doubt.
func (l *laterLooks) drifted(size int, byVisit map[int][]float64, low float64) bool {
	if l.nearThreshold(size) {
		return behind(byVisit) > l.band
	}
	least := math.Inf(1)
	for _, look := range byVisit {
		least = min(least, median(look))
	}
	return least > math.Log1p(DriftLimit) && low > l.band
}

// behind returns the lower end of the interval of the mean over visits of their median log-ratios. Visits are the datum,
// because all blocks of a visit share the luck of its buffers. It is −Inf with fewer than three visits.
func behind(byVisit map[int][]float64) float64 {
	if len(byVisit) < 3 {
		return math.Inf(-1)
	}
	visits := make([]float64, 0, len(byVisit))
	for _, visit := range slices.Sorted(maps.Keys(byVisit)) {
		visits = append(visits, median(byVisit[visit]))
	}
	mean, deviation := stat.MeanStdDev(visits, nil)
	n := float64(len(visits))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + Confidence) / 2)
	return mean - t*deviation/math.Sqrt(n)
}
