package thresholds

import (
	"math"

	"crossover/timings"
)

// The mean loss of an audit must not depend on which sizes seemed slow. Sizes with a high first look get more looks, and
// then the first look does not count. If low first looks counted nevertheless, the mean would be too low. So the mean is
// over the first looks at all drawn sizes, and over the second looks once every size has one, whatever these looks say. In a
// look, the choice is compared with the implementation that the other looks pick, there and nearby. If a look picked it, its
// own time would look too small.

// seen is a look at a size.
type seen struct {
	size   int
	number int         // 0 for the first look at the size
	logs   [][]float64 // log-ratios of its blocks
	middle []float64   // their medians, by implementations
}

// looks returns the looks at all visited sizes, ordered by sizes.
func (a *Auditor) looks(set *timings.Set) []seen {
	var all []seen
	for _, size := range a.sizes {
		g := groupAt(set, size)
		first := a.first.part(g)
		if first == 0 {
			first = len(g.logs)
		}
		from := 0
		add := func(number, to int) {
			if to > from {
				all = append(all, seen{size, number, g.logs[from:to], middles(g.logs[from:to])})
				from = to
			}
		}
		add(0, first)
		number := 1
		for n := first + 1; n <= len(g.logs); n++ {
			if n == len(g.logs) || g.blocks[n].Visit != g.blocks[n-1].Visit {
				add(number, n)
				number++
			}
		}
	}
	return all
}

// unselected returns the log-loss of the choice at each drawn size, by looks that nothing selected.
func (a *Auditor) unselected(set *timings.Set) map[int]float64 {
	looks := a.looks(set)
	last := 0
	if a.allTwice(looks) {
		last = 1
	}
	bySize := map[int][]float64{}
	for n, l := range looks {
		if !a.drawn[l.size] || l.number > last {
			continue
		}
		if loss, ok := a.lossOf(looks, n, a.chosen(set, l.size)); ok {
			bySize[l.size] = append(bySize[l.size], loss)
		}
	}
	losses := map[int]float64{}
	for size, looks := range bySize {
		for _, loss := range looks {
			losses[size] += loss / float64(len(looks))
		}
	}
	return losses
}

// allTwice reports whether all drawn sizes that the budget allows have a second look.
func (a *Auditor) allTwice(looks []seen) bool {
	most := map[int]int{}
	for _, l := range looks {
		most[l.size] = max(most[l.size], l.number)
	}
	for size, number := range most {
		if number == 0 && a.drawn[size] && size <= a.high {
			return false
		}
	}
	return true
}

// lossOf returns the log-loss of a choice in the n-th look. If no other look picks an implementation to compare with, the
// blocks of the look do, cross-fitted.
func (a *Auditor) lossOf(looks []seen, n, chosen int) (float64, bool) {
	if chosen < 0 {
		return 0, false
	}
	rival := a.rival(looks, n, chosen)
	if rival < 0 {
		return halfLoss(looks[n].logs, chosen)
	}
	var diffs []float64
	for _, logs := range looks[n].logs {
		if d := logs[chosen] - logs[rival]; !math.IsNaN(d) {
			diffs = append(diffs, d)
		}
	}
	return median(diffs), len(diffs) > 0
}

// rivalReach is the factor within which looks at other sizes help to pick the implementation to compare with.
const rivalReach = 4

// rival returns the implementation that the other looks find fastest, of those that the n-th look timed, or −1 if there is
// none. Looks at the same size keep those that are slower there by at most the tie band. Looks at all sizes nearby pick one
// of them, because at one size the luck of a visit decides between implementations that are so close.
func (a *Auditor) rival(looks []seen, n, chosen int) int {
	here := ahead(looks, n, chosen, func(size int) float64 {
		if size == looks[n].size {
			return 1
		}
		return 0
	})
	near := ahead(looks, n, chosen, func(size int) float64 {
		return 1 - math.Abs(math.Log(float64(size)/float64(looks[n].size)))/math.Log(rivalReach)
	})
	least := math.Inf(1)
	for _, x := range here {
		if x < least { // false for NaN
			least = x
		}
	}
	best := -1
	for i, x := range near {
		if here[i] > least+a.committed.band || math.IsNaN(x) || math.IsNaN(looks[n].middle[i]) {
			continue
		}
		if best < 0 || x < near[best] {
			best = i
		}
	}
	return best
}

// ahead returns the mean log-ratio of each implementation to the chosen one over all looks except the n-th, weighted by
// size. It is NaN if there are none.
func ahead(looks []seen, n, chosen int, weight func(size int) float64) []float64 {
	sums, weights := make([]float64, len(looks[n].middle)), make([]float64, len(looks[n].middle))
	for k, l := range looks {
		w := weight(l.size)
		if k == n || w <= 0 {
			continue
		}
		for i, m := range l.middle {
			if d := m - l.middle[chosen]; !math.IsNaN(d) {
				sums[i] += w * d
				weights[i] += w
			}
		}
	}
	for i := range sums {
		sums[i] /= weights[i] // 0/0 is NaN
	}
	return sums
}
