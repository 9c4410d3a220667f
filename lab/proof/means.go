package proof

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/thresholds"
)

// change is a switch of a case, from one implementation to another.
type change struct{ c, below, above int }

// leastVariance keeps thresholds that runs found at the same small size from having no variance. It is that of 0.1 % of a
// size.
const leastVariance = 1e-6

// addMeans predicts the thresholds of the k-th run as simply as several runs can be used: by the mean of the thresholds that
// each of the others found alone, in log-size, and their variance. The variances of all thresholds of the host are known
// before (empirical Bayes). alone has the fits of single runs. without has the fits of all runs but the k-th. Thresholds
// that they do not foresee are left out, so that both predict the same ones.
func (h *history) addMeans(out *Intervals, alone [][]thresholds.Result, without []thresholds.Result, k int) {
	found := map[change][]float64{}
	for n := range h.runs {
		if n == k {
			continue
		}
		for c := range h.cases {
			segments := alone[n][c].Segments
			for m := 1; m < len(segments); m++ {
				at := change{c, segments[m-1].Implementation, segments[m].Implementation}
				found[at] = append(found[at], math.Log(float64(segments[m].From)))
			}
		}
	}
	var variances, freedoms []float64
	for c := range h.cases { // a map has no order, and sums of floats depend on theirs
		for i := range h.implementations(c) {
			for j := range h.implementations(c) {
				if all := found[change{c, i, j}]; len(all) > 1 {
					variances = append(variances, max(stat.Variance(all, nil), leastVariance))
					freedoms = append(freedoms, float64(len(all)-1))
				}
			}
		}
	}
	if len(variances) == 0 {
		return
	}
	known, worth := thresholds.EmpiricalBayes(variances, freedoms)
	for c := range h.cases {
		segments := alone[k][c].Segments
		for m := 1; m < len(segments); m++ {
			at := change{c, segments[m-1].Implementation, segments[m].Implementation}
			if sameSides(without[c].Segments, at.below, at.above, segments[m].From) == nil {
				continue
			}
			all := found[at]
			if len(all) == 0 {
				out.New++
				continue
			}
			n, own := float64(len(all)), float64(len(all)-1)
			variance := worth * known
			if own > 0 {
				variance += own * stat.Variance(all, nil)
			}
			variance /= worth + own
			t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: worth + own}.Quantile(1 - level/2)
			mean, width := stat.Mean(all, nil), t*math.Sqrt(variance*(1+1/n))
			out.add(mean-width, mean, mean+width, segments[m].From)
		}
	}
}

// implementations returns the implementations of the c-th case.
func (h *history) implementations(c int) []string {
	for _, set := range h.cases[c].runs {
		return set.Implementations
	}
	return nil
}
