package thresholds

import (
	"math"
	"testing"
)

func TestEdge(t *testing.T) {
	sizes := []int{100, 400}
	for name, c := range map[string]struct {
		below, above float64 // loss of the one minus loss of the other
		want         float64
	}{
		"in the middle":                   {-0.2, 0.2, 200},
		"near the lower size":             {-0.1, 0.3, 100 * math.Sqrt2},
		"at the lower size":               {0, 0.3, 100},
		"at the upper size":               {-0.3, 0, 400},
		"no difference":                   {0, 0, 200},
		"no change of sign":               {0.1, 0.2, 200},
		"the wrong way":                   {0.1, -0.1, 200},
		"unmeasured above":                {-0.1, inf, 100},
		"unmeasured above, the wrong way": {0.1, inf, 100},
		"unmeasured below":                {math.Inf(-1), 0.1, 400},
		"neither was measured":            {math.NaN(), math.NaN(), 200},
	} {
		t.Run(name, func(t *testing.T) {
			loss := [][]float64{{c.below, c.above}, {0, 0}}
			if got := edge(loss, 0, 1, 0, 1, sizes); math.Abs(got-c.want) > 1e-9*c.want {
				t.Errorf("edge is %v, want %v", got, c.want)
			}
		})
	}
}
