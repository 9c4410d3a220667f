package fft

import (
	"fmt"
	"math/cmplx"
	"testing"

	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
)

// TestReferenceAgainstNumPy compares the reference with arrays of numpy.fft.rfft.
func TestReferenceAgainstNumPy(t *testing.T) {
	const file = "transform/testdata/numpy.npz"
	signal := kerneltest.ReadArchived[float32](t, file, "signal")
	for _, n := range []int{64, 256, 1000, 1024, 4096, 16384} {
		want := kerneltest.ReadArchived[complex128](t, file, fmt.Sprintf("rfft_%d", n))
		var got []float32
		for _, bin := range Reference(signal[:n]) {
			got = append(got, float32(real(bin)), float32(imag(bin)))
		}
		ffttest.Expect(t, fmt.Sprintf("n=%d", n), got, ffttest.Parts(want), 1e-7)
	}
}

func TestReference(t *testing.T) {
	for _, n := range []int{1, 2, 3, 12, 30, 49, 64, 101, 210} {
		x, values := ffttest.Noise(n), make([]complex64, n)
		for i, v := range x {
			values[i] = complex(v, 0)
		}
		want, bins := ffttest.Definition(values), Reference(x)
		if len(bins) != n/2+1 || imag(bins[0]) != 0 || n%2 == 0 && imag(bins[n/2]) != 0 {
			t.Errorf("n=%d: %d bins, from %v to %v", n, len(bins), bins[0], bins[len(bins)-1])
		}
		for k, got := range bins {
			if cmplx.Abs(got-want[k]) > 1e-12 {
				t.Errorf("n=%d: bin %d is %v, want %v", n, k, got, want[k])
			}
		}
	}
	if got := Reference(nil); len(got) != 0 {
		t.Errorf("reference of nothing is %v", got)
	}
}
