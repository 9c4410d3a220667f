package thresholds

import "math"

// tieWeight is what a loss inside the tie band counts. It is enough to choose between implementations that differ by less,
// and too little to pay for a switch with noise.
const tieWeight = 0.05

// switchPrice is the price of a switch in tie bands. It exceeds 1, so that no gain that is itself a tie pays for
// a switch.
const switchPrice = 1.25

// stretch is a maximal range of measured sizes with one implementation: groups[from:to].
type stretch struct {
	implementation int
	from, to       int
}

// partition returns the stretches of the cheapest path, with settled boundaries and without bumps, and the sizes, by index,
// that were bumps. loss is implementations × sizes, +Inf where nothing was measured. band is the tie band as a log-ratio.
func partition(loss [][]float64, sizes []int, band float64) (stretches []stretch, bumps []int) {
	if len(loss) == 0 || len(loss[0]) == 0 {
		return nil, nil
	}
	for s, i := range cheapestPath(loss, band) {
		if len(stretches) > 0 && stretches[len(stretches)-1].implementation == i {
			stretches[len(stretches)-1].to = s + 1
			continue
		}
		stretches = append(stretches, stretch{implementation: i, from: s, to: s + 1})
	}
	return withoutBumps(settle(stretches, loss), loss, sizes)
}

// weighted is what a loss costs on a path.
func weighted(loss, band float64) float64 {
	if loss > band {
		return loss
	}
	return tieWeight * loss
}

// cheapestPath returns the implementation at each size that minimises the summed weighted loss plus the price of the
// switches.
func cheapestPath(loss [][]float64, band float64) []int {
	implementations, sizes := len(loss), len(loss[0])

	// total[i] is the cost of the best choice for sizes 0..s that ends in implementation i; origin is sizes ×
	// implementations, row-major, and has the implementation at s−1 on that path.
	total := make([]float64, implementations)
	next := make([]float64, implementations)
	origin := make([]int, sizes*implementations)
	for i := range total {
		total[i] = weighted(loss[i][0], band)
	}
	for s := 1; s < sizes; s++ {
		best := 0
		for i := range total {
			if total[i] < total[best] {
				best = i
			}
		}
		for i := range total {
			from, cost := i, total[i]
			if switched := total[best] + switchPrice*band; switched < cost {
				from, cost = best, switched
			}
			origin[s*implementations+i] = from
			next[i] = cost + weighted(loss[i][s], band)
		}
		total, next = next, total
	}
	last := 0
	for i := range total {
		if total[i] < total[last] {
			last = i
		}
	}
	path := make([]int, sizes)
	path[sizes-1] = last
	for s := sizes - 1; s > 0; s-- {
		path[s-1] = origin[s*implementations+path[s]]
	}
	return path
}

// settle moves the boundary between each two neighbouring stretches to where their summed loss, ties included, is least.
// Inside the tie band the path hardly cares where it switches, and an edge should stand where the sign changes.
func settle(stretches []stretch, loss [][]float64) []stretch {
	for r := 1; r < len(stretches); r++ {
		left, right := &stretches[r-1], &stretches[r]
		i, j := left.implementation, right.implementation
		// cost of the cut after each size, by moving it from the left end to the right one.
		cost, least, cut := 0.0, math.Inf(1), left.to
		for s := left.from; s < right.to; s++ {
			if s > left.from && cost < least-1e-12 {
				least, cut = cost, s
			}
			if d := loss[i][s] - loss[j][s]; !math.IsNaN(d) {
				cost += max(min(d, 1e3), -1e3)
			}
		}
		left.to, right.from = cut, cut
	}
	return stretches
}

// alone reports whether a stretch has a single size.
func (r stretch) alone() bool { return r.to-r.from == 1 }

// A stretch of a single size also claims the sizes around it, of which none was measured. There are two guesses about
// those. They may be like the measured one. Or the measured one is a bump, a length that suits one implementation, and the
// others are on the line through its neighbours. The samples do not say which, so the stretch must win in the mean of the
// two guesses. Where smooth curves cross it does, because the line leads there. Where it does not, a threshold would
// describe the one size and be wrong for the sizes that were not measured.

// withoutBumps gives each unconvincing stretch of a single size to the neighbour that loses less there. bumps are those
// sizes, by index.
func withoutBumps(stretches []stretch, loss [][]float64, sizes []int) (kept []stretch, bumps []int) {
	for n := range stretches {
		r, last := stretches[n], len(kept)-1
		if last >= 0 && kept[last].implementation == r.implementation {
			kept[last].to = r.to // what stood between the two was a bump
			continue
		}
		var heir *stretch
		if last >= 0 {
			heir = &kept[last]
		}
		if n+1 < len(stretches) && (heir == nil || loss[stretches[n+1].implementation][r.from] < loss[heir.implementation][r.from]) {
			heir = &stretches[n+1]
		}
		if heir == nil || !isBump(r, heir.implementation, loss, sizes) {
			kept = append(kept, r)
			continue
		}
		heir.from, heir.to = min(heir.from, r.from), max(heir.to, r.to)
		bumps = append(bumps, r.from)
	}
	return kept, bumps
}

// isBump reports whether a stretch is of a single size and does not convince against the other implementation. Where no
// whole number lies between the size and its neighbours, the stretch claims nothing that was not measured. Where the
// neighbours are too far away, there is no line. Both are no bumps.
func isBump(r stretch, other int, loss [][]float64, sizes []int) bool {
	k := r.from
	first, last := max(k-1, 0), min(k+1, len(sizes)-1)
	if !r.alone() || sizes[last]-sizes[first] == last-first {
		return false
	}
	below, above, ok := neighbours(k, sizes)
	if !ok {
		return false
	}
	gain := func(s int) float64 { return loss[other][s] - loss[r.implementation][s] }
	x := func(s int) float64 { return math.Log(float64(sizes[s])) }
	t := (x(k) - x(below)) / (x(above) - x(below))
	return gain(k)+(1-t)*gain(below)+t*gain(above) <= 0
}

// bends is how far apart two sizes may be for a line between them: smooth curves bend over a wider range.
const bends = 1.5

// neighbours returns two sizes, by index, whose line says what to expect at the k-th. They are the ones on either side of
// it. At an end of the range they are the next size and the furthest one within bends, because the errors of two sizes
// that are close together tilt the line. neighbours reports false where there are none within bends.
func neighbours(k int, sizes []int) (below, above int, ok bool) {
	within := func(low, high int) bool { return float64(sizes[high]) <= bends*float64(sizes[low]) }
	last := len(sizes) - 1
	switch k {
	case 0:
		below, above = 1, last
		for above > below && !within(0, above) {
			above--
		}
		return below, above, above > below
	case last:
		below, above = 0, last-1
		for below < above && !within(below, last) {
			below++
		}
		return below, above, below < above
	}
	return k - 1, k + 1, within(k-1, k+1)
}
