package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// bootstrap makes resamples of a fit. They say how certain its switches are and where they may be.
//
// A resample draws the blocks of every visit again. It moves each estimate by a random luck of visits, and by a random
// roughness near the closest switch. Whether there is a switch follows from the measurements alone, so the losses of these
// resamples decide it: see prune. The place of a switch changes from run to run. So for the interval, all estimates also
// move by a random luck of the next run, and the partition is repeated.
type bootstrap struct {
	segments []Segment // of the fit that is resampled
	curves   *Curves
	twin     twinStudy
	history  *history
	rough    []deviation // by segments, at the switch at the lower edge
	between  []spread    // by segments: how the log-ratio differs from run to run
	nearest  []int       // by sizes, the segment with the nearest lower edge
	rng      *rand.Rand

	draws  [][]draw      // by runs and sizes
	tables [][][]float64 // losses of the present resample, by runs, implementations and sizes
	offs   [][][]float64 // deviations of the runs from their mean, by runs, implementations and sizes
	loss   [][]float64   // of all runs together

	losses [][][]float64 // of every resample, without the luck of the next run
	again  [][]Segment   // of every resample, with the luck of the next run
}

// draw holds what a resample draws from at one size of a run.
type draw struct {
	visits [][2]int  // index of the first block of each visit and of the one after its last
	ranks  []ranking // by implementations
	times  []int     // how often each block is in the present resample
	left   float64   // share of the twin's shift that remains after this number of visits
}

// prepare makes the draws of the sizes, and tables for the losses of a resample.
func (b *bootstrap) prepare() {
	implementations := len(b.curves.Implementations)
	b.loss = newTable(implementations, len(b.curves.Sizes))
	if len(b.history.runs) > 1 {
		b.offs = b.history.pool.deviations(b.history.losses, implementations)
	}
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

// resample makes a number of resamples. withinRun leaves out the luck of the next run.
func (b *bootstrap) resample(resamples int, withinRun bool) {
	runs := float64(len(b.history.runs))
	for range resamples {
		b.drawBlocks()
		b.history.pool.join(b.tables, b.loss)
		b.moveSizes()
		if runs > 1 {
			b.moveRuns(1 / math.Sqrt(runs)) // the deviation of their mean
		}
		b.losses = append(b.losses, cloneTable(b.loss))
		if !withinRun {
			b.moveRuns(1)
		}
		stretches := partition(b.loss, b.curves.Sizes, b.history.band(b.twin))
		b.again = append(b.again, segments(stretches, b.curves, b.loss))
	}
}

func cloneTable(table [][]float64) [][]float64 {
	out := make([][]float64, len(table))
	for i := range table {
		out[i] = slices.Clone(table[i])
	}
	return out
}

// drawBlocks sets the losses of the runs to those of a resample, which has as many blocks of each visit as the visit. Each
// estimate also moves by the luck of its visits.
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

// moveSizes moves each estimate by a random roughness of its curve.
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
			b.loss[i][s] += roughs[n] / math.Sqrt2 * b.rng.NormFloat64() // both sides of a log-ratio move
		}
		subtractLeast(b.loss, s)
	}
}

// moveRuns moves all estimates by a random luck of a run, times share. A run is off by a random mixture of how far the runs
// of the case are off their mean, curve by curve: curves of runs agree at some sizes and differ at others, and a threshold
// between sizes at which they agree stays where it is. To this the prior adds an amount for each switch and implementation,
// which is the same at all sizes near the switch.
func (b *bootstrap) moveRuns(share float64) {
	mixture := make([]float64, len(b.offs))
	for r := range mixture {
		mixture[r] = b.rng.NormFloat64()
	}
	lucks := newTable(len(b.segments), len(b.loss)) // by segments and implementations
	owns := make([]float64, len(b.segments))
	for n := range lucks {
		own, known := b.between[n].draw(b.rng)
		owns[n] = share * own
		for i := range lucks[n] {
			lucks[n][i] = share * known / math.Sqrt2 * b.rng.NormFloat64() // both sides of a log-ratio move
		}
	}
	for s, n := range b.nearest {
		for i, luck := range lucks[n] {
			b.loss[i][s] += luck
			for r, weight := range mixture {
				b.loss[i][s] += owns[n] * weight * b.offs[r][i][s]
			}
		}
		subtractLeast(b.loss, s)
	}
}

// interval sets the interval of the lower edge of the n-th segment. The edge is below the interval in as many resamples as
// above it, with Confidence of the resamples inside.
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

// standIns returns, by stretches and implementations, which implementations may stand for the chosen one: itself, and those
// that are slower by at most the tie band in the mean. A resample may prefer either of two tied implementations. That says
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

// sameSwitch returns the edge in another fit of the switch that stands for the n-th one of segs, or NaN if there is none.
// That switch is between the same two implementations, or stand-ins of them. It is nearer to the n-th one than to any other
// such switch of segs, and it is the nearest of those. Winners may change several times between the same two
// implementations, and a switch that the other fit lacks must not be taken for another one.
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

// nearestSwitch returns the segment with the lower edge nearest to a size.
func nearestSwitch(segs []Segment, size int) int {
	nearest, distance := 0, math.Inf(1)
	for n := 1; n < len(segs); n++ {
		if d := math.Abs(math.Log(float64(size) / segs[n].edge)); d < distance {
			nearest, distance = n, d
		}
	}
	return nearest
}

// visitRanges returns the index of the first block of each visit and of the one after its last. Blocks of a visit follow one
// another.
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

// visitsOf returns the number of visits of a group's blocks.
func visitsOf(g group) int {
	seen := map[int]bool{}
	for _, b := range g.blocks {
		seen[b.Visit] = true
	}
	return len(seen)
}
