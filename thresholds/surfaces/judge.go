package surfaces

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Judged has the losses of choices at shapes that their surface was not fitted to.
type Judged struct {
	Shapes             [][]int
	Losses             []float64 // by shape: log of the ratio of the choice's time to the best one's; below 0 by luck
	Weights            []float64 // of the shapes in the mean; nil if all weigh the same
	Mean, Lower, Upper float64   // of the losses, with the ends of one-sided 95 % intervals, which need many shapes
	Within             float64   // share of the shapes with a loss of at most within
	Worst              float64   // greatest loss
	WorstAt            []int     // shape of the greatest loss; nil if there is none

	standardErrors []float64 // of the losses, if nothing else makes the mean uncertain; otherwise nil
}

// within is the greatest loss of a good choice.
var within = math.Log(1.05)

// Judge judges the choices of a surface by the blocks at held-out shapes. choose returns the implementations of the set in
// the order of preference. The choice is the first of them that was timed.
func Judge(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int) Judged {
	var j Judged
	j.take(set, shape, choose, HeldOut)
	j.sum()
	return j
}

// take judges the choices at those shapes of a set for which fits returns true.
func (j *Judged) take(set *timings.Set, shape func(size int) []int, choose func(shape []int) []int, fits func(shape []int) bool) {
	for _, size := range set.Sizes() {
		at := shape(size)
		if !fits(at) {
			continue
		}
		blocks, ranking := quietOf(set.At(size)), choose(at)
		chosen := -1
		for _, i := range ranking {
			if chosen = set.TimedAs(blocks, i); chosen >= 0 {
				break
			}
		}
		if chosen < 0 {
			continue
		}
		if loss, _ := lossOf(alternating(blocks, min(len(blocks), mostParts)), chosen); !math.IsNaN(loss) {
			j.Shapes, j.Losses = append(j.Shapes, at), append(j.Losses, loss)
		}
	}
}

// mostParts is the greatest number of parts into which the blocks of a shape are divided. A fitted shape has three blocks.
// One of two parts would be a single block, in which a wrong implementation is often the fastest, and losses beside that one
// are too low.
const mostParts = 4

// alternating divides blocks into n parts. Each part has blocks from the whole time.
func alternating(blocks []timings.Block, n int) [][]timings.Block {
	parts := make([][]timings.Block, n)
	for k, b := range blocks {
		parts[k%n] = append(parts[k%n], b)
	}
	return parts
}

// lossOf returns the loss of the choice at one shape, and its standard error by the differences between the parts. For each
// part, the best implementation is the one that is fastest in the other parts, and its time is that in the part. So luck
// does not make an implementation the best. A choice that is far slower is timed in few blocks. If a part has none of them,
// its time in the other parts counts. If there are too few blocks, lossOf returns NaN.
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

// fastest returns the implementation that is fastest in some blocks, of those that were also timed in the blocks others. It
// returns −1 if there is none.
func fastest(blocks, others []timings.Block) int {
	best, least := -1, math.Inf(1)
	if len(blocks) == 0 {
		return best
	}
	for i := range blocks[0].Seconds {
		if log := medianLog(blocks, i); log < least && timings.AnyTimed(others, i) {
			best, least = i, log
		}
	}
	return best
}

// confidence is the level of all one-sided intervals and bounds.
const confidence = 0.95

// sum computes what follows from the losses.
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

// bound sets the ends of the intervals of the mean. all is the sum of the weights. off returns the expected error of a loss,
// which is known with a number of degrees of freedom.
func (j *Judged) bound(degrees, all float64, off func(k int) float64) {
	squares := 0.0
	for k := range j.Losses {
		d := j.weight(k) * off(k) / all
		squares += d * d
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile(confidence) * math.Sqrt(squares)
	j.Lower, j.Upper = j.Mean-half, j.Mean+half
}

// weight returns the weight of a shape.
func (j *Judged) weight(k int) float64 {
	if j.Weights == nil {
		return 1
	}
	return j.Weights[k]
}
