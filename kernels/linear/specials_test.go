package linear

import (
	"math"
	"testing"

	"crossover/kernels/kerneltest"
)

// TestSpecials applies layers with one NaN or infinite weight to zeros. The output of that weight must be NaN, and the
// others their biases.
func TestSpecials(t *testing.T) {
	const in, out, bad = 70, 45, 17
	for _, special := range []float64{math.NaN(), math.Inf(1)} {
		weights, bias := make([]float32, out*in), make([]float32, out)
		weights[bad*in+in/2] = float32(special)
		for o := range bias {
			bias[o] = float32(o)
		}
		l := Params{in, out, transpose(weights, out, in), bias}
		for name, p := range kerneltest.Plans(t, &Op, l) {
			for _, rows := range []int{1, 2, 5, 6, 7, 64} {
				got := make([]float32, rows*out)
				forward(t, p, l, got, make([]float32, rows*in), rows)
				for i, y := range got {
					o := i % out
					if isBad := y != y; isBad != (o == bad) || !isBad && y != bias[o] {
						t.Fatalf("%s, %d rows, a weight of %g: output %d of row %d is %g", name, rows, special, o, i/out, y)
					}
				}
			}
		}
	}
}
