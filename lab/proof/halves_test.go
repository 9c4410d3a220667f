package proof

import (
	"math"
	"testing"

	"crossover/timings"
)

// If every other block says the opposite, the choices of one half cost what they lose on the other half.
func TestHalvesJudgeEachOther(t *testing.T) {
	set := &timings.Set{Case: "case", Implementations: []string{"a", "b"}}
	for _, size := range []int{16, 64, 256} {
		for n := range 12 {
			b := timings.Block{Size: size, Visit: size, Twin: -1, Seconds: []float64{1e-6, 1e-6}, Iterations: []int{1, 1}}
			b.Seconds[n%2] = 1.1e-6
			set.Blocks = append(set.Blocks, b)
		}
	}
	var out LeftOut
	out.addHalves(&past{"case", map[int]*timings.Set{3: set}}, 3)
	if len(out.Halves.Pairs) != 2 || out.AgreeHalves != (Share{0, 1}) {
		t.Fatalf("%+v", out)
	}
	for _, p := range out.Halves.Pairs {
		if math.Abs(p.Cost-0.1) > 1e-9 || p.Run != 3 {
			t.Errorf("%+v, want a cost of 0.1", p)
		}
	}
}
