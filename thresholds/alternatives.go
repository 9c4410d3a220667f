package thresholds

import (
	"cmp"
	"math"
	"slices"
)

// Alternative is another implementation of a segment, with the ratio of its time to the chosen one's.
type Alternative struct {
	Implementation int
	Slowdown       float64
}

// alternatives lists the other implementations that were measured in a stretch, the best first. The order is that of the
// mean log-ratios to the chosen one.
func alternatives(loss [][]float64, r stretch) []Alternative {
	var out []Alternative
	for i := range loss {
		if i == r.implementation {
			continue
		}
		sum, count := 0.0, 0
		for s := r.from; s < r.to; s++ {
			if d := loss[i][s] - loss[r.implementation][s]; !math.IsInf(d, 0) && !math.IsNaN(d) {
				sum += d
				count++
			}
		}
		if count > 0 {
			out = append(out, Alternative{Implementation: i, Slowdown: math.Exp(sum / float64(count))})
		}
	}
	slices.SortStableFunc(out, func(a, b Alternative) int { return cmp.Compare(a.Slowdown, b.Slowdown) })
	return out
}
