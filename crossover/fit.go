package crossover

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"crossover/samples"
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
func divide(groups []group, implementations []string, o Options) (Result, []run) {
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
	twin := studyArm(groups)
	result.TieBand = twin.tie
	band := math.Log1p(twin.tie)
	loss := result.Curves.Loss
	runs, bumps := partition(loss, result.Curves.Sizes, band)
	result.lone = loneSizes(runs, bumps)
	result.Segments = segments(runs, loss, result.Curves.Sizes)
	rough := roughness(groups, loss, runs, result.Segments, twin)
	bootstrap(result.Segments, standIns(loss, runs, band), groups, result.Curves.Seconds, twin, rough, o, rng)
	widen(result.Segments, loss, result.Curves.Sizes, runs, o.Precision)
	return result, runs
}

// Fit turns the samples of one case into segments with intervals. It returns an unresolved result without segments
// for a set without a usable block.
func Fit(set *samples.Set, o Options) Result {
	groups := groupBySize(set)
	result, runs := divide(groups, set.Implementations, o)
	if len(runs) == 0 {
		return result
	}
	for n := range result.Segments {
		result.Segments[n].Next = alternatives(result.Curves.Loss, runs[n])
	}
	result.Costs = fitCosts(result.Curves)
	result.Regret = crossFittedRegret(groups, runs)
	result.Verdict, result.Reason = judge(&result, runs)
	result.Warnings = warnings(&result, set.Implementations)
	return result
}

// loneSizes returns the sizes, by index, that are a run or were a bump.
func loneSizes(runs []run, bumps []int) []int {
	lone := slices.Clone(bumps)
	for _, r := range runs {
		if len(runs) > 1 && r.alone() {
			lone = append(lone, r.from)
		}
	}
	return lone
}

// segments gives the runs their edges as sizes.
func segments(runs []run, loss [][]float64, sizes []int) []Segment {
	out := make([]Segment, len(runs))
	for n, r := range runs {
		out[n] = Segment{Implementation: r.implementation, From: sizes[0], To: sizes[len(sizes)-1], Support: 1}
		if n == 0 {
			continue
		}
		x := edge(loss, runs[n-1].implementation, r.implementation, r.from-1, r.from, sizes)
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
// move by what another run's luck may be, and the partition is repeated once more. stands is what standIns returns, seconds
// is implementations × sizes.
func bootstrap(segs []Segment, stands [][]bool, groups []group, seconds [][]float64, twin arm, rough []deviation,
	o Options, rng *rand.Rand) {
	if len(segs) < 2 {
		return
	}
	implementations := len(seconds)
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
		runs, _ := partition(loss, sizes, math.Log1p(twin.tie))
		moved := segments(runs, loss, sizes)
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
		for i := range lucks {
			lucks[i] = runLuck{betweenRuns / math.Sqrt2 * rng.NormFloat64(), betweenCalls / math.Sqrt2 * rng.NormFloat64()}
		}
		perturb(loss, func(i, s int) float64 { return lucks[i].at(seconds[i][s]) })
		again(note)
	}
	for n := 1; n < len(segs); n++ {
		segs[n].Support = float64(found[n]) / float64(o.Resamples)
		if len(edges[n]) == 0 {
			continue
		}
		slices.Sort(edges[n])
		low := stat.Quantile((1-Confidence)/2, stat.Empirical, edges[n], nil)
		high := stat.Quantile((1+Confidence)/2, stat.Empirical, edges[n], nil)
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
func standIns(loss [][]float64, runs []run, band float64) [][]bool {
	stands := make([][]bool, len(runs))
	for n, r := range runs {
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
func widen(segs []Segment, loss [][]float64, sizes []int, runs []run, precision float64) {
	for n := 1; n < len(segs); n++ {
		k := runs[n].from
		below, above := sizes[k-1], sizes[k]
		missing := math.IsInf(loss[runs[n-1].implementation][k], 1) || math.IsInf(loss[runs[n].implementation][k-1], 1)
		lone := runs[n-1].alone() || runs[n].alone()
		if missing || lone || float64(above) > float64(below)*(1+precision)*(1+precision) {
			segs[n].Low = min(segs[n].Low, below+1)
			segs[n].High = max(segs[n].High, above)
		}
	}
}

// alternatives lists the other implementations measured somewhere in a run, best first, by their mean log-ratio.
func alternatives(loss [][]float64, r run) []Alternative {
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
func judge(r *Result, runs []run) (Verdict, string) {
	if r.TieBand > blind {
		return Unresolved, fmt.Sprintf("an implementation differs from itself by up to %.0f %%: the machine was too noisy", 100*r.TieBand)
	}
	if len(r.Segments) == 1 {
		band := math.Log1p(r.TieBand)
		tied := 0
		for s := range r.Curves.Sizes {
			for i := range r.Curves.Loss {
				if chosen := runs[0].implementation; i != chosen && max(r.Curves.Loss[i][s], r.Curves.Loss[chosen][s]) <= band {
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

// arm is what the A/A arm says of the noise of an estimate. An implementation is timed under two names, each with
// buffers and plans of its own, and a visit's blocks share them: so the arm sees what the blocks of a visit cannot, the
// luck of where the buffers lie.
type arm struct {
	tie   float64   // 95th percentile of a visit's absolute log-ratio, as a relative difference, at least MinTieBand
	shift deviation // of the part of a visit's log-ratio that more blocks do not average away

	jitter float64 // standard deviation of a block's log-ratio within its visit
}

// shiftAfter returns the share of the shift that is left in the estimate of one implementation after so many visits to a
// size. A log-ratio has two shifts in it, one of each side. The estimate is the median over all blocks: where
// blocks vary more than visits do it averages the visits as a mean would, and where visits vary more it is a median of
// visits, which from three on is less sure by a factor of √(π/2).
func (a arm) shiftAfter(visits int) float64 {
	left := 1 / math.Sqrt(2*float64(visits))
	if square := a.shift.sd * a.shift.sd; visits >= 3 && square > 0 {
		left *= math.Sqrt(1 + (math.Pi/2-1)*square/(square+a.jitter*a.jitter))
	}
	return left
}

// deviation is a standard deviation that was estimated with so many degrees of freedom.
type deviation struct {
	sd      float64
	freedom int
}

// draw returns what the true deviation may be, so that normal deviates times it become Student's.
func (d deviation) draw(rng *rand.Rand) float64 {
	if d.sd == 0 {
		return 0
	}
	var squares float64
	for range d.freedom {
		z := rng.NormFloat64()
		squares += z * z
	}
	return d.sd * math.Sqrt(float64(d.freedom)/squares)
}

// armBlocks is how many blocks a visit must have for its A/A estimate to count.
const armBlocks = 3

// studyArm estimates the arm: of each visit the median over its blocks, as every pair of implementations is estimated.
func studyArm(groups []group) arm {
	var visits, within []float64
	var counts, sizes []int
	for _, g := range groups {
		byVisit := map[int][]float64{}
		var order []int
		for _, b := range g.blocks {
			if b.Twin < 0 || !usable(b, b.Twin) || !(b.TwinSeconds > 0) || math.IsInf(b.TwinSeconds, 1) {
				continue
			}
			if byVisit[b.Visit] == nil {
				order = append(order, b.Visit)
			}
			byVisit[b.Visit] = append(byVisit[b.Visit], math.Log(b.TwinSeconds/b.Seconds[b.Twin]))
		}
		for _, v := range order {
			if ratios := byVisit[v]; len(ratios) >= armBlocks {
				middle := median(ratios)
				visits = append(visits, math.Abs(middle))
				within = append(within, squaredErrorOfMedian(ratios, middle))
				counts, sizes = append(counts, len(ratios)), append(sizes, g.size)
			}
		}
	}
	a := arm{tie: MinTieBand}
	if len(visits) == 0 {
		return a
	}
	sorted := slices.Sorted(slices.Values(visits))
	a.tie = max(a.tie, math.Expm1(tailOverTrusted*stat.Quantile(trusted, stat.Empirical, sorted, nil)))
	typical := typicalErrors(sizes, within, counts)
	jitters := make([]float64, len(within))
	for i, e := range typical {
		jitters[i] = math.Sqrt(e * float64(counts[i]) / (math.Pi / 2))
	}
	a.jitter = median(jitters)
	a.shift = deviation{shiftOf(visits, within, typical), max(2, len(visits))}
	if shift := studyReturns(groups); shift.freedom >= leastReturns && shift.sd*shift.sd > doubtless*a.shift.sd*a.shift.sd {
		a.shift = shift
	}
	return a
}

// The A/A arm sees no luck that a visit has as a whole: whether the threads of a parallel implementation were on their
// way, what the neighbours on the machine did. Sizes that were visited again show it. That it is more than the arm's is
// believed where the variance is doubtless times as large, in at least leastReturns visits.
const (
	leastReturns = 4
	doubtless    = 3
)

// studyReturns returns the standard deviation, beyond their own errors, of the log-ratio of a size's best two
// implementations from one visit to the next.
func studyReturns(groups []group) deviation {
	var ratios, within []float64
	var counts, sizes []int
	visits := 0 // but the first ones
	for _, g := range groups {
		first, second := bestTwo(g.logs)
		if second < 0 {
			continue
		}
		byVisit := map[int][]float64{}
		for n, b := range g.blocks {
			if d := g.logs[n][second] - g.logs[n][first]; !math.IsNaN(d) {
				byVisit[b.Visit] = append(byVisit[b.Visit], d)
			}
		}
		maps.DeleteFunc(byVisit, func(_ int, ratios []float64) bool { return len(ratios) < armBlocks })
		if len(byVisit) < 2 {
			continue
		}
		middles := make([]float64, 0, len(byVisit))
		for _, v := range slices.Sorted(maps.Keys(byVisit)) {
			middle := median(byVisit[v])
			middles = append(middles, middle)
			within = append(within, squaredErrorOfMedian(byVisit[v], middle))
			counts, sizes = append(counts, len(byVisit[v])), append(sizes, g.size)
		}
		// About a mean of their own, deviations come out short.
		mean, n := stat.Mean(middles, nil), float64(len(middles))
		for _, middle := range middles {
			ratios = append(ratios, (middle-mean)*math.Sqrt(n/(n-1)))
		}
		visits += len(middles) - 1
	}
	if visits < leastReturns {
		return deviation{}
	}
	return deviation{shiftOf(ratios, within, typicalErrors(sizes, within, counts)), visits}
}

// bestTwo returns the implementations with the least median log-ratios; −1 where there are not so many.
func bestTwo(logs [][]float64) (first, second int) {
	first, second = -1, -1
	var least, next float64
	for i := range logs[0] {
		var values []float64
		for _, l := range logs {
			if !math.IsNaN(l[i]) {
				values = append(values, l[i])
			}
		}
		switch m := median(values); {
		case math.IsNaN(m):
		case first < 0 || m < least:
			first, second, least, next = i, first, m, least
		case second < 0 || m < next:
			second, next = i, m
		}
	}
	return first, second
}

// typicalErrors returns the squared error that a visit's median has for its number of blocks, from all visits to its
// size together: calls of one size vary alike.
func typicalErrors(sizes []int, squaredErrors []float64, blocks []int) []float64 {
	sum, visits := map[int]float64{}, map[int]float64{}
	for i, size := range sizes {
		sum[size] += squaredErrors[i] * float64(blocks[i])
		visits[size]++
	}
	typical := make([]float64, len(sizes))
	for i, size := range sizes {
		typical[i] = sum[size] / visits[size] / float64(blocks[i])
	}
	return typical
}

// shiftOf returns the standard deviation that visits have beyond the errors of their own medians. A visit's squared
// log-ratio is on average shift² plus its own squared error, and the shift is the one at which the weighted sum of
// their differences is zero. The weights, 1/(shift² + error²)², are those of a normal likelihood: a visit of many
// blocks says more about the shift than one of few. They take the typical error for each visit's number of blocks,
// because a visit whose error came out small by chance must not weigh more for it. A square is cut at outlier² of its
// mean, so that a visit during which something else wanted the machine does not decide.
func shiftOf(ratios, squaredErrors, typical []float64) float64 {
	score := func(square float64) float64 {
		var sum float64
		for i, r := range ratios {
			v := square + typical[i]
			sum += (min(r*r, outlier*outlier*v) - meanCut*(square+squaredErrors[i])) / (v * v)
		}
		return sum
	}
	high := 0.0
	for i, r := range ratios {
		high = max(high, 2*r*r+squaredErrors[i]+typical[i])
	}
	if high == 0 {
		return 0
	}
	low := 1e-12 * high // keeps v above zero where visits had no error at all
	if score(low) > 0 {
		for range 60 {
			middle := math.Sqrt(low * high)
			if score(middle) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
	}
	return math.Sqrt(low)
}

// outlier is where a visit's deviation stops counting, in standard deviations, and meanCut the mean of a standard normal
// square that is cut there.
const (
	outlier = 2.5
	meanCut = 0.978
)

// A case has a few dozen visits, and their 95th percentile would be the one or two during which something else wanted the
// machine. So it is taken from the percentile that such visits do not reach, times the ratio of the two percentiles of a
// normal distribution's absolute value: 1.960/1.282.
const (
	trusted         = 0.8
	tailOverTrusted = 1.529
)

// normalMAD turns a median absolute deviation into the standard deviation of a normal distribution.
const normalMAD = 1.4826

// squaredErrorOfMedian is the squared standard error of the median of values: (π/2)·σ²/n for a normal σ, which is
// estimated by the median absolute deviation with its correction for few values, n/(n−0.8) (Croux and Rousseeuw,
// Time-efficient algorithms for two highly robust estimators of scale, 1992).
func squaredErrorOfMedian(values []float64, middle float64) float64 {
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - middle)
	}
	n := float64(len(values))
	sigma := n / (n - 0.8) * normalMAD * median(deviations)
	return math.Pi / 2 * sigma * sigma / n
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

// crossFittedRegret is the expected regret of the runs over the measured sizes, relative: at each size the oracle's
// winner is picked on one half of the blocks and timed on the other, both ways round, so that picking a minimum does
// not flatter it. Sizes weigh by the log-size that they stand for.
func crossFittedRegret(groups []group, runs []run) float64 {
	var sum, weight float64
	for _, r := range runs {
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
func Slowdown(set *samples.Set, size, chosen int) (float64, bool) {
	one := samples.Set{Implementations: set.Implementations, Blocks: set.At(size)}
	groups := groupBySize(&one)
	if len(groups) == 0 {
		return 0, false
	}
	loss, ok := halfLoss(groups[0].logs, chosen)
	return math.Exp(loss), ok
}
