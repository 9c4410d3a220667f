package surfaces

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Judged is what choices cost at shapes that no surface was fitted to.
type Judged struct {
	Shapes              [][]int
	Losses              []float64 // log of the time under the choice over that of the best one, by shape; below 0 by luck
	Weights             []float64 // for how much each shape stands; nil where all stand for the same
	Mean, Lower, Upper  float64   // of the losses, and the ends of the mean's one-sided 95 % intervals
	Within, WithinLower float64   // share at which the loss is at most within, and the lower end of its interval if all weigh the same
	Worst               float64   // greatest loss
	WorstAt             []int     // its shape; nil where there is none

	standardErrors []float64 // of the losses, if these are all that makes the mean uncertain; else nil
}

// within is the loss up to which a choice counts as good.
var within = math.Log(1.05)

// Judge holds the choices of a surface against the blocks at held-out shapes. choose returns the implementations of the set
// in the order of its choice, the first one best. Of a ranking the first implementation counts that was timed.
func Judge(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int) Judged {
	var j Judged
	for _, size := range set.Sizes() {
		at := shape(size)
		if !HeldOut(at) {
			continue
		}
		blocks, ranking := quietOf(set.At(size)), choose(at)
		chosen := slices.IndexFunc(ranking, func(i int) bool { return timed(blocks, i) })
		if chosen < 0 {
			continue
		}
		if loss, _ := lossOf(alternating(blocks), ranking[chosen]); !math.IsNaN(loss) {
			j.Shapes, j.Losses = append(j.Shapes, at), append(j.Losses, loss)
		}
	}
	j.sum()
	return j
}

// timed reports whether an implementation was timed in some of the blocks.
func timed(blocks []timings.Block, i int) bool {
	return slices.ContainsFunc(blocks, func(b timings.Block) bool { return b.Timed(i) })
}

// alternating parts blocks into every other one and the rest.
func alternating(blocks []timings.Block) (parts [2][]timings.Block) {
	for k, b := range blocks {
		parts[k%2] = append(parts[k%2], b)
	}
	return parts
}

// lossOf returns what the choice loses at one shape, NaN where the blocks do not tell. The best implementation is found by one
// part of the blocks and timed by the other, each in turn, so that luck makes no best one. A choice that is far behind is
// timed in few blocks: where a part has none of them, those of the other part count.
// Its standard error is by how far the two differ.
func lossOf(parts [2][]timings.Block, chosen int) (loss, standardError float64) {
	var losses [2]float64
	for k := range parts {
		judge, other := parts[k], parts[1-k]
		best := fastest(other, judge)
		if best < 0 {
			return math.NaN(), math.NaN()
		}
		took := medianLog(judge, chosen)
		if math.IsNaN(took) {
			took = medianLog(other, chosen)
		}
		losses[k] = took - medianLog(judge, best)
	}
	return (losses[0] + losses[1]) / 2, math.Abs(losses[0]-losses[1]) / 2
}

// fastest returns the fastest implementation by some blocks of those that others timed too, −1 where there is none.
func fastest(blocks, others []timings.Block) int {
	best, least := -1, math.Inf(1)
	if len(blocks) == 0 {
		return best
	}
	for i := range blocks[0].Seconds {
		if log := medianLog(blocks, i); log < least && timed(others, i) {
			best, least = i, log
		}
	}
	return best
}

// confidence is that of the one-sided intervals.
const confidence = 0.95

// sum fills what follows from the losses.
func (j *Judged) sum() {
	n := len(j.Losses)
	j.Lower, j.Upper = math.NaN(), math.NaN()
	if n == 0 {
		return
	}
	var all, good float64
	count := 0
	for k, loss := range j.Losses {
		all += j.weight(k)
		j.Mean += j.weight(k) * loss
		if loss <= within {
			good += j.weight(k)
			count++
		}
		if j.WorstAt == nil || loss > j.Worst {
			j.Worst, j.WorstAt = loss, j.Shapes[k]
		}
	}
	j.Mean /= all
	j.Within, j.WithinLower = good/all, clopperPearson(count, n)
	switch {
	case j.standardErrors != nil:
		j.bound(float64(n), all, func(k int) float64 { return j.standardErrors[k] })
	case n > 2:
		spread := math.Sqrt(float64(n) / float64(n-1))
		j.bound(float64(n-1), all, func(k int) float64 { return spread * (j.Losses[k] - j.Mean) })
	}
}

// bound sets the ends of the intervals of the mean. all is the sum of the weights, and off how far each loss is expected to be
// off, by so many degrees of freedom.
func (j *Judged) bound(degrees, all float64, off func(k int) float64) {
	squares := 0.0
	for k := range j.Losses {
		d := j.weight(k) * off(k) / all
		squares += d * d
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile(confidence) * math.Sqrt(squares)
	j.Lower, j.Upper = j.Mean-half, j.Mean+half
}

// weight returns for how much a shape stands.
func (j *Judged) weight(k int) float64 {
	if j.Weights == nil {
		return 1
	}
	return j.Weights[k]
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
