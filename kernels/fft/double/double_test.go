package double_test

import (
	"math"
	"math/cmplx"
	"testing"

	"crossover/kernels/fft/double"
	"crossover/kernels/fft/ffttest"
)

func TestTransform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 12, 30, 49, 61, 64, 67, 101, 134, 210, 303, 1009} {
		x := ffttest.ComplexNoise(n)
		values, bins := make([]complex128, n), make([]complex128, n)
		for i, v := range x {
			values[i] = complex128(v)
		}
		forward := double.New(n)
		forward(bins, values) // leaves nothing behind
		forward(bins, values)
		for k, want := range ffttest.Definition(x) {
			if cmplx.Abs(bins[k]-want) > 1e-12 {
				t.Errorf("n=%d: bin %d is %v, want %v", n, k, bins[k], want)
			}
		}
	}
}

// TestRoot takes every root of some lengths, also beyond one turn and of negative numbers.
func TestRoot(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 12, 100, 1009} {
		for k := -n; k <= 2*n; k++ {
			want := cmplx.Rect(1, -2*math.Pi*float64((k+n)%n)/float64(n))
			// The angle of the root that is wanted is rounded by up to half a unit in the last place of 2π.
			if got := double.Root(k, n); cmplx.Abs(got-want) > 2e-15 {
				t.Errorf("root %d of %d is %v, want %v", k, n, got, want)
			}
		}
	}
	// Roots at quarter turns are exact.
	for k, want := range []complex128{1, -1i, -1, 1i} {
		if got := double.Root(3*k, 12); got != want {
			t.Errorf("root %d of 12 is %v, want %v", 3*k, got, want)
		}
	}
}
