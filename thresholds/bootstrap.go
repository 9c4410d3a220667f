package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// bootstrap makes resamples of a fit, which say how sure its switches are and where they may be.
//
// A resample draws blocks of every visit again, and moves each estimate by what the luck of visits and the roughness near
// the closest switch may be. Whether there is a switch is a matter of what was measured, and the losses of these resamples
// say it: see prune. Where the switch is, is a matter of every run. So for the interval all estimates of an implementation
// also move by what the luck of the next run may be, and the partition is repeated.
type bootstrap struct {
	segments []Segment // of the estimate
	curves   *Curves
	twin     twinStudy
	history  *history
	rough    []deviation // by segment, of the switch at its lower edge
	between  []deviation // by segment, too: of the log-ratio from one run to the next
	nearest  []int       // by size, the segment whose lower edge is nearest
	rng      *rand.Rand

	draws  [][]draw      // by run and size
	tables [][][]float64 // losses of the present resample by run, implementation and size
	loss   [][]float64   // of all runs together

	losses [][][]float64 // of every resample
	again  [][]Segment   // of every resample, with the luck of the next run
}

// draw is what a bootstrap draws from at one size of a run.
type draw struct {
	visits [][2]int  // first block of each visit and the one after its last
	ranks  []ranking // by implementation
	times  []int     // how often the present resample has each block
	left   float64   // the share of the twin's shift that is left after so many visits
}

// prepare makes the draws of the sizes, and room for the losses of a resample.
func (b *bootstrap) prepare() {
	implementations := len(b.curves.Implementations)
	b.loss = newTable(implementations, len(b.curves.Sizes))
	for _, size := range b.curves.Sizes {
		b.nearest = append(b.nearest, nearestSwitch(b.segments, size))
	}
	for _, groups := range b.history.runs {
		draws := make([]draw, len(groups))
		for s := range groups {
			g := &groups[s]
			draws[s] = draw{
				visits: visitRanges(*g), ranks: g.rank(implementations), times: make([]int, len(g.blocks)),
				left: b.twin.shiftAfter(visitsOf(*g)),
			}
		}
		b.draws = append(b.draws, draws)
		b.tables = append(b.tables, newTable(implementations, len(groups)))
	}
}

// resample makes so many resamples. withinRun leaves the luck of the next run out.
func (b *bootstrap) resample(resamples int, withinRun bool) {
	runs := float64(len(b.history.runs))
	for range resamples {
		b.drawBlocks()
		b.history.pool.join(b.tables, b.loss)
		b.moveSizes()
		if runs > 1 {
			b.moveRuns(1 / math.Sqrt(runs)) // their mean is that much off
		}
		b.losses = append(b.losses, cloneTable(b.loss))
		if !withinRun {
			b.moveRuns(1)
		}
		stretches := partition(b.loss, b.curves.Sizes, math.Log1p(b.twin.tie))
		b.again = append(b.again, segments(stretches, b.loss, b.curves.Sizes))
	}
}

func cloneTable(table [][]float64) [][]float64 {
	out := make([][]float64, len(table))
	for i := range table {
		out[i] = slices.Clone(table[i])
	}
	return out
}

// drawBlocks sets the losses of the runs to those of a resample, which has as many blocks of each visit as there are.
// Each estimate also moves by the luck of its visits.
func (b *bootstrap) drawBlocks() {
	shift := b.twin.shift.draw(b.rng)
	for run, draws := range b.draws {
		table := b.tables[run]
		for s, d := range draws {
			clear(d.times)
			for _, v := range d.visits {
				for range v[1] - v[0] {
					d.times[v[0]+b.rng.IntN(v[1]-v[0])]++
				}
			}
			for i, r := range d.ranks {
				table[i][s] = r.median(d.times) + shift*d.left*b.rng.NormFloat64()
			}
			subtractLeast(table, s)
		}
	}
}

// moveSizes moves each estimate by the roughness of its curve.
func (b *bootstrap) moveSizes() {
	roughs := make([]float64, len(b.rough))
	for n := range roughs {
		roughs[n] = b.rough[n].draw(b.rng)
	}
	for s, n := range b.nearest {
		if roughs[n] == 0 {
			continue
		}
		for i := range b.loss {
			b.loss[i][s] += roughs[n] / math.Sqrt2 * b.rng.NormFloat64() // each of the two sides of a log-ratio moves
		}
		subtractLeast(b.loss, s)
	}
}

// moveRuns moves all estimates near a switch together, as far as one run is off another, times share.
func (b *bootstrap) moveRuns(share float64) {
	lucks := newTable(len(b.segments), len(b.loss)) // by segment and implementation
	for n := range lucks {
		sd := share * b.between[n].draw(b.rng) / math.Sqrt2
		for i := range lucks[n] {
			lucks[n][i] = sd * b.rng.NormFloat64()
		}
	}
	for s, n := range b.nearest {
		for i, luck := range lucks[n] {
			b.loss[i][s] += luck
		}
		subtractLeast(b.loss, s)
	}
}

// interval sets the interval of the lower edge of the n-th of some segments. Resamples have that edge below the interval as
// often as above it, and as rarely as Confidence says.
func (b *bootstrap) interval(segs []Segment, stands [][]bool, n int) {
	var edges []float64
	for _, again := range b.again {
		if edge := sameSwitch(again, segs, stands, n); !math.IsNaN(edge) {
			edges = append(edges, edge)
		}
	}
	if len(edges) == 0 {
		return
	}
	slices.Sort(edges)
	low := stat.Quantile((1-Confidence)/2, stat.Empirical, edges, nil)
	high := stat.Quantile((1+Confidence)/2, stat.Empirical, edges, nil)
	s, sizes := &segs[n], b.curves.Sizes
	s.Low = max(min(int(math.Floor(low)), s.From), sizes[0])
	s.High = min(max(int(math.Ceil(high)), s.From), sizes[len(sizes)-1])
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

// sameSwitch returns the edge, in another fit, of the switch that stands for the n-th one of segs, NaN if there is
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
