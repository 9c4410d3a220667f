// Package ffttest makes samples and their exact transforms, for the tests of package fft and of the packages below it.
package ffttest

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/fft/double"
)

// Noise returns n samples, always the same for an n.
func Noise(n int) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, uint64(n))
	return x
}

// ComplexNoise returns n complex values, always the same for an n.
func ComplexNoise(n int) []complex64 {
	x := make([]complex64, n)
	kernels.Noise(kernels.ComplexWords(x), uint64(n))
	return x
}

// Definition returns bins 0 to n−1 of the transform of x by the formula, in float64. n is len(x).
func Definition(x []complex64) []complex128 {
	n := len(x)
	bins := make([]complex128, n)
	for k := range bins {
		for j, v := range x {
			bins[k] += complex128(v) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
		}
	}
	return bins
}

// Complex returns the transforms of rows of n values in float64, as real and imaginary parts. Inverse transforms are divided
// by n.
func Complex(x []complex64, n int, inverse bool) []float64 {
	var out []float64
	row, bins := make([]complex128, n), make([]complex128, n)
	for values := range slices.Chunk(x, n) {
		for i, v := range values {
			row[i] = complex128(v)
			if inverse {
				row[i] = cmplx.Conj(row[i]) / complex(float64(n), 0)
			}
		}
		double.Transform(bins, row)
		for _, b := range bins {
			if inverse {
				b = cmplx.Conj(b)
			}
			out = append(out, real(b), imag(b))
		}
	}
	return out
}

// Real returns bins 0 to n/2 of the transforms of rows of n samples in float64, as real and imaginary parts.
func Real(x []float32, n int) []float64 {
	values := make([]complex64, len(x))
	for i, v := range x {
		values[i] = complex(v, 0)
	}
	var out []float64
	for row := range slices.Chunk(Complex(values, n, false), 2*n) {
		out = append(out, row[:2*(n/2+1)]...)
	}
	return out
}

// Parts returns the real and imaginary parts of complex values.
func Parts(x []complex128) []float64 {
	out := make([]float64, 0, 2*len(x))
	for _, v := range x {
		out = append(out, real(v), imag(v))
	}
	return out
}

// Widen returns samples in float64.
func Widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// Expect fails a test if the relative error of got is above the tolerance.
func Expect(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if e := kernels.RelativeError(got, want); e > tolerance {
		t.Errorf("%s: relative error %.2g, want at most %.2g", what, e, tolerance)
	}
}
