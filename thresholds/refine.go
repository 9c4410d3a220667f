package thresholds

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"crossover/timings"
)

// rules are what the planner refines a case by, once the grid is measured. Each names the visits that it wants and what
// they are worth. The most worthwhile visit of all is proposed, the one of the earlier rule where two are worth the same.
var rules = []func(r *refinement) []wish{
	returnFirst,
	confirmLoneSegments,
	splitBrackets,
	narrowIntervals,
	confirmEdges,
	settleWinners,
	replaceDisturbed,
	lookBesideLone,
	closeGaps,
}

// wish is a visit that a rule wants. A worth of 1 is that of an interval twice as wide as asked for, or of a winner in
// doubt by one tie band.
type wish struct {
	size   int
	worth  float64 // before the visits that there were
	enough int     // visits to the size, after which the wish is fulfilled
}

// maxVisits is how many visits to one size are enough for every rule. More blocks do not narrow anything then.
const maxVisits = 12

// refineBlocks is how many blocks a visit gets that a rule wants.
const refineBlocks = 10

// refine proposes the most worthwhile visit that a rule wants. Visits to a size that was visited before are worth less,
// because each one changes less than the one before.
func (p *Planner) refine(set *timings.Set) proposal {
	r := p.study(set)
	var best proposal
	for _, rule := range rules {
		for _, w := range rule(r) {
			visits := p.visits[w.size]
			if visits >= w.enough || w.size > p.high {
				continue
			}
			if worth := w.worth / (1 + float64(visits)/4); worth > best.worth {
				best = proposal{w.size, refineBlocks, worth}
			}
		}
	}
	return best
}

// refinement is what the rules know of a case.
type refinement struct {
	*Planner
	groups   []group
	sizes    []int // that were measured, ascending
	fit      Result
	brackets []bracket
	wanted   float64 // width of a threshold's interval that is aimed at, as a log-ratio
}

// bracket is the two measured sizes beside a threshold.
type bracket struct {
	*Segment         // above the threshold
	below, above int // indices of the two sizes
	width        float64
	// split is a size to measure inside a bracket that is wider than wanted, 0 if there is none. settled says that the
	// operation takes no such size, and that the threshold is surely in this bracket.
	split   int
	settled bool
}

// study fits what was measured.
func (p *Planner) study(set *timings.Set) *refinement {
	h := newHistory([]*timings.Set{set})
	r := &refinement{Planner: p, groups: groupBySize(set), wanted: 2 * math.Log1p(p.options.Precision)}
	r.fit, _ = divide(h, p.options)
	r.sizes = r.fit.Curves.Sizes
	for n := 1; n < len(r.fit.Segments); n++ {
		b := bracket{Segment: &r.fit.Segments[n]}
		b.above, _ = slices.BinarySearch(r.sizes, b.From)
		b.below = b.above - 1
		low, high := r.sizes[b.below], r.sizes[b.above]
		if b.width = math.Log(float64(high) / float64(low)); b.width > r.wanted {
			if size, ok := p.inside(low, high, 0.4+0.2*p.rng.Float64()); ok {
				b.split = size
			} else {
				b.settled = b.Low > low && b.High <= high
			}
		}
		r.brackets = append(r.brackets, b)
	}
	return r
}

// An edge rests on its two sizes, and a visit is one throw of the dice: where the buffers lie, what the neighbours on the
// machine do for that moment. So both sizes are visited edgeVisits times.
const (
	edgeVisits = 5
	worthEdge  = 1.5
	worthLone  = 4
	// worthReturn is more than a bracket as wide as the grid's is worth.
	worthReturn = 10
)

// returnFirst wants the sizes beside thresholds a second time, where there are several thresholds and too few returns to say
// what visits differ by. A machine that is in one of two states by visit makes a threshold between any two visits, and each
// size that is measured between them makes more.
func returnFirst(r *refinement) (wishes []wish) {
	if len(r.brackets) < 2 || r.returns() >= leastReturns {
		return nil
	}
	for _, b := range r.brackets {
		wishes = append(wishes, wish{r.sizes[b.below], worthReturn, 2}, wish{r.sizes[b.above], worthReturn, 2})
	}
	return wishes
}

// returns returns how many visits were not the first one to their size.
func (r *refinement) returns() int {
	n := 0
	for _, g := range r.groups {
		n += visitsOf(g) - 1
	}
	return n
}

// confirmLoneSegments wants more visits to a size that is a segment by itself, before anything is built on that size.
func confirmLoneSegments(r *refinement) (wishes []wish) {
	for _, b := range r.brackets {
		if b.above == len(r.sizes)-1 || r.sizes[b.above+1] > b.To {
			wishes = append(wishes, wish{r.sizes[b.above], worthLone, edgeVisits})
		}
	}
	return wishes
}

// splitBrackets wants a size inside each bracket that is wider than wanted.
func splitBrackets(r *refinement) (wishes []wish) {
	for _, b := range r.brackets {
		if b.split > 0 {
			wishes = append(wishes, wish{b.split, b.width / r.wanted, maxVisits})
		}
	}
	return wishes
}

// narrowIntervals wants more of the sizes in an interval that is wider than wanted. Any of them may be what makes it wide,
// so it wants the one that was visited least. An interval that is still wide when all of them were visited edgeVisits times
// is wide because the curves are rough, or cross at a small angle. Other sizes then say more than the same ones again.
func narrowIntervals(r *refinement) (wishes []wish) {
	for _, b := range r.brackets {
		width := math.Log(float64(b.High)/float64(b.Low)) / r.wanted
		if b.split > 0 || b.settled || width <= 1 || b.High <= b.Low+1 {
			continue
		}
		size := r.leastVisited(b)
		if r.visits[size] >= edgeVisits {
			if other, ok := r.within(b.Segment); ok {
				size = other
			}
		}
		wishes = append(wishes, wish{size, width, maxVisits})
	}
	return wishes
}

// leastVisited returns the least visited size of those beside a threshold and in its interval.
func (r *refinement) leastVisited(b bracket) int {
	least := b.below
	for k, size := range r.sizes {
		inside := k == b.above || size >= b.Low && size <= b.High
		if inside && r.visits[size] < r.visits[r.sizes[least]] {
			least = k
		}
	}
	return r.sizes[least]
}

// withinGap is how far apart, as a factor, the sizes of a wide interval are in the end.
const withinGap = 1.1

// within returns a size in the middle of the widest gap between measured sizes that the interval of a threshold meets. It
// reports false if all of them are close to one another.
func (r *refinement) within(s *Segment) (size int, ok bool) {
	widest := withinGap
	for k := 1; k < len(r.sizes); k++ {
		low, high := r.sizes[k-1], r.sizes[k]
		if gap := float64(high) / float64(low); high > s.Low && low < s.High && gap > widest {
			if inside, found := r.inside(low, high, 0.5); found {
				size, ok, widest = inside, true, gap
			}
		}
	}
	return size, ok
}

// confirmEdges wants more visits to the two sizes beside a threshold, once these are to stay the two.
func confirmEdges(r *refinement) (wishes []wish) {
	for _, b := range r.brackets {
		if b.split == 0 && !b.settled {
			wishes = append(wishes, wish{r.sizes[b.below], worthEdge, edgeVisits}, wish{r.sizes[b.above], worthEdge, edgeVisits})
		}
	}
	return wishes
}

// settleWinners wants more blocks at the sizes whose winner is in doubt.
func settleWinners(r *refinement) (wishes []wish) {
	for k, doubt := range winnerDoubts(r.groups, r.fit.Curves.Loss, math.Log1p(r.fit.TieBand)) {
		wishes = append(wishes, wish{r.sizes[k], doubt, maxVisits})
	}
	return wishes
}

const (
	quietVisits = 4
	worthQuiet  = 1
)

// replaceDisturbed wants a size again, quietVisits times in all, of which all blocks were taken while the machine was
// disturbed. Quiet blocks take the place of the others, and a single size without quiet blocks marks its case.
func replaceDisturbed(r *refinement) (wishes []wish) {
	for _, g := range r.groups {
		if !slices.ContainsFunc(g.blocks, func(b *timings.Block) bool { return !b.Disturbed }) {
			wishes = append(wishes, wish{g.size, worthQuiet, quietVisits})
		}
	}
	return wishes
}

// nextTo is the factor within which nothing more is wanted beside a lone size. What is left are too few sizes for a
// threshold to matter.
const (
	nextTo      = 1.05
	worthBeside = 2
)

// lookBesideLone wants sizes beside one that is a segment by itself, or would be if that were convincing. Such a size says
// nothing of the sizes beside it. So the gaps beside it are halved until its segment has a second size, or none of them is
// wider than nextTo.
func lookBesideLone(r *refinement) (wishes []wish) {
	for _, k := range r.fit.lone {
		for above := max(k, 1); above <= min(k+1, len(r.sizes)-1); above++ {
			gap := math.Log(float64(r.sizes[above]) / float64(r.sizes[above-1]))
			if gap <= math.Log(nextTo) {
				continue
			}
			if size, ok := r.inside(r.sizes[above-1], r.sizes[above], 0.5); ok {
				wishes = append(wishes, wish{size, worthBeside * min(1, gap/math.Log(closeBy)), maxVisits})
			}
		}
	}
	return wishes
}

const (
	// widestGap is how far neighbouring sizes may be apart, in rungs of the grid.
	widestGap = 0.5
	// closeBy is how far they may be apart, as a factor, near a threshold and beside a size at which the choice loses.
	closeBy = 1.2
	// surroundings is the factor around a threshold that counts as near.
	surroundings = 2
	worthGap     = 0.4
)

// closeGaps wants a size in each wide gap between measured ones, because what happens there is not known. Near a threshold
// gaps must be smaller: curves may cross and cross back there, and how rough they are says how sure the threshold is. They
// must be smaller, too, beside a size at which the choice loses. Such a size is an awkward one, or the middle of a segment.
func closeGaps(r *refinement) (wishes []wish) {
	for k := 1; k < len(r.sizes); k++ {
		low, high := float64(r.sizes[k-1]), float64(r.sizes[k])
		gap := math.Log(high/low) / math.Log(r.ratio) / widestGap
		if r.fit.nearThreshold(low, high) || r.fit.loses(k-1) || r.fit.loses(k) {
			gap = max(gap, math.Log(high/low)/max(r.wanted, math.Log(closeBy)))
		}
		if gap > 1 {
			if size, ok := r.inside(r.sizes[k-1], r.sizes[k], 0.5); ok {
				wishes = append(wishes, wish{size, worthGap * gap, maxVisits})
			}
		}
	}
	return wishes
}

// loses reports whether the choice at the k-th measured size seems to lose there. Half a tie band is enough, because one
// visit may have been lucky.
func (r *Result) loses(k int) bool {
	n := slices.IndexFunc(r.Segments, func(s Segment) bool { return r.Curves.Sizes[k] <= s.To })
	return n >= 0 && r.Curves.Loss[r.Segments[n].Implementation][k] > math.Log1p(r.TieBand)/2
}

// nearThreshold reports whether some of the sizes from low to high lie within surroundings of a threshold.
func (r *Result) nearThreshold(low, high float64) bool {
	return slices.ContainsFunc(r.Segments[1:], func(s Segment) bool {
		return high > s.edge/surroundings && low < s.edge*surroundings
	})
}

const (
	// fewBlocks is how many blocks settle a winner by all agreeing.
	fewBlocks = 3
	// maxDoubt is the greatest doubt. A few blocks that say nothing yet have no more.
	maxDoubt = 3
)

// winnerDoubts returns the doubt about the winner at each size. It is the width of the interval of the best two
// implementations' paired log-ratio, in tie bands, where that interval holds both a win of the one and a win of the other
// by more than a tie. It is 0 if the order is clear or does not matter.
func winnerDoubts(groups []group, loss [][]float64, band float64) []float64 {
	doubts := make([]float64, len(groups))
	for s, g := range groups {
		first, second := -1, -1
		for i := range loss {
			switch l := loss[i][s]; {
			case math.IsInf(l, 1):
			case first < 0 || l < loss[first][s]:
				first, second = i, first
			case second < 0 || l < loss[second][s]:
				second = i
			}
		}
		if second < 0 {
			continue
		}
		var diffs []float64
		for _, logs := range g.logs {
			if d := logs[second] - logs[first]; !math.IsNaN(d) {
				diffs = append(diffs, d)
			}
		}
		low, high := medianInterval(diffs)
		// Too few blocks for an interval are still enough where each of them shows the same clear winner.
		if n := len(diffs); n >= fewBlocks && math.IsInf(high-low, 1) && slices.Min(diffs) > band {
			continue
		}
		if low < 0 && high > band {
			doubts[s] = min((high-low)/(2*band), maxDoubt)
		}
	}
	return doubts
}

// medianInterval returns a distribution-free interval of the median at Confidence. It is infinite where there are too few
// values for one.
func medianInterval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
	return summary.Lo, summary.Hi
}
