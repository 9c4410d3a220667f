package proof

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/lab/rules"
	"crossover/thresholds"
	"crossover/timings"
)

// The aims of StudyLeftOut. A choice is cheap if it costs less than CheapBelow on another run, and CheapAim is the aimed
// share of cheap pairs. A loss is costly if its lower bound is above CostlyAbove, and CostlyAim is the greatest share of
// log-size with such a loss.
const (
	CheapBelow  = 0.01
	CheapAim    = 0.95
	CostlyAbove = 0.05
	CostlyAim   = 0.01
)

// HeldAim is the range in which the share of the next run's thresholds that intervals hold should be.
var HeldAim = [2]float64{0.93, 0.97}

// LeftOut says how well runs of a host predict runs that were not fitted with them.
type LeftOut struct {
	Runs, Cases int
	One         Predicted // each run predicts every other one
	Others      Predicted // all other runs together predict each run
	Means       Intervals // the mean of the thresholds that all other runs found alone, of those that Others foresees
	Sparse      Intervals // all other runs predict each run from sizes sparseStep apart, where that run has sizes in between
	Hindsight   Intervals // the best single interval for all runs that found a threshold, of those that Others foresees
	Agree       Share     // pairs of runs of a case with the same winners, and each threshold inside the other's interval
	AgreeHalves Share     // the same of the two halves of the blocks of a run
	Halves      Choices   // choices of the winner at each size by one half of the blocks of a run, judged on its other half
}

// Intervals says how well intervals predict the thresholds of a run.
type Intervals struct {
	Held  Share   // thresholds of the other run inside the interval, of those for whose two implementations there is one
	New   int     // thresholds of the other run for whose two implementations there is none
	Score float64 // mean interval score of Held

	// Off is the median distance of these thresholds from the predicted ones, in standard deviations: an interval reaches as
	// many of them to either side as that of a normal distribution. It is 0.67 if intervals are as wide as they should be.
	Off float64

	offs []float64
}

// Predicted says how well some runs predict the thresholds and the times of another one.
type Predicted struct {
	Intervals
	Ours    Choices
	Obvious Choices // choices of the winner at each measured size
}

// Choices says what choices cost on runs that did not make them.
type Choices struct {
	Pairs      []Pair
	Costly     float64 // share of log-size on which the lower bound of the loss is above CostlyAbove; NaN if no size has a bound
	Thresholds float64 // mean number in a case

	costly, span, thresholds float64
}

// Pair is a case and a run, with the cost of choices there.
type Pair struct {
	Case string
	Run  int
	Cost float64 // mean slowdown over log-size, minus 1
}

// Cheap returns the share of pairs that cost less than CheapBelow.
func (c *Choices) Cheap() Share {
	s := Share{Of: len(c.Pairs)}
	for _, p := range c.Pairs {
		if p.Cost < CheapBelow {
			s.Count++
		}
	}
	return s
}

// Mean returns the geometric mean of the pairs' slowdowns, minus 1.
func (c *Choices) Mean() float64 {
	sum := 0.0
	for _, p := range c.Pairs {
		sum += math.Log1p(p.Cost) / float64(len(c.Pairs))
	}
	return math.Expm1(sum)
}

// Worst returns the pairs in descending order of cost.
func (c *Choices) Worst() []Pair {
	return slices.SortedFunc(slices.Values(c.Pairs), func(a, b Pair) int { return cmp.Compare(b.Cost, a.Cost) })
}

// StudyLeftOut leaves out each run of a host in turn and predicts it from the others. dir is the folder of a run or of a
// host. The error wraps ErrOneRun if no case has two runs.
func StudyLeftOut(ctx context.Context, dir string) (*LeftOut, error) {
	h, err := loadSeveral(dir)
	if err != nil {
		return nil, err
	}
	return h.leaveOut(ctx)
}

func (h *history) leaveOut(ctx context.Context) (*LeftOut, error) {
	fits := func() [][]thresholds.Result { return make([][]thresholds.Result, len(h.runs)) }
	alone, without, few, sparse := fits(), fits(), fits(), h.sparse()
	rest := func(k int) []int { return slices.Delete(slices.Clone(h.runs), k, k+1) }
	if err := each(ctx, 3*len(h.runs), func(n int) {
		switch k := n / 3; n % 3 {
		case 0:
			alone[k] = h.fit(h.runs[k : k+1])
		case 1:
			without[k] = h.fit(rest(k))
		case 2:
			few[k] = sparse.fit(rest(k))
		}
	}); err != nil {
		return nil, err
	}
	out := &LeftOut{Runs: len(h.runs), Cases: len(h.cases)}
	for k, run := range h.runs {
		h.addMeans(&out.Means, alone, without[k], k)
		for c := range h.cases {
			p := &h.cases[c]
			left := p.runs[run]
			if left == nil {
				continue
			}
			out.Others.add(p, p.of(rest(k)), &without[k][c], run, &alone[k][c])
			out.Sparse.addThresholds(&few[k][c], &alone[k][c], insideOf(left.Sizes(), few[k][c].Curves.Sizes))
			out.addHalves(p, run)
			for n, other := range h.runs {
				if n != k {
					out.One.add(p, p.of([]int{other}), &alone[n][c], run, &alone[k][c])
				}
				if n < k && p.runs[other] != nil {
					out.Agree.Of++
					if agree(alone[n][c].Segments, alone[k][c].Segments) {
						out.Agree.Count++
					}
				}
			}
		}
	}
	out.Hindsight.addHindsight(alone, without)
	for _, i := range []*Intervals{&out.One.Intervals, &out.Others.Intervals, &out.Means, &out.Sparse, &out.Hindsight} {
		i.Score /= float64(i.Held.Of)
		if len(i.offs) > 0 {
			i.Off = median(i.offs)
		}
	}
	for _, c := range []*Choices{&out.One.Ours, &out.One.Obvious, &out.Others.Ours, &out.Others.Obvious, &out.Halves} {
		c.Costly, c.Thresholds = c.costly/c.span, c.thresholds/float64(len(c.Pairs))
	}
	return out, nil
}

// add compares a fit of some runs of a case with another run: its thresholds by itself, and its times. from are the fitted
// runs.
func (out *Predicted) add(p *past, from []*timings.Set, fit *thresholds.Result, run int, itself *thresholds.Result) {
	if len(fit.Segments) == 0 || len(itself.Segments) == 0 {
		return
	}
	out.addThresholds(fit, itself, func(*thresholds.Segment) bool { return true })
	var ours rules.Choice
	for _, s := range fit.Segments {
		ours.From, ours.Implementation = append(ours.From, s.From), append(ours.Implementation, s.Implementation)
	}
	low, high := fit.Curves.Sizes[0], fit.Curves.Sizes[len(fit.Curves.Sizes)-1]
	out.Ours.add(p, run, ours, low, high)
	out.Obvious.add(p, run, rules.Obvious().Choose(from...), low, high)
}

// addThresholds adds the thresholds that a run found by itself, each with the interval that a fit of other runs has for it.
// counts says of such an interval whether it counts.
func (out *Intervals) addThresholds(fit, itself *thresholds.Result, counts func(s *thresholds.Segment) bool) {
	for n := 1; n < len(itself.Segments); n++ {
		found := itself.Segments[n]
		switch s := sameSides(fit.Segments, itself.Segments[n-1].Implementation, found.Implementation, found.From); {
		case s == nil:
			out.New++
		case counts(s):
			out.add(math.Log(float64(s.Low)), math.Log(float64(s.From)), math.Log(float64(s.High)), found.From)
		}
	}
}

// sameSides returns the segment whose threshold is between two given implementations and nearest to a size, or nil if there
// is none.
func sameSides(segments []thresholds.Segment, below, above, size int) *thresholds.Segment {
	var best *thresholds.Segment
	least := math.Inf(1)
	for n := 1; n < len(segments); n++ {
		d := math.Abs(math.Log(float64(segments[n].From) / float64(size)))
		if segments[n-1].Implementation == below && segments[n].Implementation == above && d < least {
			best, least = &segments[n], d
		}
	}
	return best
}

// agree reports whether two fits have the same winners in the same order, and each threshold inside the other's interval.
func agree(a, b []thresholds.Segment) bool {
	return slices.EqualFunc(a, b, func(a, b thresholds.Segment) bool {
		return a.Implementation == b.Implementation &&
			(a.High == 0 && b.High == 0 || a.Low <= b.From && b.From <= a.High && b.Low <= a.From && a.From <= b.High)
	})
}

// level is the share of thresholds that intervals may miss.
const level = 0.05

// add adds the interval of a threshold around the predicted one, in log-size.
func (out *Intervals) add(low, predicted, high float64, threshold int) {
	x := math.Log(float64(threshold))
	out.Held.Of++
	if low <= x && x <= high {
		out.Held.Count++
	}
	out.Score += intervalScore(low, high, x)
	reach := high - predicted
	if x < predicted {
		reach = predicted - low
	}
	off := math.Abs(x-predicted) / reach * distuv.UnitNormal.Quantile(1-level/2)
	if x == predicted {
		off = 0 // also if the interval is a point
	}
	out.offs = append(out.offs, off)
}

// intervalScore returns the interval score of a threshold, all in log-size: the interval's width, plus 2/level times the
// distance of the threshold from the interval. Less is better. Source: Gneiting and Raftery, Strictly proper scoring rules,
// prediction, and estimation, 2007, equation 43.
func intervalScore(low, high, threshold float64) float64 {
	return high - low + 2/level*(max(low-threshold, 0)+max(threshold-high, 0))
}

// add adds the cost of a choice on a run, at the measured sizes from low to high. Beyond that range a choice promises
// nothing.
func (c *Choices) add(p *past, run int, choice rules.Choice, low, high int) {
	set := p.runs[run]
	sizes := set.Sizes()
	var sum, span float64
	for k, size := range sizes {
		diffs := crossed(set.At(size), len(set.Implementations), choice.At(size))
		if size < low || size > high || len(diffs) == 0 {
			continue
		}
		width := math.Log(float64(sizes[min(k+1, len(sizes)-1)])/float64(sizes[max(k-1, 0)])) / 2
		sum += width * middle(diffs)
		span += width
		if n := orderAtMost(len(diffs)); n >= 0 {
			c.span += width
			if diffs[n] > math.Log1p(CostlyAbove) {
				c.costly += width
			}
		}
	}
	if span > 0 {
		c.Pairs = append(c.Pairs, Pair{p.name, run, math.Expm1(sum / span)})
		c.thresholds += float64(choice.Thresholds())
	}
}

// crossed returns, in ascending order, the log-ratio of a choice's time to that of the best implementation, for each block
// of a size. The best implementation is found in every other block and its times are taken from the blocks between, and then
// the other way round. Otherwise it would look faster than it is, because it has the least of several noisy times.
func crossed(blocks []timings.Block, implementations, chosen int) []float64 {
	var halves [2][]timings.Block
	for n, b := range blocks {
		halves[n%2] = append(halves[n%2], b)
	}
	var diffs []float64
	for k, half := range halves {
		best, least := -1, math.Inf(1)
		for i := range implementations {
			if m := median(logRatios(half, i, chosen)); m < least {
				best, least = i, m
			}
		}
		if best >= 0 {
			diffs = append(diffs, logRatios(halves[1-k], chosen, best)...)
		}
	}
	slices.Sort(diffs)
	return diffs
}

// logRatios returns the log-ratio of one implementation's time to another's, for each block that has both.
func logRatios(blocks []timings.Block, i, j int) []float64 {
	var ratios []float64
	for n := range blocks {
		b := &blocks[n]
		if b.Timed(i) && b.Timed(j) && b.Seconds[i] > 0 && b.Seconds[j] > 0 {
			ratios = append(ratios, math.Log(b.Seconds[i]/b.Seconds[j]))
		}
	}
	return ratios
}

// middle returns the median of ascending values.
func middle(ascending []float64) float64 {
	n := len(ascending)
	return (ascending[(n-1)/2] + ascending[n/2]) / 2
}

// orderAtMost returns which of n ascending values is the lower end of a one-sided interval of their median, or −1 if n is
// too small. The median is below the k-th value, counted from 0, if at most k values are below the median.
func orderAtMost(n int) int {
	below := distuv.Binomial{N: float64(n), P: 0.5}
	k := -1
	for below.CDF(float64(k+1)) <= level {
		k++
	}
	return k
}
