package fft

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/kernels"
)

func BenchmarkReal(b *testing.B) {
	for _, n := range []int{64, 256, 480, 1000, 1009, 1024, 1920, 4096, 16384, 65536, 1 << 17, 1 << 18, 1 << 20} {
		x := make([]float32, n)
		kernels.Noise(x, 1)
		b.Run(fmt.Sprintf("impl=go/n=%d", n), func(b *testing.B) {
			plan, bins := NewReal(n), make([]complex64, n/2+1)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				plan.Forward(bins, x)
			}
		})
		b.Run(fmt.Sprintf("impl=gonum/n=%d", n), func(b *testing.B) {
			plan, bins, samples := fourier.NewFFT(n), make([]complex128, n/2+1), widen(x)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				plan.Coefficients(bins, samples)
			}
		})
	}
}
