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
// time to visit it after its rungs. So the next run measures it first, if no run has. A cascade of filters on eight channels took 1.7 times
// as long as it could, because three runs had measured 4 channels, which are not divided, and 9, which are divided badly.

// guide finds the sides of the thresholds that earlier runs know to be in a wide gap, the sizes at which loops begin to be divided, and
// the shift of a wide grid.
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
			low = float64(first) // below it the two sides are one program
		}
		gap := math.Log(float64(curves.Sizes[above]) / low)
		if gap <= slack*wideGap {
			continue
		}
		// A threshold that is interpolated over a wide gap is mostly within a quarter of it.
		p.sides = append(p.sides, p.nearest(max(low, s.edge*math.Exp(-gap/4))), p.nearest(s.edge*math.Exp(gap/4)))
	}
	for _, first := range curves.divides {
		if curves.jumpsAt(first) {
			p.sides = append(p.sides, p.nearest(float64(first)))
		}
	}
	slices.Sort(p.sides)
	p.sides = slices.Compact(p.sides)
	if math.Log(p.ratio) > slack*wideGap {
		p.shift = p.farthest(curves.Sizes)
	}
}

// jumpsAt reports whether a loop begins to be divided at a size that is between two measured ones, and that the greater one does not
// speak for.
func (c *Curves) jumpsAt(first int) bool {
	above, measured := slices.BinarySearch(c.Sizes, first)
	return !measured && above > 0 && above < len(c.Sizes) && float64(c.Sizes[above]) > sameJump*float64(first)
}

// sameJump is the factor up to which a measured size speaks for the size at which a loop begins to be divided.
const sameJump = 1.1

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

// besideSide reports whether a size is so near a side of a threshold that a rung there says nothing more.
func (p *Planner) besideSide(size int) bool {
	return slices.ContainsFunc(p.sides, func(side int) bool {
		return math.Abs(math.Log(float64(size)/float64(side))) < math.Log(p.ratio)/4
	})
}

// sidesFirst returns sizes in another order: the least one, which is cheap and shows what a visit costs, then the sides of
// thresholds, and then the others in their order.
func (p *Planner) sidesFirst(sizes []int) []int {
	isSide := func(size int) bool { return slices.Contains(p.sides, size) && size != p.low }
	order := append([]int{p.low}, slices.DeleteFunc(slices.Clone(p.sides), func(size int) bool { return !isSide(size) })...)
	for _, size := range sizes {
		if size != p.low && !isSide(size) {
			order = append(order, size)
		}
	}
	return order
}
