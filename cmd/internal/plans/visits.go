package plans

import (
	"slices"

	"crossover/timings"
)

const (
	// mostVisits is the greatest number of new visits of a row. After that, an unsettled row stays undecided. On a disturbed
	// machine most visits to a size may leave no block, so there are mostTries of them.
	mostVisits = 4 * LeastVisits
	mostTries  = 4 * mostVisits
	// leastVisit is about the number of seconds of a visit outside of its batches.
	leastVisit = 0.02
)

// visits is the planner of a pair. It visits every size until its row is settled. Rows that are cheap or nearly settled come
// first, because with a short budget a few settled rows are worth more than many unfinished ones.
type visits struct {
	blocks int // in a visit to a size whose blocks are short
	sizes  []int
	tried  map[int]int
	worths map[int]float64 // worth of a visit to each size; nil after a visit, because a visit changes them
	long   map[int]bool    // sizes whose blocks are long

	earlier map[int]Row // what an earlier comparison found, by sizes
}

func newVisits(sizes []int, blocks int, earlier map[int]Row) *visits {
	perVisit := (blocks + LeastVisits - 1) / LeastVisits
	return &visits{blocks: perVisit, sizes: slices.Clone(sizes), tried: map[int]int{}, long: map[int]bool{}, earlier: earlier}
}

// Next returns the size with the most valuable next visit. A row with too few visits is worth more than a row that can be
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
	if v.long[size] {
		return size, 1, worth
	}
	return size, v.blocks, worth
}

func (v *visits) worth(set *timings.Set, size int) float64 {
	earlier := v.earlier[size]
	if earlier.settled() {
		return 0
	}
	m := measured(set, size, earlier)
	v.long[size] = m.long()
	found := m.finding()
	if found == Inside || found == Outside || len(m.ratios)-len(earlier.Ratios) >= mostVisits || v.tried[size] >= mostTries {
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

// Doubted starts counting the visits to a size anew.
func (v *visits) Doubted(size int) {
	delete(v.tried, size)
	v.worths = nil
}

// Limit removes sizes above high.
func (v *visits) Limit(high int) {
	v.sizes = slices.DeleteFunc(v.sizes, func(size int) bool { return size > high })
}
