package fft

import (
	"math"
	"slices"

	"crossover/kernels"
	"crossover/kernels/fft/double"
)

// Reference returns bins 0 to n/2 of the unscaled transform of x in float64, where n is len(x). Bin 0 is real, and so is bin
// n/2 for even n. If x is empty, it returns nil.
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

// referenceOfRows returns the real and imaginary parts of the bins of all rows. If a sample is infinite, a bin is infinite
// or NaN, depending on the algorithm. Here it is infinite, or NaN if the row has a NaN.
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
				bin = complex(sum, sum) // +Inf, or NaN if the row has a NaN
			}
			out = append(out, real(bin), imag(bin))
		}
	}
	return out
}
