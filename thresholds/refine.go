package thresholds

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"crossover/timings"
)

// rules refine a case after its grid is measured. Each returns the visits that it wants, with their worths. The planner
// proposes the visit with the greatest worth. Of equal ones it takes that of the earlier rule.
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

// wish is a visit that a rule wants. A worth of 1 is the worth for an interval twice as wide as asked for, or for a winner
// in doubt by one tie band.
type wish struct {
	size   int
	worth  float64 // without regard to earlier visits
	enough int     // number of visits to the size that fulfil the wish
}

// maxVisits is the number of visits to one size that is enough for every rule. More blocks do not narrow anything then.
const maxVisits = 12

// refineBlocks is the number of blocks of a visit that a rule wants.
const refineBlocks = 10

// refine proposes the visit with the greatest worth that a rule wants. Earlier visits to a size make another one worth less,
// because each changes less than the one before.
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

// refinement is the state of a case for the rules.
type refinement struct {
	*Planner
	groups   []group
	sizes    []int // measured sizes, ascending
	fit      Result
	brackets []bracket
	wanted   float64 // aimed width of a threshold's interval, as a log-ratio
}

// bracket has the two measured sizes beside a threshold.
type bracket struct {
	*Segment         // the segment above the threshold
	below, above int // indices of the two sizes
	width        float64
	divided      bool // whether the upper implementation is known to divide no call of a size inside the bracket
	// split is a size to measure inside a bracket that is wider than wanted, or 0 if there is none. settled says that the
	// operation takes no such size, and that the threshold is certainly in this bracket.
	split   int
	settled bool
}

// study fits the measured blocks.
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
		if first := r.fit.Curves.firstDivided(r.fit.Curves.Loss, b.Implementation, b.below); first > 0 {
			low, b.divided = first-1, first == high
			if !b.divided {
				b.split, b.width = first, math.Log(float64(high)/float64(r.sizes[b.below]))
				r.brackets = append(r.brackets, b)
				continue
			}
		}
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

// An edge follows from its two sizes, and a visit is a matter of luck: of the place of the buffers, and of the neighbours on
// the machine at that moment. So both sizes get edgeVisits visits.
const (
	edgeVisits = 5
	worthEdge  = 1.5
	worthLone  = 4
	// worthReturn is more than the worth of a bracket as wide as one of the grid.
	worthReturn = 10
)

// returnFirst wants a second visit to the sizes beside thresholds, if there are several thresholds and too few returns to
// know how much visits differ. On a machine with two states, a threshold appears between any two visits, and each size that
// is measured between them makes more.
func returnFirst(r *refinement) (wishes []wish) {
	if len(r.brackets) < 2 || r.returns() >= leastReturns {
		return nil
	}
	for _, b := range r.brackets {
		wishes = append(wishes, wish{r.sizes[b.below], worthReturn, 2}, wish{r.sizes[b.above], worthReturn, 2})
	}
	return wishes
}

// returns returns the number of visits other than the first ones to their sizes.
func (r *refinement) returns() int {
	n := 0
	for _, g := range r.groups {
		n += visitsOf(g) - 1
	}
	return n
}

// confirmLoneSegments wants more visits to a size that is a segment by itself, before other rules build on it.
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

// narrowIntervals wants another visit to a size in an interval that is wider than wanted. Any of these sizes may make the
// interval wide, so narrowIntervals wants the least visited one. If the interval is still wide after edgeVisits visits to
// each, its curves are rough or cross at a small angle. Then other sizes say more than more visits to the same ones.
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

// leastVisited returns the least visited size of those beside a threshold and inside its interval.
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

// withinGap is the final ratio of neighbouring sizes inside a wide interval.
const withinGap = 1.1

// within returns a size in the middle of the widest gap between measured sizes that overlaps the interval of a threshold. It
// reports false if all gaps are small.
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

// confirmEdges wants more visits to the two sizes beside a threshold, once no size will be measured between them.
func confirmEdges(r *refinement) (wishes []wish) {
	for _, b := range r.brackets {
		if b.split == 0 && !b.settled {
			wishes = append(wishes, wish{r.sizes[b.below], worthEdge, edgeVisits}, wish{r.sizes[b.above], worthEdge, edgeVisits})
		}
	}
	return wishes
}

// settleWinners wants more blocks at sizes whose winner is in doubt.
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

// replaceDisturbed wants more visits, up to quietVisits in all, to sizes with disturbed blocks only. Quiet blocks replace
// disturbed ones. A single size without quiet blocks degrades its case.
func replaceDisturbed(r *refinement) (wishes []wish) {
	for _, g := range r.groups {
		if !slices.ContainsFunc(g.blocks, func(b *timings.Block) bool { return !b.Disturbed }) {
			wishes = append(wishes, wish{g.size, worthQuiet, quietVisits})
		}
	}
	return wishes
}

// nextTo is the factor within which nothing more is wanted beside a lone size. So few sizes are left there that a threshold
// among them does not matter.
const (
	nextTo      = 1.05
	worthBeside = 2
)

// lookBesideLone wants sizes beside one that is a segment by itself, or would be one if it were certain. Such a size says
// nothing of the sizes beside it. So the gaps beside it are halved until its segment has a second size, or until no gap is
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
	// widestGap is the greatest distance of neighbouring sizes, in rungs of the grid.
	widestGap = 0.5
	// closeBy is the greatest ratio of neighbouring sizes near a threshold, and beside a size at which the choice loses.
	closeBy = 1.2
	// surroundings is the factor around a threshold that counts as near.
	surroundings = 2
	worthGap     = 0.4
)

// closeGaps wants a size in each wide gap between measured ones, because the times there are not known. Near a threshold
// gaps must be smaller: curves may cross several times there, and their roughness decides how certain the threshold is. Gaps
// must also be smaller beside a size at which the choice loses. Such a size is awkward, or the middle of a segment.
func closeGaps(r *refinement) (wishes []wish) {
	for k := 1; k < len(r.sizes); k++ {
		low, high := float64(r.sizes[k-1]), float64(r.sizes[k])
		gap := math.Log(high/low) / math.Log(r.ratio) / widestGap
		if r.nearThreshold(low, high) || r.fit.loses(k-1) || r.fit.loses(k) {
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

// loses reports whether the choice at the k-th measured size seems to lose. Half a tie band suffices, because one visit may
// have been lucky.
func (r *Result) loses(k int) bool {
	n := slices.IndexFunc(r.Segments, func(s Segment) bool { return r.Curves.Sizes[k] <= s.To })
	return n >= 0 && r.Curves.Loss[r.Segments[n].Implementation][k] > math.Log1p(r.TieBand)/2
}

// nearThreshold reports whether sizes from low to high are within surroundings of a threshold. Below the size from which on a
// loop is divided, no size says anything of the threshold there.
func (r *refinement) nearThreshold(low, high float64) bool {
	return slices.ContainsFunc(r.brackets, func(b bracket) bool {
		return high > b.edge/surroundings && low < b.edge*surroundings && !(b.divided && high <= float64(r.sizes[b.above]))
	})
}

const (
	// fewBlocks is the number of blocks that settle a winner if all of them agree.
	fewBlocks = 3
	// maxDoubt is the greatest doubt, so that a few blocks without a clear order do not have more.
	maxDoubt = 3
)

// winnerDoubts returns the doubt about the winner at each size: the width, in tie bands, of the interval of the paired
// log-ratio of the two best implementations. It is 0 unless that interval contains both a win of the second best and a win
// of the best by more than a tie.
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
		// Too few blocks for an interval still suffice if each of them has the same clear winner.
		if n := len(diffs); n >= fewBlocks && math.IsInf(high-low, 1) && slices.Min(diffs) > band {
			continue
		}
		if low < 0 && high > band {
			doubts[s] = min((high-low)/(2*band), maxDoubt)
		}
	}
	return doubts
}

// medianInterval returns a distribution-free interval of the median at Confidence. It is infinite if there are too few
// values.
func medianInterval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
	return summary.Lo, summary.Hi
}
