package linear

import (
	"math"
	"testing"
)

// TestSpecials applies layers with a weight that is NaN or infinite to zeros: the output that it belongs to is NaN, and
// the others are their biases.
func TestSpecials(t *testing.T) {
	const in, out, bad = 70, 45, 17
	for _, implementation := range contenders.Implementations() {
		t.Run(implementation.Name, func(t *testing.T) {
			if err := implementation.Missing(); err != nil {
				t.Skip(err)
			}
			for _, special := range []float64{math.NaN(), math.Inf(1)} {
				weights, bias := make([]float32, out*in), make([]float32, out)
				weights[bad*in+in/2] = float32(special)
				for o := range bias {
					bias[o] = float32(o)
				}
				l, err := newLayer(weights, bias, in, out)
				if err != nil {
					t.Fatal(err)
				}
				e, err := contenders.New(implementation.Name, l)
				if err != nil {
					t.Fatal(err)
				}
				for _, rows := range []int{1, 2, 5, 6, 7, 64} {
					got := make([]float32, rows*out)
					if err := e.forward(got, make([]float32, rows*in), rows); err != nil {
						t.Fatal(err)
					}
					for i, y := range got {
						o := i % out
						if isBad := y != y; isBad != (o == bad) || !isBad && y != bias[o] {
							t.Fatalf("%d rows, a weight of %g: output %d of row %d is %g", rows, special, o, i/out, y)
						}
					}
				}
			}
		})
	}
}
