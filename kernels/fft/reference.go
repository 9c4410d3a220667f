package fft

import (
	"math"
	"slices"

	"crossover/kernels"
	"crossover/kernels/fft/double"
	"crossover/kernels/fft/transform"
)

// Reference returns bins 0 to n/2 of the unscaled transform of x in float64, where n is len(x). Bin 0 is real, and so is bin
// n/2 for even n. If x is empty, it returns nil.
func Reference(x []float32) []complex128 {
	if len(x) == 0 {
		return nil
	}
	return reference(x, double.New(len(x)))
}

// reference is Reference by a function of double for rows of len(x) values.
func reference(x []float32, forward func(dst, x []complex128)) []complex128 {
	n := len(x)
	samples, bins := make([]complex128, n), make([]complex128, n)
	for i, v := range x {
		samples[i] = complex(float64(v), 0)
	}
	forward(bins, samples)
	bins[0] = complex(real(bins[0]), 0)
	if n%2 == 0 {
		bins[n/2] = complex(real(bins[n/2]), 0)
	}
	return bins[:n/2+1]
}

// referenceOfReal returns the real and imaginary parts of the bins of real rows.
func referenceOfReal(r rows, x []float32) (out []float64) {
	forward := double.New(r.n)
	for row := range slices.Chunk(x, r.n) {
		out = appendParts(out, reference(row, forward), spoilt(row))
	}
	return out
}

// referenceOfBins returns the real rows of which x has the bins 0 to n/2. It takes no notice of the imaginary parts of bin 0
// and of bin n/2 of an even n.
func referenceOfBins(r rows, x []float32) (out []float64) {
	n := r.n
	forward, bins, samples := double.New(n), make([]complex128, n), make([]complex128, n)
	for row := range slices.Chunk(x, 2*(n/2+1)) {
		row = slices.Clone(row)
		row[1] = 0
		if n%2 == 0 {
			row[n+1] = 0
		}
		// The transform of the conjugate is the conjugate of the inverse, times n. Here it is real.
		for k := range n/2 + 1 {
			bins[k] = complex(float64(row[2*k]), -float64(row[2*k+1]))
			if k > 0 {
				bins[n-k] = complex(float64(row[2*k]), float64(row[2*k+1]))
			}
		}
		forward(samples, bins)
		infinity := spoilt(row)
		for _, v := range samples {
			sample := real(v) / float64(n)
			if infinity != 0 {
				sample = infinity
			}
			out = append(out, sample)
		}
	}
	return out
}

// referenceOfComplex returns the real and imaginary parts of the transforms of complex rows, or of the inverse ones.
func referenceOfComplex(r rows, x []float32) (out []float64) {
	sign, scale := 1.0, complex(1, 0)
	if r.inverse {
		sign, scale = -1, complex(1/float64(r.n), 0)
	}
	forward, values, transformed := double.New(r.n), make([]complex128, r.n), make([]complex128, r.n)
	for row := range slices.Chunk(x, 2*r.n) {
		for i := range values {
			values[i] = complex(float64(row[2*i]), sign*float64(row[2*i+1]))
		}
		forward(transformed, values)
		for i, v := range transformed {
			transformed[i] = complex(real(v), sign*imag(v)) * scale
		}
		out = appendParts(out, transformed, spoilt(row))
	}
	return out
}

// spoilt returns 0 for a row of finite values. If a value is infinite, a result is infinite or NaN, depending on the
// algorithm. Then spoilt returns what stands for all results of the row: an infinity, or a NaN if the row has a NaN.
func spoilt(row []float32) float64 {
	infinite, sum := false, 0.0
	for _, v := range row {
		infinite = infinite || math.IsInf(float64(v), 0)
		sum += math.Abs(float64(v))
	}
	if !infinite {
		return 0
	}
	return sum
}

// appendParts appends the parts of values, or infinity in place of each if that is not 0.
func appendParts(out []float64, values []complex128, infinity float64) []float64 {
	for _, v := range values {
		if infinity != 0 {
			v = complex(infinity, infinity)
		}
		out = append(out, real(v), imag(v))
	}
	return out
}

// fillBins fills x with the bins of successive rows of n samples of a recording.
func fillBins(n int, in kernels.Input, x []float32) {
	words := 2 * (n/2 + 1)
	samples := make([]float32, len(x)/words*n)
	in.Fill(samples)
	t := transform.NewReal(n)
	for row := range slices.Chunk(x, words) {
		t.Forward(kernels.Complex(row), samples[:n])
		samples = samples[n:]
	}
}
