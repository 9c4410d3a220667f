package conv1d

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func randomFloats(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*rng.Float32() - 1
	}
	return v
}

// TestFIR compares firGo, and what fir runs here, with the sum of the definition. Numbers of taps are above and below every
// unrolling.
func TestFIR(t *testing.T) {
	kernels := map[string]func(y, x, h []float32){"go": firGo, "fastest": fir}
	for name, kernel := range kernels {
		for _, taps := range []int{1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 65, 100, 512} {
			t.Run(fmt.Sprintf("%s/taps=%d", name, taps), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(taps)))
				x, h := randomFloats(rng, taps+width-1), randomFloats(rng, taps)
				y := randomFloats(rng, width)
				want := make([]float64, width)
				for j := range want {
					want[j] = float64(y[j])
					for k := range h {
						want[j] += float64(h[k]) * float64(x[j+taps-1-k])
					}
				}
				kernel(y, x, h)
				for j := range want {
					// There are taps products of magnitude at most 1. Each rounds by half a unit in the last place.
					if diff := math.Abs(float64(y[j]) - want[j]); diff > 6e-8*float64(taps+1) {
						t.Fatalf("output %d: got %v, want %v", j, y[j], want[j])
					}
				}
			})
		}
	}
}

// TestSpectral compares the multiply-accumulate of spectra with the sum of the definition.
func TestSpectral(t *testing.T) {
	kernels := map[string]func(y, x, h []complex64){"go": spectralGo, "fastest": spectral}
	for name, kernel := range kernels {
		for _, partitions := range []int{0, 1, 2, 7} {
			for _, bins := range []int{8, 16, 40} {
				t.Run(fmt.Sprintf("%s/partitions=%d/bins=%d", name, partitions, bins), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(2, uint64(bins)))
					random := func(n int) []complex64 {
						v := make([]complex64, n)
						for i := range v {
							v[i] = complex(2*rng.Float32()-1, 2*rng.Float32()-1)
						}
						return v
					}
					y, x, h := random(bins), random(partitions*bins), random(partitions*bins)
					want := make([]complex128, bins)
					for b := range want {
						for p := range partitions {
							want[b] += complex128(x[(partitions-1-p)*bins+b]) * complex128(h[p*bins+b])
						}
					}
					kernel(y, x, h)
					for b := range want {
						got := complex128(y[b])
						if math.Abs(real(got-want[b])) > 2e-6 || math.Abs(imag(got-want[b])) > 2e-6 {
							t.Fatalf("bin %d: got %v, want %v", b, got, want[b])
						}
					}
				})
			}
		}
	}
}

func BenchmarkFIR(b *testing.B) {
	kernels := map[string]func(y, x, h []float32){"go": firGo, "fastest": fir}
	for name, kernel := range kernels {
		for _, taps := range []int{8, 512} {
			b.Run(fmt.Sprintf("impl=%s/taps=%d", name, taps), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(3, 0))
				y, x, h := randomFloats(rng, width), randomFloats(rng, taps+width-1), randomFloats(rng, taps)
				for b.Loop() {
					kernel(y, x, h)
				}
				b.ReportMetric(float64(b.N)*float64(taps*width)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}
