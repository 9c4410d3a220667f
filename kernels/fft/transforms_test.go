package fft

import (
	"fmt"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
)

// TestTransforms transforms and inverts by clones.
func TestTransforms(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30, 64} {
		x, values := ffttest.Noise(n), ffttest.ComplexNoise(n)
		bins, samples := make([]complex64, n/2+1), make([]float32, n)
		plan := NewReal(n).Clone()
		plan.Forward(bins, x)
		plan.Inverse(samples, bins)
		ffttest.Expect(t, fmt.Sprintf("bins of %d samples", n), kernels.ComplexWords(bins), ffttest.Real(x, n), 3e-7)
		ffttest.Expect(t, fmt.Sprintf("%d samples", n), samples, ffttest.Widen(x), 5e-7)
		all, back := make([]complex64, n), make([]complex64, n)
		full := NewComplex(n).Clone()
		full.Forward(all, values)
		full.Inverse(back, values)
		ffttest.Expect(t, fmt.Sprintf("%d bins", n), kernels.ComplexWords(all), ffttest.Complex(values, n, false), 3e-7)
		ffttest.Expect(t, fmt.Sprintf("%d values", n), kernels.ComplexWords(back), ffttest.Complex(values, n, true), 5e-7)
		if plan.Len() != n || full.Len() != n {
			t.Errorf("clones have lengths %d and %d, want %d", plan.Len(), full.Len(), n)
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"real length 0":        func() { NewReal(0) },
		"complex length -1":    func() { NewComplex(-1) },
		"real short dst":       func() { NewReal(8).Forward(make([]complex64, 4), make([]float32, 8)) },
		"real long src":        func() { NewReal(8).Forward(make([]complex64, 5), make([]float32, 9)) },
		"inverse short dst":    func() { NewReal(8).Inverse(make([]float32, 7), make([]complex64, 5)) },
		"complex short src":    func() { NewComplex(8).Forward(make([]complex64, 8), make([]complex64, 7)) },
		"complex inverse long": func() { NewComplex(8).Inverse(make([]complex64, 9), make([]complex64, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if message, ok := recover().(string); !ok || !strings.HasPrefix(message, "fft: ") {
					t.Errorf("the panic says %q", message)
				}
			}()
			f()
		})
	}
}

func TestFastLength(t *testing.T) {
	for n, want := range map[int]int{1: 16, 16: 16, 17: 32, 97: 128, 129: 144, 8703: 9216, 65535: 65536, 65537: 69120} {
		if got := FastLength(n); got != want {
			t.Errorf("FastLength(%d) = %d, want %d", n, got, want)
		}
	}
}
