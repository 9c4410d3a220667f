package plots

// spread moves positions apart until they are at least gap from each other and inside [low, high]. The sum of the squared
// moves is the least possible. wanted is ascending, and [low, high] must have room for all. spread is isotonic regression by
// pooling adjacent violators (Barlow et al., "Statistical Inference under Order Restrictions", 1972).
func spread(wanted []float64, gap, low, high float64) []float64 {
	type pool struct {
		sum   float64
		count int
	}
	mean := func(p pool) float64 { return p.sum / float64(p.count) }
	var pools []pool
	for i, w := range wanted {
		// After the gaps below it are subtracted, a position must only be no lower than the one before.
		pools = append(pools, pool{w - float64(i)*gap, 1})
		for n := len(pools); n > 1 && mean(pools[n-2]) > mean(pools[n-1]); n-- {
			pools[n-2].sum += pools[n-1].sum
			pools[n-2].count += pools[n-1].count
			pools = pools[:n-1]
		}
	}
	top := high - gap*float64(len(wanted)-1)
	placed := make([]float64, 0, len(wanted))
	for _, p := range pools {
		for range p.count {
			placed = append(placed, min(max(mean(p), low), top)+gap*float64(len(placed)))
		}
	}
	return placed
}
