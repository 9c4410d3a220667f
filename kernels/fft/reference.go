package fft

import (
	"math"
	"slices"

	"crossover/kernels"
	"crossover/kernels/fft/double"
)

// Reference returns bins 0 to n/2 of the transform of x, of length n, in float64. Bin 0 is real, and so is bin n/2 of an
// even n.
func Reference(x []float32) []complex128 {
	n := len(x)
	if n == 0 {
		return nil
	}
	samples, bins := make([]complex128, n), make([]complex128, n)
	for i, v := range x {
		samples[i] = complex(float64(v), 0)
	}
	double.Transform(bins, samples)
	bins[0] = complex(real(bins[0]), 0)
	if n%2 == 0 {
		bins[n/2] = complex(real(bins[n/2]), 0)
	}
	return bins[:n/2+1]
}

// referenceOfRows returns the bins of all rows as parts. Of an infinite sample every bin is infinite or no number, and
// which of the two is up to the algorithm: here they are infinite.
func referenceOfRows(p Params, _ kernels.Shape, a *kernels.Args) []float64 {
	var out []float64
	for row := range slices.Chunk(a[1], p.N) {
		infinite, sum := false, 0.0
		for _, v := range row {
			infinite = infinite || math.IsInf(float64(v), 0)
			sum += math.Abs(float64(v))
		}
		for _, bin := range Reference(row) {
			if infinite {
				bin = complex(sum, sum) // +Inf, NaN where there is one
			}
			out = append(out, real(bin), imag(bin))
		}
	}
	return out
}
