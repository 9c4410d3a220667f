package matmul

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// TestSpecials compares every implementation with the definition if a NaN or an infinity is multiplied by zeros. No product
// may be skipped because one of its factors is 0.
func TestSpecials(t *testing.T) {
	if want := Reference(make([]float32, 200*200), []float32{199*200 + 199: float32(math.NaN())}, 200, 200, 200); want[199] == want[199] {
		t.Errorf("the reference loses a NaN: %g", want[199])
	}
	for name, p := range kerneltest.Plans(t, &Op, plain) {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 7, 16, 33, 64, 100, 200} {
				if kerneltest.Emulated(name) && n > 64 {
					continue // emulation is slow, and other sizes have the same kinds of tiles
				}
				for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					a, b, got := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
					kernels.Noise(b, 2)
					b[n/2*n] = float32(special)
					if err := p.Run(shapeOf(n, n, n), kernels.Args{got, a, b}); err != nil {
						t.Fatal(err)
					}
					for i, want := range Reference(a, b, n, n, n) {
						if math.IsNaN(float64(got[i])) != math.IsNaN(want) {
							t.Fatalf("n=%d, zeros times %g: element %d is %g, want %g", n, special, i, got[i], want)
						}
					}
				}
			}
		})
	}
}
