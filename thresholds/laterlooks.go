package thresholds

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// DriftLimit is the relative slowdown above which a choice of the file no longer holds, away from a threshold.
const DriftLimit = 0.10

const (
	// laterBlocks is the number of blocks of each later look.
	laterBlocks = 9
	// farLooks is the number of later looks at a suspicious size away from a threshold.
	farLooks = 3
	// nearLooks is the number of all looks at a suspicious size near a threshold, and at a witness. They are many, because a
	// moved threshold may cost only a few percent everywhere. The mean of many visits tells such a cost from the luck of a
	// visit's buffers.
	nearLooks = 14
)

// laterLooks are the looks of an audit that decide. They are at sizes that first looks nominated, come some time after
// them, and decide on blocks of their own.
type laterLooks struct {
	*committed
	visits    map[int]int // number of looks at a size so far, with the first one
	neighbour map[int]int // fresh size that must confirm a slow one; 0 if there is none
}

// twice returns the number of sizes with more than one look.
func (l *laterLooks) twice() int {
	n := 0
	for _, visits := range l.visits {
		if visits > 1 {
			n++
		}
	}
	return n
}

// enough returns the number of all looks that a suspicious size gets.
func (l *laterLooks) enough(size int) int {
	if l.nearThreshold(size) {
		return nearLooks
	}
	return 1 + farLooks
}

// doubtful returns the log-slowdown above which a size does not simply hold. It is the tie band, at least suspicion and at most
// DriftLimit: what costs more holds on no machine, however noisy that was when the file was made. As long as a size near a threshold
// may get more looks, it is suspicion.
func (l *laterLooks) doubtful(size int) float64 {
	if l.nearThreshold(size) && l.visits[size] < l.enough(size) {
		return math.Log1p(suspicion)
	}
	return min(max(l.band, math.Log1p(suspicion)), math.Log1p(DriftLimit))
}

// judge judges a size by its later looks. The first blocks of the group, of the first look, pick the implementation with
// which the choice is compared. The other blocks time it.
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

// drifted reports whether the log-slowdowns of a size's looks mean that the choice no longer holds. low is the lower end of
// the interval of their median. Away from a threshold every look must be slow. Near one the mean of the looks must be
// significantly slow.
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
