package conv1d

import (
	"math"
	"testing"

	"crossover/kernels"
)

// A NaN or an infinity in the shorter sequence, signal or filter, reaches the outputs of which it is a term, and no others.
func TestDirectKeepsNaN(t *testing.T) {
	for _, sizes := range [][2]int{{5, 200}, {200, 5}, {63, 64}, {100, 150}, {70, 1000}, {300, 40}, {3, 3}, {1, 64}} {
		for _, special := range []float64{math.NaN(), math.Inf(1)} {
			for at := range min(sizes[0], sizes[1]) {
				x, taps := make([]float32, sizes[0]), make([]float32, sizes[1])
				kernels.Noise(x, 1)
				kernels.Noise(taps, 2)
				short := x
				if len(taps) < len(x) {
					short = taps
				}
				short[at] = float32(special)
				want := Reference(x, taps)
				for _, name := range []string{"go/direct", "go-parallel/direct"} {
					e, err := kernels.NewPlanOf(kernels.Here(), &Op, Params{taps}, name)
					if err != nil {
						t.Fatal(err)
					}
					for i, y := range convolved(t, e, x, len(taps)) {
						if math.IsNaN(float64(y)) != math.IsNaN(want[i]) || math.IsInf(float64(y), 0) != math.IsInf(want[i], 0) {
							t.Fatalf("%s, %v, %g at %d: output %d is %g, want %g", name, sizes, special, at, i, y, want[i])
						}
					}
				}
			}
		}
	}
}
