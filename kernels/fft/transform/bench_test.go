package transform

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/kernels/fft/ffttest"
	"crossover/native/fftw"
	"crossover/pool"
)

// BenchmarkReal times one forward real transform of float32 samples on one core, by this package, by gonum, which computes
// in float64, and by FFTW. benchstat -col /impl -row /n compares them.
func BenchmarkReal(b *testing.B) {
	for _, n := range []int{256, 441, 882, 1000, 1009, 1024, 1323, 1764, 2205, 4096, 4374, 27000, 65536, 1 << 20, 1062882} {
		x := ffttest.Noise(n)
		b.Run(fmt.Sprintf("impl=go/n=%d", n), func(b *testing.B) {
			plan, bins := NewReal(n), make([]complex64, n/2+1)
			for b.Loop() {
				plan.Forward(bins, x)
			}
		})
		b.Run(fmt.Sprintf("impl=gonum/n=%d", n), func(b *testing.B) {
			plan, bins, samples := fourier.NewFFT(n), make([]complex128, n/2+1), ffttest.Widen(x)
			for b.Loop() {
				plan.Coefficients(bins, samples)
			}
		})
		b.Run(fmt.Sprintf("impl=fftw/n=%d", n), func(b *testing.B) {
			plan, err := fftw.NewReal(n, 1, 1)
			if err != nil {
				b.Skip(err)
			}
			defer plan.Close()
			bins := make([]complex64, n/2+1)
			for b.Loop() {
				plan.Forward(bins, x)
			}
		})
	}
}

// BenchmarkComplexSplit is BenchmarkSplit for complex values.
func BenchmarkComplexSplit(b *testing.B) {
	for _, n := range []int{1 << 15, 43740, 58320, 1 << 16, 75000, 1 << 17, 1 << 18} {
		x, bins := ffttest.ComplexNoise(n), make([]complex64, n)
		for name, plan := range map[string]ComplexSplit{"go": NewComplex(n), "go-parallel": NewComplexSplit(n, pool.Shared())} {
			b.Run(fmt.Sprintf("impl=%s/n=%d", name, n), func(b *testing.B) {
				if plan == nil {
					b.Skip("this processor does not split a transform")
				}
				for b.Loop() {
					plan.Forward(bins, x)
				}
			})
		}
	}
}

// BenchmarkSplit times one transform on one core and on a pool. Lengths are powers of two, which are divided into blocks,
// and others, which are divided into the columns of a grid.
func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{1 << 16, 78732, 87480, 139968, 150000, 1 << 18, 729000, 900000, 1 << 20} {
		x, bins := ffttest.Noise(n), make([]complex64, n/2+1)
		for name, plan := range map[string]Split{"go": NewReal(n), "go-parallel": NewSplit(n, pool.Shared())} {
			b.Run(fmt.Sprintf("impl=%s/n=%d", name, n), func(b *testing.B) {
				if plan == nil {
					b.Skip("this processor does not split a transform")
				}
				for b.Loop() {
					plan.Forward(bins, x)
				}
			})
		}
	}
}
