package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// bootstrap finds out how sure the switches of a fit are, and where they may be. It sets the support and the interval of
// each segment but the first.
//
// A resample draws blocks of every visit again, moves each estimate by what the luck of visits and the roughness near the
// closest switch may be, and repeats the partition. The share of the resamples that still have a switch is its support,
// because whether there is a switch is a matter of this run. Where the switch is, is a matter of every run. So for the
// interval all estimates of an implementation also move by what the luck of another run may be, and the partition is
// repeated once more.
type bootstrap struct {
	segments   []Segment
	standIns   [][]bool // what standIns returns
	curves     *Curves
	twin       twinStudy
	rough      []deviation // by segment, of the switch at its lower edge
	processors *Processors
	rng        *rand.Rand

	draws []draw      // by size
	loss  [][]float64 // of the present resample: implementations × sizes
}

// draw is what a bootstrap draws from at one size.
type draw struct {
	visits  [][2]int  // first block of each visit and the one after its last
	ranks   []ranking // by implementation
	times   []int     // how often the present resample has each block
	left    float64   // the share of the twin's shift that is left after so many visits
	nearest int       // the segment whose lower edge is nearest
}

// prepare makes the draws of the sizes, and room for the losses of a resample.
func (b *bootstrap) prepare(groups []group) {
	implementations := len(b.curves.Implementations)
	b.loss = newTable(implementations, len(groups))
	b.draws = make([]draw, len(groups))
	for s := range groups {
		g := &groups[s]
		b.draws[s] = draw{
			visits: visitRanges(*g), ranks: g.rank(implementations), times: make([]int, len(g.blocks)),
			left: b.twin.shiftAfter(visitsOf(*g)), nearest: nearestSwitch(b.segments, g.size),
		}
	}
}

// resample makes so many resamples and sets supports and intervals. withinRun leaves the luck of other runs out of the
// intervals.
func (b *bootstrap) resample(resamples int, withinRun bool) {
	found := make([]int, len(b.segments))       // resamples that have the switch
	edges := make([][]float64, len(b.segments)) // where they have it
	for range resamples {
		b.drawBlocks()
		b.moveSizes()
		moved := b.switches()
		for n, edge := range moved {
			if !math.IsNaN(edge) {
				found[n]++
			}
		}
		if !withinRun {
			b.moveImplementations()
			moved = b.switches()
		}
		for n, edge := range moved {
			if !math.IsNaN(edge) {
				edges[n] = append(edges[n], edge)
			}
		}
	}
	for n := 1; n < len(b.segments); n++ {
		b.segments[n].Support = float64(found[n]) / float64(resamples)
		b.segments[n].spread(edges[n], b.curves.Sizes)
	}
}

// drawBlocks sets the losses to those of a resample, which has as many blocks of each visit as there are.
func (b *bootstrap) drawBlocks() {
	for s, d := range b.draws {
		clear(d.times)
		for _, v := range d.visits {
			for range v[1] - v[0] {
				d.times[v[0]+b.rng.IntN(v[1]-v[0])]++
			}
		}
		for i, r := range d.ranks {
			b.loss[i][s] = r.median(d.times)
		}
		subtractLeast(b.loss, s)
	}
}

// moveSizes moves each estimate by itself: by the luck of its visits and the roughness of its curve.
func (b *bootstrap) moveSizes() {
	shift := b.twin.shift.draw(b.rng)
	roughs := make([]float64, len(b.rough))
	for n := range roughs {
		roughs[n] = b.rough[n].draw(b.rng)
	}
	b.move(func(_, s int) float64 {
		d := &b.draws[s]
		// A log-ratio is rough once, and each of its two sides moves.
		return math.Hypot(shift*d.left, roughs[d.nearest]/math.Sqrt2) * b.rng.NormFloat64()
	})
}

// moveImplementations moves all estimates of an implementation together, by the luck of another run.
func (b *bootstrap) moveImplementations() {
	processors := b.processors.lucks(b.curves.Implementations, b.rng)
	lucks := make([]runLuck, len(processors))
	for i := range lucks {
		lucks[i] = runLuck{
			share: processors[i] + betweenRuns/math.Sqrt2*b.rng.NormFloat64(),
			delay: betweenCalls / math.Sqrt2 * b.rng.NormFloat64(),
		}
	}
	b.move(func(i, s int) float64 { return lucks[i].at(b.curves.Seconds[i][s]) })
}

// move adds to each estimate, and makes losses of them again.
func (b *bootstrap) move(by func(i, s int) float64) {
	for s := range b.draws {
		for i := range b.loss {
			b.loss[i][s] += by(i, s)
		}
		subtractLeast(b.loss, s)
	}
}

// switches repeats the partition. It returns where the switch below each segment is now, NaN where it is not found.
func (b *bootstrap) switches() []float64 {
	sizes := b.curves.Sizes
	stretches, _ := partition(b.loss, sizes, math.Log1p(b.twin.tie))
	again := segments(stretches, b.loss, sizes)
	edges := make([]float64, len(b.segments))
	edges[0] = math.NaN()
	for n := 1; n < len(edges); n++ {
		edges[n] = sameSwitch(again, b.segments, b.standIns, n)
	}
	return edges
}

// spread sets the interval of a segment's lower edge from where resamples have that edge. The interval reaches equally
// far to either side. Near a step or a bump resamples fall on one side of the estimate, which says that the estimate is
// unsure and not which way it is off.
func (s *Segment) spread(edges []float64, sizes []int) {
	if len(edges) == 0 {
		return
	}
	distances := make([]float64, len(edges))
	for k, x := range edges {
		distances[k] = math.Abs(math.Log(x / s.edge))
	}
	slices.Sort(distances)
	reach := math.Exp(stat.Quantile(Confidence, stat.Empirical, distances, nil))
	low, high := s.edge/reach, s.edge*reach
	s.Low = max(min(int(math.Floor(low)), s.From), sizes[0])
	s.High = min(max(int(math.Ceil(high)), s.From), sizes[len(sizes)-1])
}

// These are standard deviations of what the log-ratio of two implementations differs by from one run to the next on the
// same machine. No run shows them by itself. Their values are about what was measured (docs/method.md).
const (
	// betweenRuns is common to all sizes: which memory the process got, what the neighbours do that hour. It makes the
	// least tie band a matter of two standard deviations.
	betweenRuns = MinTieBand / 2
	// betweenCalls is that of a call's fixed cost, in seconds: how fast processors, or the processor and the GPU, reach
	// one another. It matters little to calls of ten microseconds.
	betweenCalls = 50e-9
)

// runLuck is what the luck of a run adds to one implementation: a log-ratio, and seconds a call.
type runLuck struct{ share, delay float64 }

// at returns the luck as a log-ratio of a call of so many seconds. A negative delay takes half of the call at most.
func (l runLuck) at(seconds float64) float64 {
	if !(seconds > 0) {
		return l.share
	}
	return l.share + math.Log1p(max(l.delay/seconds, -0.5))
}

// standIns returns, by stretch and implementation, which implementations may stand for the chosen one: itself, and those
// that are on average no further behind it there than the tie band. Which of two tied implementations a resample prefers
// is a toss, and says nothing against the switch from both of them to a third one.
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

// sameSwitch returns the edge, in another fit, of the switch that stands for the n-th one of segs, NaN where there is
// none. That switch is between the same two implementations or stand-ins of theirs. It is nearer to the n-th one than to
// any other such switch of segs, and it is the nearest of those. Where winners change there and back there and back again,
// a switch that the other fit does not have must not be taken for another one.
func sameSwitch(again, segs []Segment, stands [][]bool, n int) float64 {
	from, to := segs[n-1].Implementation, segs[n].Implementation
	same := func(a []Segment, k int) bool {
		before, after := a[k-1].Implementation, a[k].Implementation
		return stands[n-1][before] && stands[n][after] && before != to && after != from
	}
	distance := func(x, y float64) float64 { return math.Abs(math.Log(x / y)) }
	nearest := math.NaN()
	for k := 1; k < len(again); k++ {
		x := again[k].edge
		mine := same(again, k)
		for m := 1; mine && m < len(segs); m++ {
			mine = m == n || !same(segs, m) || distance(x, segs[n].edge) <= distance(x, segs[m].edge)
		}
		if mine && (math.IsNaN(nearest) || distance(x, segs[n].edge) < distance(nearest, segs[n].edge)) {
			nearest = x
		}
	}
	return nearest
}

// nearestSwitch returns the segment whose lower edge is nearest to a size.
func nearestSwitch(segs []Segment, size int) int {
	nearest, distance := 0, math.Inf(1)
	for n := 1; n < len(segs); n++ {
		if d := math.Abs(math.Log(float64(size) / segs[n].edge)); d < distance {
			nearest, distance = n, d
		}
	}
	return nearest
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
