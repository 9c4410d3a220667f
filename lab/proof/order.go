package proof

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"crossover/kernels"
)

// noInput is the input of modelled implementations, which need none.
var noInput kernels.Input

// quantile returns the p-quantile of values, or NaN if there are none.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return stat.Quantile(p, stat.Empirical, sorted, nil)
}

func median(values []float64) float64 { return quantile(values, 0.5) }
