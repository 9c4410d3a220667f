package thresholds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"crossover/timings"
)

// MinTieBand is the least relative difference that is ever called a difference.
const MinTieBand = 0.03

// Confidence is the level of every interval.
const Confidence = 0.95

// Options of a fit.
type Options struct {
	Seed      uint64
	Resamples int     // of the bootstrap; 0 means 1000
	Precision float64 // half width of a threshold's interval that is aimed at, relative; 0 means 0.1

	// Processors is what is known of the processors that the implementations run on; nil means that they share one.
	Processors *Processors

	withinRun bool // leave out of the intervals what no block of this run can narrow
}

// Verdict says what kind of answer the samples give.
type Verdict int

// The verdicts.
const (
	Unresolved Verdict = iota // the samples do not decide
	Switches                  // the winner changes, at sizes that the samples pin down
	Always                    // one implementation is chosen at every measured size
	Tie                       // the best ones stay within the tie band at every measured size
)

// Result is what the samples of one case say.
type Result struct {
	Curves   Curves
	TieBand  float64 // relative: 0.03 is three percent
	Segments []Segment
	Verdict  Verdict
	Reason   string // of a verdict that the segments do not explain by themselves
	Costs    []Cost // by implementation
	Regret   float64
	Warnings []string

	lone []int // the measured sizes that are a segment of their own, or would be if that were convincing
}

// Segment is an interval of sizes with one chosen implementation.
type Segment struct {
	From, To       int // first and last size
	Implementation int
	Low, High      int     // interval of From; 0, 0 for the first segment
	Support        float64 // share of the bootstrap's resamples that have this switch; 1 for the first segment
	Next           []Alternative

	edge float64 // From before it was rounded to a size
}

// Alternative is another implementation of a segment, and its time over the chosen one's.
type Alternative struct {
	Implementation int
	Slowdown       float64
}

// divide is the part of a fit that a planner needs, without what only a reader of the result does: curves, tie band, and
// segments with their intervals. The second result is the run of each segment, none where there is no block.
func divide(groups []group, implementations []string, o Options) (Result, []stretch) {
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	if o.Precision == 0 {
		o.Precision = 0.1
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0xb007))
	result := Result{Curves: summarise(groups, implementations)}
	if len(groups) == 0 {
		result.TieBand = MinTieBand
		result.Reason = "no block was measured"
		return result, nil
	}
	twin := studyTwin(groups)
	result.TieBand = twin.tie
	band := math.Log1p(twin.tie)
	loss := result.Curves.Loss
	stretches, bumps := partition(loss, result.Curves.Sizes, band)
	result.lone = loneSizes(stretches, bumps)
	result.Segments = segments(stretches, loss, result.Curves.Sizes)
	rough := roughness(groups, loss, stretches, result.Segments, twin)
	bootstrap(result.Segments, standIns(loss, stretches, band), groups, &result.Curves, twin, rough, o, rng)
	widen(result.Segments, loss, result.Curves.Sizes, stretches, o.Precision)
	return result, stretches
}

// Fit turns the samples of one case into segments with intervals. It returns an unresolved result without segments
// for a set without a usable block.
func Fit(set *timings.Set, o Options) Result {
	groups := groupBySize(set)
	result, stretches := divide(groups, set.Implementations, o)
	if len(stretches) == 0 {
		return result
	}
	for n := range result.Segments {
		result.Segments[n].Next = alternatives(result.Curves.Loss, stretches[n])
	}
	result.Costs = fitCosts(result.Curves)
	result.Regret = crossFittedRegret(groups, stretches)
	result.Verdict, result.Reason = judge(&result, stretches)
	result.Warnings = warnings(&result, set.Implementations)
	return result
}

// loneSizes returns the sizes, by index, that are a run or were a bump.
func loneSizes(stretches []stretch, bumps []int) []int {
	lone := slices.Clone(bumps)
	for _, r := range stretches {
		if len(stretches) > 1 && r.alone() {
			lone = append(lone, r.from)
		}
	}
	return lone
}

// segments gives the stretches their edges as sizes.
func segments(stretches []stretch, loss [][]float64, sizes []int) []Segment {
	out := make([]Segment, len(stretches))
	for n, r := range stretches {
		out[n] = Segment{Implementation: r.implementation, From: sizes[0], To: sizes[len(sizes)-1], Support: 1}
		if n == 0 {
			continue
		}
		x := edge(loss, stretches[n-1].implementation, r.implementation, r.from-1, r.from, sizes)
		// The first size that belongs to the segment is the next whole one, and never one that was measured on
		// the other side.
		from := min(max(int(math.Ceil(x-1e-9)), sizes[r.from-1]+1), sizes[r.from])
		out[n].edge, out[n].From, out[n].Low, out[n].High = x, from, from, from
		out[n-1].To = from - 1
	}
	return out
}

// bootstrap resamples the blocks of every visit, moves each estimate by a normal deviate of what the luck of visits and
// the roughness around the nearest switch may be, repeats the partition, and sets each segment's support. That there is a
// switch is a matter of this run. Where it is, is one of every run: for the interval all estimates of an implementation also
// move by what another run's luck may be, and the partition is repeated once more. stands is what standIns returns.
func bootstrap(segs []Segment, stands [][]bool, groups []group, curves *Curves, twin twinStudy, rough []deviation,
	o Options, rng *rand.Rand) {
	if len(segs) < 2 {
		return
	}
	implementations := len(curves.Implementations)
	sizes := make([]int, len(groups))
	ranks := make([][]ranking, len(groups))
	times := make([][]int, len(groups)) // how often each block is drawn
	visits := make([][][2]int, len(groups))
	for s := range groups {
		sizes[s] = groups[s].size
		ranks[s] = groups[s].rank(implementations)
		times[s] = make([]int, len(groups[s].blocks))
		visits[s] = visitRanges(groups[s])
	}
	left, nearest := make([]float64, len(groups)), make([]int, len(groups))
	for s := range groups {
		left[s], nearest[s] = twin.shiftAfter(visitsOf(groups[s])), nearestSwitch(segs, sizes[s])
	}
	moves, roughs := make([]float64, len(groups)), make([]float64, len(rough))
	lucks := make([]runLuck, implementations)
	edges, found := make([][]float64, len(segs)), make([]int, len(segs))
	loss := newTable(implementations, len(groups))
	// again repeats the partition and reports the switches that are still there.
	again := func(report func(n int, edge float64)) {
		stretches, _ := partition(loss, sizes, math.Log1p(twin.tie))
		moved := segments(stretches, loss, sizes)
		for n := 1; n < len(segs); n++ {
			if x, ok := sameSwitch(moved, segs, stands, n); ok {
				report(n, x)
			}
		}
	}
	count := func(n int, _ float64) { found[n]++ }
	note := func(n int, edge float64) { edges[n] = append(edges[n], edge) }
	for range o.Resamples {
		for s := range groups {
			clear(times[s])
			for _, v := range visits[s] {
				for range v[1] - v[0] {
					times[s][v[0]+rng.IntN(v[1]-v[0])]++
				}
			}
			for i, r := range ranks[s] {
				loss[i][s] = r.median(times[s])
			}
			subtractLeast(loss, s)
		}
		shift := twin.shift.draw(rng)
		for n := range rough {
			roughs[n] = rough[n].draw(rng)
		}
		for s := range moves {
			// A log-ratio is rough once, and has a move of either side.
			moves[s] = math.Hypot(shift*left[s], roughs[nearest[s]]/math.Sqrt2)
		}
		perturb(loss, func(_, s int) float64 { return moves[s] * rng.NormFloat64() })
		if o.withinRun {
			again(func(n int, edge float64) { count(n, edge); note(n, edge) })
			continue
		}
		again(count)
		processors := o.Processors.lucks(curves.Implementations, rng)
		for i := range lucks {
			lucks[i] = runLuck{
				share: processors[i] + betweenRuns/math.Sqrt2*rng.NormFloat64(),
				delay: betweenCalls / math.Sqrt2 * rng.NormFloat64(),
			}
		}
		perturb(loss, func(i, s int) float64 { return lucks[i].at(curves.Seconds[i][s]) })
		again(note)
	}
	for n := 1; n < len(segs); n++ {
		segs[n].Support = float64(found[n]) / float64(o.Resamples)
		if len(edges[n]) == 0 {
			continue
		}
		// An interval reaches equally far to either side. Near a step or a bump resamples fall on one side of the
		// estimate, which says that it is unsure and not which way it is off.
		distances := edges[n]
		for k, x := range distances {
			distances[k] = math.Abs(math.Log(x / segs[n].edge))
		}
		slices.Sort(distances)
		reach := math.Exp(stat.Quantile(Confidence, stat.Empirical, distances, nil))
		low, high := segs[n].edge/reach, segs[n].edge*reach
		segs[n].Low = max(min(int(math.Floor(low)), segs[n].From), sizes[0])
		segs[n].High = min(max(int(math.Ceil(high)), segs[n].From), sizes[len(sizes)-1])
	}
}

// perturb moves each estimate, and makes losses of them again.
func perturb(loss [][]float64, move func(i, s int) float64) {
	for s := range loss[0] {
		for i := range loss {
			loss[i][s] += move(i, s)
		}
		subtractLeast(loss, s)
	}
}

// What the log-ratio of two implementations differs by from one run to the next on the same machine, and no run can see of
// itself: standard deviations, of about what was measured (docs/method.md).
const (
	// betweenRuns is that of all sizes alike: which memory the process got, who the neighbours are that hour. It is what
	// makes the least tie band a matter of two standard deviations.
	betweenRuns = MinTieBand / 2
	// betweenCalls is that of a call's fixed cost, in seconds: how fast processors, or the processor and the GPU, reach one
	// another. Calls of ten microseconds hardly feel it.
	betweenCalls = 50e-9
)

// runLuck is what a run is worth to one implementation: a log-ratio, and seconds a call.
type runLuck struct{ share, delay float64 }

// at returns its log-ratio for a call of so many seconds. A delay is never taken for most of the call.
func (l runLuck) at(seconds float64) float64 {
	if !(seconds > 0) {
		return l.share
	}
	return l.share + math.Log1p(max(l.delay/seconds, -0.5))
}

// standIns returns, by run, which implementations may stand for the chosen one: itself, and those that are on average no
// further behind it there than the tie band. Which of two tied implementations a resample prefers is a toss, and says
// nothing against the switch from both of them to a third one.
func standIns(loss [][]float64, stretches []stretch, band float64) [][]bool {
	stands := make([][]bool, len(stretches))
	for n, r := range stretches {
		stands[n] = make([]bool, len(loss))
		for i := range loss {
			behind := 0.0
			for s := r.from; s < r.to; s++ {
				behind += loss[i][s] - loss[r.implementation][s]
			}
			stands[n][i] = i == r.implementation || behind <= band*float64(r.to-r.from)
		}
	}
	return stands
}

// sameSwitch finds, in another fit, the switch that stands for the n-th one of segs: between the same two
// implementations or stand-ins of theirs, nearer to it than to any other such switch of segs, and the nearest of those.
// Where winners change there and back there and back again, a switch that the other fit does not have must not be taken
// for another one.
func sameSwitch(again, segs []Segment, stands [][]bool, n int) (float64, bool) {
	from, to := segs[n-1].Implementation, segs[n].Implementation
	same := func(a []Segment, k int) bool {
		before, after := a[k-1].Implementation, a[k].Implementation
		return stands[n-1][before] && stands[n][after] && before != to && after != from
	}
	distance := func(x, y float64) float64 { return math.Abs(math.Log(x / y)) }
	nearest, found := 0.0, false
	for k := 1; k < len(again); k++ {
		x := again[k].edge
		mine := same(again, k)
		for m := 1; mine && m < len(segs); m++ {
			mine = m == n || !same(segs, m) || distance(x, segs[n].edge) <= distance(x, segs[m].edge)
		}
		if mine && (!found || distance(x, segs[n].edge) < distance(nearest, segs[n].edge)) {
			nearest, found = x, true
		}
	}
	return nearest, found
}

// widen stretches an interval over the whole bracket where the bracket is wider than the precision that was asked
// for: between its two sizes nothing was measured, and noise alone does not say where in it the truth lies. Neither
// does it where one of the two implementations was not measured on the other's side, or where one side has a single
// size: the curves may take a step anywhere between that one and its neighbour, and no second size says that they do not.
func widen(segs []Segment, loss [][]float64, sizes []int, stretches []stretch, precision float64) {
	for n := 1; n < len(segs); n++ {
		k := stretches[n].from
		below, above := sizes[k-1], sizes[k]
		missing := math.IsInf(loss[stretches[n-1].implementation][k], 1) || math.IsInf(loss[stretches[n].implementation][k-1], 1)
		lone := stretches[n-1].alone() || stretches[n].alone()
		if missing || lone || float64(above) > float64(below)*(1+precision)*(1+precision) {
			segs[n].Low = min(segs[n].Low, below+1)
			segs[n].High = max(segs[n].High, above)
		}
	}
}

// alternatives lists the other implementations measured somewhere in a run, best first, by their mean log-ratio.
func alternatives(loss [][]float64, r stretch) []Alternative {
	var out []Alternative
	for i := range loss {
		if i == r.implementation {
			continue
		}
		sum, count := 0.0, 0
		for s := r.from; s < r.to; s++ {
			if d := loss[i][s] - loss[r.implementation][s]; !math.IsInf(d, 0) && !math.IsNaN(d) {
				sum += d
				count++
			}
		}
		if count > 0 {
			out = append(out, Alternative{Implementation: i, Slowdown: math.Exp(sum / float64(count))})
		}
	}
	slices.SortStableFunc(out, func(a, b Alternative) int {
		if a.Slowdown < b.Slowdown {
			return -1
		}
		if a.Slowdown > b.Slowdown {
			return 1
		}
		return 0
	})
	return out
}

// blind is the tie band above which an arm that differs from itself says that the machine was too noisy to compare
// anything.
const blind = 0.25

// judge gives the verdict.
func judge(r *Result, stretches []stretch) (Verdict, string) {
	if r.TieBand > blind {
		return Unresolved, fmt.Sprintf("an implementation differs from itself by up to %.0f %%: the machine was too noisy", 100*r.TieBand)
	}
	if len(r.Segments) == 1 {
		band := math.Log1p(r.TieBand)
		tied := 0
		for s := range r.Curves.Sizes {
			for i := range r.Curves.Loss {
				if chosen := stretches[0].implementation; i != chosen && max(r.Curves.Loss[i][s], r.Curves.Loss[chosen][s]) <= band {
					tied++
					break
				}
			}
		}
		if tied == len(r.Curves.Sizes) {
			return Tie, fmt.Sprintf("the best two stay within %.1f %% of each other at every measured size", 100*r.TieBand)
		}
		return Always, ""
	}
	for n := 1; n < len(r.Segments); n++ {
		if s := &r.Segments[n]; s.Support < Confidence-0.05 {
			return Unresolved, fmt.Sprintf("the switch at %d is in only %.0f %% of the resamples (want %.0f %%)",
				s.From, 100*s.Support, 100*(Confidence-0.05))
		}
	}
	return Switches, ""
}

// warnings lists what a reader should know before trusting the segments.
func warnings(r *Result, names []string) []string {
	var out []string
	for n := 1; n < len(r.Segments); n++ {
		s := &r.Segments[n]
		if x, ok := modelCrossing(r, n); ok && (x < float64(s.Low)/2 || x > float64(s.High)*2) {
			out = append(out, fmt.Sprintf("the cost model puts the change from %s to %s at %.0f, far from the measured %d (%d to %d)",
				names[r.Segments[n-1].Implementation], names[s.Implementation], x, s.From, s.Low, s.High))
		}
	}
	return out
}

// visitRanges returns the first block of each visit and the one after its last. Blocks of a visit follow one another.
func visitRanges(g group) [][2]int {
	var ranges [][2]int
	for n, b := range g.blocks {
		if n == 0 || b.Visit != g.blocks[n-1].Visit {
			ranges = append(ranges, [2]int{n, n})
		}
		ranges[len(ranges)-1][1] = n + 1
	}
	return ranges
}

// visitsOf returns how many visits a group's blocks come from.
func visitsOf(g group) int {
	seen := map[int]bool{}
	for _, b := range g.blocks {
		seen[b.Visit] = true
	}
	return len(seen)
}

// crossFittedRegret is the expected regret of the stretches over the measured sizes, relative: at each size the oracle's
// winner is picked on one half of the blocks and timed on the other, both ways round, so that picking a minimum does
// not flatter it. Sizes weigh by the log-size that they stand for.
func crossFittedRegret(groups []group, stretches []stretch) float64 {
	var sum, weight float64
	for _, r := range stretches {
		for s := r.from; s < r.to; s++ {
			loss, ok := halfLoss(groups[s].logs, r.implementation)
			if !ok {
				continue
			}
			w := logSpan(groups, s)
			sum += w * loss
			weight += w
		}
	}
	if weight == 0 {
		return 0
	}
	return max(0, math.Expm1(sum/weight))
}

// halfLoss returns the cross-fitted log-loss of one choice at one size. It needs two blocks.
func halfLoss(logs [][]float64, chosen int) (float64, bool) {
	if len(logs) < 2 {
		return 0, false
	}
	half := func(parity int) []float64 {
		estimates := make([]float64, len(logs[0]))
		for i := range estimates {
			var values []float64
			for b := parity; b < len(logs); b += 2 {
				if !math.IsNaN(logs[b][i]) {
					values = append(values, logs[b][i])
				}
			}
			estimates[i] = median(values)
		}
		return estimates
	}
	even, odd := half(0), half(1)
	one := func(pick, time []float64) float64 {
		best := -1
		for i, v := range pick {
			if !math.IsNaN(v) && !math.IsNaN(time[i]) && (best < 0 || v < pick[best]) {
				best = i
			}
		}
		if best < 0 {
			return math.NaN()
		}
		return time[chosen] - time[best]
	}
	loss := (one(even, odd) + one(odd, even)) / 2
	return loss, !math.IsNaN(loss)
}

// logSpan is the length in log-size that group s stands for: half the way to each neighbour.
func logSpan(groups []group, s int) float64 {
	low, high := max(s-1, 0), min(s+1, len(groups)-1)
	if low == high {
		return 1
	}
	return math.Log(float64(groups[high].size)/float64(groups[low].size)) / 2
}

// Slowdown returns the time of a choice at a measured size over the time of the best implementation there, cross-fitted:
// the best one is picked on half of the blocks and timed on the other half, so that picking the least of noisy times
// does not flatter it. It may be below 1. It reports false with fewer than two blocks, or without a time of the choice.
func Slowdown(set *timings.Set, size, chosen int) (float64, bool) {
	one := timings.Set{Implementations: set.Implementations, Blocks: set.At(size)}
	groups := groupBySize(&one)
	if len(groups) == 0 {
		return 0, false
	}
	loss, ok := halfLoss(groups[0].logs, chosen)
	return math.Exp(loss), ok
}
