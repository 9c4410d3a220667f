package thresholds

import (
	"math"
	"slices"

	"crossover/timings"
)

// Earlier runs of a case say where its thresholds are about. A run that measures the same sizes again says nothing new of where
// between two of them a threshold is, and a budget that pays for ten sizes a case ends before the planner gets there. So the
// next run measures both sides of each threshold first, each time closer to it. Where the grid is wide, its other sizes are
// between those of earlier runs.

// guide finds the sides of the thresholds that earlier runs know, and the shift of a wide grid.
func (p *Planner) guide(earlier []*timings.Set) {
	o := p.options
	o.withinRun = false
	fit, _ := divide(newHistory(earlier), o)
	sizes := fit.Curves.Sizes
	for _, s := range fit.Segments {
		if s.noise == 0 { // the first one has no threshold
			continue
		}
		above, _ := slices.BinarySearch(sizes, s.From)
		reach := p.reach(&s, math.Log(float64(sizes[above])/float64(sizes[above-1])))
		p.sides = append(p.sides, p.nearest(s.edge*math.Exp(-reach)), p.nearest(s.edge*math.Exp(reach)))
	}
	slices.Sort(p.sides)
	p.sides = slices.Compact(p.sides)
	if math.Log(p.ratio) > wideGap {
		p.shift = p.farthest(sizes)
	}
}

// leastReach is the least distance of a side from its threshold, in log-size.
var leastReach = math.Log(1.1)

// reach returns how far the sides of a threshold are from it, in log-size. That is as far as noise may move it, and at least a
// quarter of the gap between measured sizes in which it is: the two sides then halve the gap, and a threshold is mostly between
// them, because it is interpolated. Noise counts up to half a rung. Beyond that rungs are near enough.
func (p *Planner) reach(s *Segment, gap float64) float64 {
	return max(leastReach, gap/4, min(math.Log(s.noise), math.Log(p.ratio))/2)
}

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
