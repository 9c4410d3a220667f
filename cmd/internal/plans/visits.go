package plans

import (
	"slices"

	"crossover/timings"
)

const (
	// mostVisits is how often a size is visited before it is left undecided.
	mostVisits = 4 * LeastVisits
	// leastVisit is about the seconds of a visit that are not spent in its batches.
	leastVisit = 0.02
)

// visits is the planner of a pair. It visits every size until its row is settled. Cheap rows and rows that are nearly
// settled come first: if the budget is short, a few settled rows say more than many unfinished ones.
type visits struct {
	blocks int // of a visit
	sizes  []int
	tried  map[int]int
	worths map[int]float64 // of a visit to a size; nil after each visit, which changes them
}

func newVisits(sizes []int, blocks int) *visits {
	perVisit := (blocks + LeastVisits - 1) / LeastVisits
	return &visits{blocks: perVisit, sizes: slices.Clone(sizes), tried: map[int]int{}}
}

// Next returns the size whose visit is worth most. A row that cannot be judged yet is worth more than a row that can be
// judged and is not settled.
func (v *visits) Next(set *timings.Set) (size, blocks int, worth float64) {
	if v.worths == nil {
		v.worths = map[int]float64{}
		for _, at := range v.sizes {
			v.worths[at] = v.worth(set, at)
		}
	}
	for _, at := range v.sizes {
		if v.worths[at] > worth {
			size, worth = at, v.worths[at]
		}
	}
	return size, v.blocks, worth
}

func (v *visits) worth(set *timings.Set, size int) float64 {
	m := measured(set, size)
	found := m.finding()
	if found == Inside || found == Outside || v.tried[size] >= mostVisits {
		return 0
	}
	visits := float64(len(m.ratios))
	worth := 1 + visits
	if m.enough() {
		worth = 0.1
	}
	return worth / (leastVisit + m.seconds/max(1, visits))
}

// Visited counts a visit.
func (v *visits) Visited(size int) {
	v.tried[size]++
	v.worths = nil
}

// Doubted counts the visits to a size from the start.
func (v *visits) Doubted(size int) {
	delete(v.tried, size)
	v.worths = nil
}

// Limit leaves out sizes above high.
func (v *visits) Limit(high int) {
	v.sizes = slices.DeleteFunc(v.sizes, func(size int) bool { return size > high })
}
