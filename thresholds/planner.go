package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"

	"crossover/timings"
)

// Planner decides, while a sweep is under way, which size of one case to measure next. First it walks up a geometric
// grid, with jittered sizes between the rungs; then it bisects every bracket in which the winner changes and takes more
// blocks where the winner is in doubt.
type Planner struct {
	low, high int
	ratio     float64
	round     func(int) int
	options   Options
	rng       *rand.Rand

	grid    []int
	pass    int // 0: the rungs, 1: the jittered sizes between them, 2: refinement
	visits  map[int]int
	planned bool
	fitted  int // blocks in the set when the last proposal of the refinement was made
	next    proposal
}

// PlannerOptions are the bounds of a planner.
type PlannerOptions struct {
	Low, High int           // least and greatest size, at least 1
	Ratio     float64       // between the rungs of the grid, at least 1.05; 0 means 4
	Round     func(int) int // to the nearest size that the operation takes; nil means every size
	Fit       Options
}

// The planner's judgement of worth. Rungs of the grid come before everything else, in every case; among refinements a
// worth of 1 is an interval twice as wide as asked for, or a winner in doubt by one tie band.
const (
	worthRung   = 1000
	worthJitter = 500
)

// An edge rests on its two sizes, and a visit is one throw of the dice: where the buffers lie, what the neighbours on the
// machine do for that moment. So both sizes are visited edgeVisits times, and a segment of a single size before anything
// is built on it.
const (
	edgeVisits = 5
	worthEdge  = 1.5
	worthLone  = 4
)

// planResamples is the bootstrap's size during the sweep: enough to see which interval is wide.
const planResamples = 60

// fewBlocks is how many blocks settle a winner by all agreeing.
const fewBlocks = 3

// maxDoubt bounds the worth of settling a winner of which a few blocks say nothing yet.
const maxDoubt = 3

// maxVisits bounds the visits to one size: past it, more blocks do not narrow anything.
const maxVisits = 12

// widestGap is how far neighbouring sizes may be apart, in rungs of the grid, while there is anything left to spend: what
// happens between them nobody knows. Within a factor of surroundings of a threshold they may be apart by no more than a
// factor of closeBy: curves may cross and cross back there, and how rough they are says how sure the threshold is. The same
// holds beside a size at which the choice loses: it is an awkward size, or the middle of a segment.
const (
	widestGap    = 0.5
	surroundings = 2
	closeBy      = 1.2
	worthGap     = 0.4
)

// An interval that is still wide when its sizes were visited edgeVisits times is wide because the curves are rough, or cross
// at a small angle. Other sizes say more then than the same ones again, until they are withinGap apart.
const withinGap = 1.1

// A segment of a single size says nothing of the sizes beside it, and neither does a size that would be one if it were
// convincing. So the gaps beside it are halved until it has a second size, or none is wider than a factor of nextTo: what
// is left are too few sizes for a threshold to matter.
const (
	nextTo      = 1.05
	worthBeside = 2
)

// A size of which all blocks were taken while the machine was disturbed is visited again, quietVisits times in all: quiet
// blocks take the place of the others, and a single size left without them marks its case.
const (
	quietVisits = 4
	worthQuiet  = 1
)

// maxBarren bounds the visits without a block between two neighbouring measured sizes.
const maxBarren = 3

type proposal struct {
	size, blocks int
	worth        float64
}

// NewPlanner returns a planner for one case.
func NewPlanner(o PlannerOptions) *Planner {
	if o.Ratio == 0 {
		o.Ratio = 4
	}
	// Rungs any closer would only measure noise, and a ratio of hardly more than 1 would make millions of them.
	o.Ratio = max(o.Ratio, 1.05)
	o.Low = max(o.Low, 1)
	o.High = max(o.High, o.Low)
	if o.Fit.Precision == 0 {
		o.Fit.Precision = 0.1
	}
	o.Fit.Resamples = planResamples
	o.Fit.withinRun = true
	p := &Planner{
		low: o.Low, high: o.High, ratio: o.Ratio, round: o.Round, options: o.Fit,
		rng:    rand.New(rand.NewPCG(o.Fit.Seed, 0x9147)),
		visits: map[int]int{},
	}
	p.low, p.high = p.taken(p.low, +1), p.taken(p.high, -1)
	p.grid = p.rungs()
	return p
}

// taken returns the first size from n on, upwards or downwards, that the operation takes: a bound that somebody typed
// need not be one.
func (p *Planner) taken(n, direction int) int {
	if p.round == nil {
		return n
	}
	for step := 0; n+direction*step >= 1 && step <= 4*n; step = 2*step + 1 {
		if size := p.round(n + direction*step); (size-n)*direction >= 0 {
			return size
		}
	}
	return n
}

// Limit tells the planner that sizes above high cannot be afforded.
func (p *Planner) Limit(high int) {
	p.high = min(p.high, high)
	p.grid = slices.DeleteFunc(p.grid, func(size int) bool { return size > p.high })
	p.planned = false
}

// Next returns the visit that would teach most about the case: a size, the number of blocks, and what it is
// worth; a worth of 0 means that nothing is left to learn.
func (p *Planner) Next(set *timings.Set) (size, blocks int, worth float64) {
	if !p.planned || len(set.Blocks) != p.fitted {
		p.next = p.propose(set)
		p.planned, p.fitted = true, len(set.Blocks)
	}
	return p.next.size, p.next.blocks, p.next.worth
}

// Visited tells the planner that a proposed size was measured, or found not to be measurable.
func (p *Planner) Visited(size int) {
	p.visits[size]++
	if len(p.grid) > 0 && p.grid[0] == size {
		p.grid = p.grid[1:]
	}
	p.planned = false
}

func (p *Planner) propose(set *timings.Set) proposal {
	const gridBlocks = 5
	if len(p.grid) == 0 && p.pass == 0 {
		p.pass, p.grid = 1, p.between(set.Sizes())
	}
	if len(p.grid) == 0 {
		p.pass = 2
		return p.refine(set)
	}
	worth := float64(worthRung)
	if p.pass == 1 {
		worth = worthJitter
	}
	// Low sizes come first everywhere, so that the cost of the high ones is known before they are tried.
	return proposal{p.grid[0], gridBlocks, worth + float64(len(p.grid))}
}

// Rungs returns the sizes that the planner starts with, ascending.
func (p *Planner) Rungs() []int { return p.rungs() }

// rungs is the geometric grid from low to high, both included.
func (p *Planner) rungs() []int {
	if p.high < p.low {
		return nil // the operation takes no size between the bounds
	}
	var grid []int
	for x := float64(p.low); x < float64(p.high); x *= p.ratio {
		grid = append(grid, p.nearest(x))
	}
	// A last step of less than half a rung would only repeat its neighbour.
	if last := len(grid) - 1; last > 0 && float64(p.high) < float64(grid[last])*math.Sqrt(p.ratio) {
		grid = grid[:last]
	}
	grid = append(grid, p.nearest(float64(p.high)))
	slices.Sort(grid)
	return slices.Compact(grid)
}

// between returns one jittered size in each gap between measured sizes, away from its ends.
func (p *Planner) between(sizes []int) []int {
	var grid []int
	for k := 1; k < len(sizes); k++ {
		if size, ok := p.inside(sizes[k-1], sizes[k], 0.35+0.3*p.rng.Float64()); ok {
			grid = append(grid, size)
		}
	}
	return grid
}

// inside returns the size about a share t of the way from low to high in log-size, strictly between the two. Where the
// nearest size that the operation takes is one of the ends it looks at other shares, and reports false when there is
// none. It also does so between neighbours where visits have left no block to show for them.
func (p *Planner) inside(low, high int, t float64) (int, bool) {
	barren := 0
	for size := range p.visits {
		if size > low && size < high {
			barren++
		}
	}
	if barren >= maxBarren {
		return 0, false
	}
	for _, share := range []float64{t, 0.5, 0.25, 0.75, 0.1, 0.9} {
		size := p.nearest(float64(low) * math.Pow(float64(high)/float64(low), share))
		if size > low && size < high {
			return size, true
		}
	}
	return 0, false
}

func (p *Planner) nearest(x float64) int {
	size := min(max(int(math.Round(x)), p.low), p.high)
	if p.round != nil {
		size = min(max(p.round(size), p.low), p.high)
	}
	return size
}

// refine proposes the most useful visit once the grid is measured: to the inside of a wide bracket, to the least known
// size of an interval that is still wide, or to a size whose winner is in doubt.
func (p *Planner) refine(set *timings.Set) proposal {
	const blocks = 10
	groups := groupBySize(set)
	fit, _ := divide(groups, set.Implementations, p.options)
	var best proposal
	offer := func(size int, worth float64) {
		visits := p.visits[size]
		if visits >= maxVisits || size > p.high {
			return
		}
		if worth /= 1 + float64(visits)/4; worth > best.worth {
			best = proposal{size, blocks, worth}
		}
	}
	confirm := func(size, visits int, worth float64) {
		if p.visits[size] < visits {
			offer(size, worth)
		}
	}
	wanted := 2 * math.Log1p(p.options.Precision)
	sizes := fit.Curves.Sizes
	for n := 1; n < len(fit.Segments); n++ {
		s := &fit.Segments[n]
		above, _ := slices.BinarySearch(sizes, s.From)
		below := above - 1
		if above == len(sizes)-1 || sizes[above+1] > s.To {
			confirm(sizes[above], edgeVisits, worthLone) // one size alone says so
		}
		if width := math.Log(float64(sizes[above]) / float64(sizes[below])); width > wanted {
			if size, ok := p.inside(sizes[below], sizes[above], 0.4+0.2*p.rng.Float64()); ok {
				offer(size, width/wanted)
				continue
			}
			// The operation takes no size in between. What blocks can still settle is whether this is the bracket.
			if s.Low > sizes[below] && s.High <= sizes[above] {
				continue
			}
		}
		if width := math.Log(float64(s.High)/float64(s.Low)) / wanted; width > 1 && s.High > s.Low+1 {
			// Any size inside the interval may be what widens it: the one that is known least.
			least := below
			for k := range sizes {
				inside := k == above || sizes[k] >= s.Low && sizes[k] <= s.High
				if inside && p.visits[sizes[k]] < p.visits[sizes[least]] {
					least = k
				}
			}
			size := sizes[least]
			if p.visits[size] >= edgeVisits {
				if other, ok := p.within(s, sizes); ok {
					size = other
				}
			}
			offer(size, width)
		}
		confirm(sizes[below], edgeVisits, worthEdge)
		confirm(sizes[above], edgeVisits, worthEdge)
	}
	band := math.Log1p(fit.TieBand)
	for k, doubt := range winnerDoubts(groups, fit.Curves.Loss, band) {
		offer(sizes[k], doubt)
	}
	for _, g := range groups {
		if !slices.ContainsFunc(g.blocks, func(b *timings.Block) bool { return !b.Disturbed }) {
			confirm(g.size, quietVisits, worthQuiet)
		}
	}
	for _, k := range fit.lone {
		for above := max(k, 1); above <= min(k+1, len(sizes)-1); above++ {
			gap := math.Log(float64(sizes[above]) / float64(sizes[above-1]))
			if gap <= math.Log(nextTo) {
				continue
			}
			if size, ok := p.inside(sizes[above-1], sizes[above], 0.5); ok {
				offer(size, worthBeside*min(1, gap/math.Log(closeBy)))
			}
		}
	}
	for k := 1; k < len(sizes); k++ {
		low, high := float64(sizes[k-1]), float64(sizes[k])
		gap := math.Log(high/low) / math.Log(p.ratio) / widestGap
		if fit.nearThreshold(low, high) || fit.loses(k-1) || fit.loses(k) {
			gap = max(gap, math.Log(high/low)/max(wanted, math.Log(closeBy)))
		}
		if gap > 1 {
			if size, ok := p.inside(sizes[k-1], sizes[k], 0.5); ok {
				offer(size, worthGap*gap)
			}
		}
	}
	return best
}

// within returns a size in the middle of the widest gap between measured sizes that the interval of a threshold meets, and
// reports false where all are close to one another.
func (p *Planner) within(s *Segment, sizes []int) (size int, ok bool) {
	widest := withinGap
	for k := 1; k < len(sizes); k++ {
		low, high := sizes[k-1], sizes[k]
		if gap := float64(high) / float64(low); high > s.Low && low < s.High && gap > widest {
			if inside, found := p.inside(low, high, 0.5); found {
				size, ok, widest = inside, true, gap
			}
		}
	}
	return size, ok
}

// loses reports whether the choice at the k-th measured size seems to lose there: by half a tie band, because one visit
// may have been lucky.
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

// winnerDoubts returns, for each size, how wide the interval of the best two implementations' paired log-ratio is in
// tie bands, where it covers both a win of the one and of the other beyond a tie; 0 where the order is clear or does
// not matter.
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

// medianInterval returns a distribution-free interval of the median at Confidence; infinite where there are too few
// values for one.
func medianInterval(values []float64) (low, high float64) {
	if len(values) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	summary := benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), Confidence)
	return summary.Lo, summary.Hi
}
