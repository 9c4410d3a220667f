package thresholds

import "math"

// tieWeight is the weight of a loss inside the tie band. It is enough to choose between implementations with smaller
// differences, and too little to pay for a switch with noise.
const tieWeight = 0.05

// switchPrice is the price of a switch: a loss of a tie band over this much log-size. With this price, dropping every other
// size of the measured runs changes the number of thresholds by a few percent, see docs/method.md.
const switchPrice = 0.5

// stretch is a maximal range of measured sizes with one implementation: groups[from:to].
type stretch struct {
	implementation int
	from, to       int
}

// partition returns the stretches of the cheapest path. loss is implementations × sizes, and +Inf if an implementation was
// not measured. band is how far two losses must be apart, as a log-ratio.
func partition(loss [][]float64, sizes []int, band float64) []stretch {
	if len(loss) == 0 || len(loss[0]) == 0 {
		return nil
	}
	var stretches []stretch
	for s, i := range cheapestPath(loss, spans(sizes), band) {
		if len(stretches) > 0 && stretches[len(stretches)-1].implementation == i {
			stretches[len(stretches)-1].to = s + 1
			continue
		}
		stretches = append(stretches, stretch{implementation: i, from: s, to: s + 1})
	}
	return stretches
}

// spans returns the length in log-size that each size stands for: half the distances to its neighbours. It is 1 for a single
// size.
func spans(sizes []int) []float64 {
	out := make([]float64, len(sizes))
	for s := range out {
		low, high := max(s-1, 0), min(s+1, len(sizes)-1)
		out[s] = math.Log(float64(sizes[high])/float64(sizes[low])) / 2
	}
	if len(out) == 1 {
		out[0] = 1
	}
	return out
}

// weighted returns the cost of a loss on a path, for a span of 1.
func weighted(loss, band float64) float64 {
	if loss > band {
		return loss
	}
	return tieWeight * loss
}

// cheapestPath returns the implementation at each size that minimises the integral of the weighted loss over log-size plus
// the price of the switches.
func cheapestPath(loss [][]float64, spans []float64, band float64) []int {
	implementations, sizes := len(loss), len(loss[0])

	// total[i] is the cost of the best choice for sizes 0..s that ends in implementation i. origin is sizes ×
	// implementations, row-major, and has the implementation at s−1 on that path.
	total := make([]float64, implementations)
	next := make([]float64, implementations)
	origin := make([]int, sizes*implementations)
	for i := range total {
		total[i] = spans[0] * weighted(loss[i][0], band)
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
			next[i] = cost + spans[s]*weighted(loss[i][s], band)
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

// alone reports whether a stretch has a single size.
func (r stretch) alone() bool { return r.to-r.from == 1 }
