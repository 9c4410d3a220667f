package crossover

import (
	"math"
)

// tieWeight is what a loss inside the tie band counts: enough to choose between implementations that differ by less,
// too little to buy a switch with noise.
const tieWeight = 0.05

// switchPrice is the price of a switch in tie bands. It exceeds 1, so that no switch is bought by a gain that is
// itself a tie.
const switchPrice = 1.25

// run is a maximal range of measured sizes with one implementation: groups[from:to].
type run struct {
	implementation int
	from, to       int
}

// partition returns the runs of the cheapest path, their boundaries settled. loss is implementations × sizes, +Inf where
// nothing was measured; band is the tie band as a log-ratio.
func partition(loss [][]float64, band float64) []run {
	if len(loss) == 0 || len(loss[0]) == 0 {
		return nil
	}
	var runs []run
	for s, i := range cheapestPath(loss, band) {
		if len(runs) > 0 && runs[len(runs)-1].implementation == i {
			runs[len(runs)-1].to = s + 1
			continue
		}
		runs = append(runs, run{implementation: i, from: s, to: s + 1})
	}
	return settle(runs, loss)
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

// settle moves the boundary between each two neighbouring runs to where the summed loss of the two, ties included, is
// least: inside the tie band the dynamic program hardly cares, and an edge should stand where the sign changes.
func settle(runs []run, loss [][]float64) []run {
	for r := 1; r < len(runs); r++ {
		left, right := &runs[r-1], &runs[r]
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
	return runs
}

// edge returns the size at which the log-ratio of implementations i (below) and j (above) is zero, by linear
// interpolation in log-size between two neighbouring measured sizes; their geometric mean where the sign does not
// change. Where one of the two was not measured on the other's side, the edge is its own last size: it may not be able
// to run any further.
func edge(loss [][]float64, i, j, below, above int, sizes []int) float64 {
	x0, x1 := math.Log(float64(sizes[below])), math.Log(float64(sizes[above]))
	d0, d1 := loss[i][below]-loss[j][below], loss[i][above]-loss[j][above]
	t := d0 / (d0 - d1)
	switch {
	case math.IsInf(d1, 1):
		t = 0
	case math.IsInf(d0, -1):
		t = 1
	case !(d0 <= 0 && d1 >= 0) || math.IsNaN(t):
		t = 0.5
	}
	return math.Exp(x0 + t*(x1-x0))
}
