package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
)

// TestReferenceAgainstNumPy compares the reference with arrays of numpy.fft.rfft.
func TestReferenceAgainstNumPy(t *testing.T) {
	const file = "transform/testdata/numpy.npz"
	signal := kerneltest.Signal(16384)
	for _, n := range []int{64, 256, 1000, 1024, 4096, 16384} {
		var want []complex128
		for _, bin := range kerneltest.ReadArchived[complex64](t, file, fmt.Sprintf("rfft_%d", n)) {
			want = append(want, complex128(bin))
		}
		var got []float32
		for _, bin := range Reference(signal[:n]) {
			got = append(got, float32(real(bin)), float32(imag(bin)))
		}
		ffttest.Expect(t, fmt.Sprintf("n=%d", n), got, ffttest.Parts(want), 1e-7)

		// The inverse of NumPy's bins, in float32, is the signal. The complex transform of the signal has the bins and their
		// conjugates.
		var bins, values []float32
		for _, v := range ffttest.Parts(want) {
			bins = append(bins, float32(v))
		}
		for _, v := range signal[:n] {
			values = append(values, v, 0)
		}
		ffttest.Expect(t, fmt.Sprintf("n=%d, inverse", n), signal[:n], referenceOfBins(rows{n: n, inverse: true}, bins), 1e-7)
		whole := slices.Clone(want)
		for k := n - len(want); k > 0; k-- {
			whole = append(whole, cmplx.Conj(want[k]))
		}
		got = got[:0]
		for _, v := range referenceOfComplex(rows{n: n, complex: true}, values) {
			got = append(got, float32(v))
		}
		ffttest.Expect(t, fmt.Sprintf("n=%d, complex", n), got, ffttest.Parts(whole), 1e-7)
		ffttest.Expect(t, fmt.Sprintf("n=%d, complex inverse", n), values,
			referenceOfComplex(rows{n: n, complex: true, inverse: true}, got), 1e-7)
	}
}

// TestReferenceOfComplex compares both directions with the definition.
func TestReferenceOfComplex(t *testing.T) {
	for _, n := range []int{1, 2, 9, 16, 30} {
		x := ffttest.ComplexNoise(n)
		words := kernels.ComplexWords(x)
		want := ffttest.Parts(ffttest.Definition(x))
		for i, got := range referenceOfComplex(rows{n: n, complex: true}, words) {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Fatalf("n=%d: part %d is %v, want %v", n, i, got, want[i])
			}
		}
		for i, got := range referenceOfComplex(rows{n: n, complex: true, inverse: true}, words) {
			var sum complex128
			for k, v := range x {
				sum += complex128(v) * cmplx.Rect(1/float64(n), 2*math.Pi*float64(i/2*k%n)/float64(n))
			}
			if want := [2]float64{real(sum), imag(sum)}[i%2]; math.Abs(got-want) > 1e-12 {
				t.Fatalf("n=%d, inverse: part %d is %v, want %v", n, i, got, want)
			}
		}
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
