package thresholds

import (
	"math"
	"slices"

	"crossover/timings"
)

// Earlier runs of a case say where its thresholds are about. If the grid is wide, as beside a GPU, a run that measures the same
// sizes again says nothing new of where between two of them a threshold is. So the next run measures both sides of such a
// threshold first, each time closer to it, and its other sizes are between those of earlier runs. That ends at a gap of wideGap.
// Closer to a threshold, two implementations differ by less than runs do, and a threshold by two such sizes is worth less than
// one by two sizes farther away. On two cores, five runs began as near to each threshold as noise may move it, and their thresholds
// differed more than those of runs that all had the same rungs: see docs/evidence.md.
//
// Where a loop begins to be divided among cores, times may jump. Earlier runs know that size, and a run of three minutes seldom has the
// time to visit it after its rungs. So the next run measures it right after the least size, if no run has measured it or a size just above
// it. A cascade of filters on six channels took 1.7 times as long as it could, because three runs had measured 4 channels, which are not
// divided, and 9, which are divided badly.

// guide finds the sides of the thresholds that earlier runs know to be in a wide gap, the sizes at which loops begin to be divided and
// that no run has measured, and the shift of a wide grid.
func (p *Planner) guide(earlier []*timings.Set) {
	h := newHistory(earlier)
	curves := h.curves()
	if len(curves.Sizes) == 0 {
		return
	}
	stretches := partition(curves.Loss, curves.Sizes, h.band(studyTwin(h.groups())))
	for n, s := range segments(stretches, &curves, curves.Loss) {
		if n == 0 {
			continue // the first one has no threshold
		}
		above := stretches[n].from
		low := float64(curves.Sizes[above-1])
		if first := curves.firstDivided(curves.Loss, s.Implementation, above-1); first > 0 {
			low = float64(first) // below it the implementation above divides nothing, and is its counterpart
		}
		gap := math.Log(float64(curves.Sizes[above]) / low)
		if gap <= slack*wideGap {
			continue
		}
		// A threshold that is interpolated over a wide gap is mostly within a quarter of it.
		p.sides = append(p.sides, p.nearest(max(low, s.edge*math.Exp(-gap/4))), p.nearest(s.edge*math.Exp(gap/4)))
	}
	for i := range curves.divides {
		if size, ok := p.unmeasuredDivision(&curves, i); ok {
			p.divisions = append(p.divisions, size)
		}
	}
	if math.Log(p.ratio) > slack*wideGap {
		p.shift = p.farthest(curves.Sizes)
	}
}

// unmeasuredDivision returns the size at which implementation i begins to divide calls, if that is to be measured. It is not if i was
// timed there or just above it, or is far behind at the next size at which it was timed, or if the operation does not take such a size.
func (p *Planner) unmeasuredDivision(c *Curves, i int) (int, bool) {
	first := c.divides[i]
	size := p.nearest(float64(first))
	if first == 0 || size < first || size <= p.low || float64(size) > besideDivision*float64(first) || c.Sizes[0] >= first {
		return 0, false
	}
	for s, timed := range c.Sizes {
		if loss := c.Loss[i][s]; timed >= first && !math.IsInf(loss, 1) {
			return size, float64(timed) > besideDivision*float64(first) && loss < math.Log(hopelesslyBehind)
		}
	}
	return 0, false
}

const (
	// besideDivision is the factor up to which a greater size speaks for the one at which a loop begins to be divided. It is as small as
	// that of sizes that are close enough around a threshold.
	besideDivision = 1.1
	// hopelesslyBehind is how many times as long as the fastest an implementation takes that is not worth a size of its own.
	hopelesslyBehind = 4
)

// slack is the factor by which a gap may be wider than wideGap and not count as wide, because rungs are rounded.
const slack = 1.1

// shifts is the number of shifts of a grid that are compared.
const shifts = 8

// farthest returns the shift of the grid, as a share of a rung, at which its inner sizes are farthest from measured ones in the mean.
func (p *Planner) farthest(measured []int) float64 {
	best, most := 0.0, -1.0
	for k := range shifts {
		shift := float64(k) / shifts
		grid, sum := p.geometric(shift), 0.0
		for _, size := range grid[1:max(len(grid)-1, 1)] {
			nearest := math.Inf(1)
			for _, m := range measured {
				nearest = min(nearest, math.Abs(math.Log(float64(size)/float64(m))))
			}
			sum += nearest / float64(len(grid)-2)
		}
		if sum > most {
			best, most = shift, sum
		}
	}
	return best
}

// beside reports whether a size is so near a side of a threshold, or a size at which a loop begins to be divided, that a rung there says
// nothing more.
func (p *Planner) beside(size int) bool {
	near := func(factor float64) func(int) bool {
		return func(side int) bool { return math.Abs(math.Log(float64(size)/float64(side))) < math.Log(factor) }
	}
	return slices.ContainsFunc(p.sides, near(math.Sqrt(math.Sqrt(p.ratio)))) || slices.ContainsFunc(p.divisions, near(besideDivision))
}

// early returns the sizes that earlier runs make worth a visit, ascending. Of two that are close to each other it has the greater one.
func (p *Planner) early() []int {
	all := slices.Concat(p.sides, p.divisions)
	slices.Sort(all)
	var out []int
	for k, size := range all {
		if k+1 == len(all) || float64(all[k+1]) > besideDivision*float64(size) {
			out = append(out, size)
		}
	}
	return out
}

// earlyFirst returns sizes in another order: the least one, which is cheap and shows what a visit costs, then the early ones, and then
// the others in their order. If an early one is more than a large step above the one before it, rungs in between come first.
func (p *Planner) earlyFirst(sizes []int, work func(size int) float64) []int {
	order := []int{p.low}
	for _, size := range p.early() {
		for work != nil && work(size)/work(order[len(order)-1]) > largeStep {
			bridge := 0
			for _, rung := range sizes {
				if rung > max(order[len(order)-1], bridge) && rung < size && work(rung) <= largeStep*work(order[len(order)-1]) {
					bridge = rung
				}
			}
			if bridge == 0 {
				break
			}
			order = append(order, bridge)
		}
		if size > order[len(order)-1] {
			order = append(order, size)
		}
	}
	for _, size := range sizes {
		if !slices.Contains(order, size) {
			order = append(order, size)
		}
	}
	return order
}
