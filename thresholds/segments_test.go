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
		counterpart  bool // whether the one is the other's counterpart on one core
	}{
		"in the middle":                   {-0.2, 0.2, 200, false},
		"near the lower size":             {-0.1, 0.3, 100 * math.Sqrt2, false},
		"at the lower size":               {0, 0.3, 100, false},
		"at the upper size":               {-0.3, 0, 400, false},
		"no difference":                   {0, 0, 200, false},
		"no change of sign":               {0.1, 0.2, 200, false},
		"the wrong way":                   {0.1, -0.1, 200, false},
		"unmeasured above":                {-0.1, inf, 100, false},
		"unmeasured above, the wrong way": {0.1, inf, 100, false},
		"unmeasured below":                {math.Inf(-1), 0.1, 400, false},
		"undivided below":                 {math.Inf(-1), 0.1, 100, true},
		"slower once it is divided":       {math.Inf(-1), -0.1, 200, true},
		"neither was measured":            {math.NaN(), math.NaN(), 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			loss := [][]float64{{c.below, c.above}, {0, 0}}
			curves := &Curves{Sizes: sizes, counterparts: []int{-1, -1}, divides: []int{0, 0}}
			if c.counterpart {
				curves.counterparts[1] = 0
				loss = [][]float64{{0, c.above}, {inf, 0}}
			}
			if got := curves.edge(loss, 0, 1, 0); math.Abs(got-c.want) > 1e-9*c.want {
				t.Errorf("edge is %v, want %v", got, c.want)
			}
		})
	}
}

// Where times grow with the size, the threshold is between the zero of the logarithm of their ratio and that of their
// difference. Both are at the same place in a narrow bracket.
func TestCrossing(t *testing.T) {
	for name, c := range map[string]struct {
		high    int
		seconds [2][2]float64 // of either implementation, at 100 and at the higher size
		want    float64
	}{
		"in proportion, in a narrow range": {400, [2][2]float64{{1, 4}, {2, 2}}, math.Sqrt(200 * 200)}, // 1+3(n-100)/300 = 2 at 200
		"in proportion against a constant": {6400, [2][2]float64{{1, 64}, {8, 8}}, 800},
		"both with a constant":             {6400, [2][2]float64{{9, 72}, {16, 16}}, math.Sqrt(800 * 100 * math.Pow(64, math.Log(16.0/9)/math.Log(8)))},
		"a narrow bracket":                 {101, [2][2]float64{{1, 1.02}, {1.01, 1.01}}, 100.5},
	} {
		t.Run(name, func(t *testing.T) {
			curves := &Curves{Sizes: []int{100, c.high}, counterparts: []int{-1, -1}, divides: []int{0, 0}}
			loss := newTable(2, 2)
			for i := range 2 {
				curves.Seconds = append(curves.Seconds, c.seconds[i][:])
				for s := range 2 {
					loss[i][s] = math.Log(c.seconds[i][s] / min(c.seconds[0][s], c.seconds[1][s]))
				}
			}
			if got := curves.edge(loss, 0, 1, 0); math.Abs(got-c.want) > 1e-3*c.want {
				t.Errorf("the edge is %v, want %v", got, c.want)
			}
		})
	}
}
