package surfaces

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Judged is what choices cost at shapes that were held out.
type Judged struct {
	Shapes              [][]int
	Losses              []float64 // log of the time under the choice over that of the best one, by shape; below 0 by luck
	Mean, Upper         float64   // of the losses, and the upper end of the mean's one-sided 95 % interval
	Within, WithinLower float64   // share of shapes at which the loss is at most within, and the lower end of its interval
	Worst               float64   // greatest loss
	WorstAt             []int     // its shape; nil where there is none
}

// within is the loss up to which a choice counts as good.
var within = math.Log(1.05)

// Judge holds the choices of a surface against the blocks at held-out shapes. choose returns the implementations of the set
// in the order of its choice, the first one best. The best one at a shape is found by one half of the blocks and timed by the
// other, each half in turn, so that luck makes no best one.
func Judge(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int) Judged {
	var j Judged
	for _, size := range set.Sizes() {
		at := shape(size)
		if !HeldOut(at) {
			continue
		}
		loss := lossOf(quietOf(set.At(size)), choose(at))
		if math.IsNaN(loss) {
			continue
		}
		j.Shapes, j.Losses = append(j.Shapes, at), append(j.Losses, loss)
	}
	j.sum()
	return j
}

// lossOf returns what the choice loses at one shape, NaN where the blocks do not tell. Of a ranking the first implementation
// counts that was timed.
func lossOf(blocks []timings.Block, ranking []int) float64 {
	var halves [2][]timings.Block
	for k, b := range blocks {
		halves[k%2] = append(halves[k%2], b)
	}
	if len(halves[1]) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for k := range halves {
		judge, other := halves[k], halves[1-k]
		best, least := -1, math.Inf(1)
		for _, i := range ranking {
			if log := medianLog(other, i); log < least && !math.IsNaN(medianLog(judge, i)) {
				best, least = i, log
			}
		}
		chosen := slices.IndexFunc(ranking, func(i int) bool { return !math.IsNaN(medianLog(judge, i)) })
		if best < 0 || chosen < 0 {
			return math.NaN()
		}
		sum += medianLog(judge, ranking[chosen]) - medianLog(judge, best)
	}
	return sum / 2
}

// confidence is that of the one-sided intervals.
const confidence = 0.95

// sum fills what follows from the losses.
func (j *Judged) sum() {
	n := len(j.Losses)
	if n == 0 {
		j.Upper, j.WithinLower = math.NaN(), 0
		return
	}
	mean, deviation := stat.MeanStdDev(j.Losses, nil)
	j.Mean, j.Upper = mean, math.NaN()
	if n > 2 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
		j.Upper = mean + t.Quantile(confidence)*deviation/math.Sqrt(float64(n))
	}
	good := 0
	for k, loss := range j.Losses {
		if loss <= within {
			good++
		}
		if j.WorstAt == nil || loss > j.Worst {
			j.Worst, j.WorstAt = loss, j.Shapes[k]
		}
	}
	j.Within = float64(good) / float64(n)
	j.WithinLower = clopperPearson(good, n)
}

// clopperPearson returns the lower end of the one-sided interval of a share.
//
// Source: C. Clopper and E. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial,
// Biometrika 26, 1934.
func clopperPearson(good, of int) float64 {
	if good == 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(good), Beta: float64(of - good + 1)}.Quantile(1 - confidence)
}
