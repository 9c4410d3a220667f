package surfaces

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Judged is what choices cost at shapes that their surface was not fitted to.
type Judged struct {
	Shapes             [][]int
	Losses             []float64 // log of the time under the choice over that of the best one, by shape; below 0 by luck
	Weights            []float64 // for how much each shape stands; nil where all stand for the same
	Mean, Lower, Upper float64   // of the losses, and the ends of the mean's one-sided 95 % intervals, which want many shapes
	Within             float64   // share at which the loss is at most within
	Worst              float64   // greatest loss
	WorstAt            []int     // its shape; nil where there is none

	standardErrors []float64 // of the losses, if these are all that makes the mean uncertain; else nil
}

// within is the loss up to which a choice counts as good.
var within = math.Log(1.05)

// Judge holds the choices of a surface against the blocks at held-out shapes. choose returns the implementations of the set
// in the order of its choice, the first one best. Of a ranking the first implementation counts that was timed.
func Judge(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int) Judged {
	var j Judged
	j.take(set, shape, choose, HeldOut)
	j.sum()
	return j
}

// take judges the choices at the shapes of a set that fit a condition.
func (j *Judged) take(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int, fits func(shape []int) bool) {
	for _, size := range set.Sizes() {
		at := shape(size)
		if !fits(at) {
			continue
		}
		blocks, ranking := quietOf(set.At(size)), choose(at)
		chosen := slices.IndexFunc(ranking, func(i int) bool { return timed(blocks, i) })
		if chosen < 0 {
			continue
		}
		if loss, _ := lossOf(alternating(blocks, min(len(blocks), mostParts)), ranking[chosen]); !math.IsNaN(loss) {
			j.Shapes, j.Losses = append(j.Shapes, at), append(j.Losses, loss)
		}
	}
}

// timed reports whether an implementation was timed in some of the blocks.
func timed(blocks []timings.Block, i int) bool {
	return slices.ContainsFunc(blocks, func(b timings.Block) bool { return b.Timed(i) })
}

// mostParts is into how many parts at most the blocks of a shape are divided. A fitted shape has three blocks: one half of
// them is a single block, which often finds a wrong best one, and too little is lost against that.
const mostParts = 4

// alternating divides blocks into so many parts, each of which has blocks of all times.
func alternating(blocks []timings.Block, n int) [][]timings.Block {
	parts := make([][]timings.Block, n)
	for k, b := range blocks {
		parts[k%n] = append(parts[k%n], b)
	}
	return parts
}

// lossOf returns what the choice loses at one shape, NaN where the blocks do not tell. The best implementation is found by all
// parts of the blocks but one and timed by that one, each in turn, so that luck makes no best one. A choice that is far behind
// is timed in few blocks: where a part has none of them, those of the other parts count.
// Its standard error is by how far the parts differ.
func lossOf(parts [][]timings.Block, chosen int) (loss, standardError float64) {
	losses := make([]float64, len(parts))
	for k, judge := range parts {
		others := slices.Concat(slices.Concat(parts[:k]...), slices.Concat(parts[k+1:]...))
		best := fastest(others, judge)
		if best < 0 {
			return math.NaN(), math.NaN()
		}
		took := medianLog(judge, chosen)
		if math.IsNaN(took) {
			took = medianLog(others, chosen)
		}
		losses[k] = took - medianLog(judge, best)
	}
	loss, deviation := stat.MeanStdDev(losses, nil)
	return loss, stat.StdErr(deviation, float64(len(losses)))
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

// confidence is that of all one-sided intervals and bounds.
const confidence = 0.95

// sum fills what follows from the losses.
func (j *Judged) sum() {
	n := len(j.Losses)
	j.Lower, j.Upper = math.NaN(), math.NaN()
	if n == 0 {
		return
	}
	var all, good float64
	for k, loss := range j.Losses {
		all += j.weight(k)
		j.Mean += j.weight(k) * loss
		if loss <= within {
			good += j.weight(k)
		}
		if j.WorstAt == nil || loss > j.Worst {
			j.Worst, j.WorstAt = loss, j.Shapes[k]
		}
	}
	j.Mean /= all
	j.Within = good / all
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
