package sweeps

import (
	"math"
	"testing"
)

func TestCostsPredict(t *testing.T) {
	known := costs{callsPerBlock: 2}
	known.record(100, 0.5, 3, []float64{1e-3, 1e-3, math.NaN()})
	if got := known.call(400, 0); math.Abs(got-4e-3) > 1e-9 {
		t.Errorf("from a single size a call at four times the size takes %v s, want four times as long", got)
	}
	known.record(10, 0.5, 3, []float64{1e-4, 1e-5, math.NaN()})
	known.record(1000, 0.5, 3, []float64{1e-2, 1e5, math.NaN()})
	for name, c := range map[string]struct {
		size, rival int
		want        float64
	}{
		"a measured size":                  {100, 0, 1e-3},
		"between two sizes":                {316, 0, 3.16e-3},
		"above, by the last slope":         {4000, 0, 4e-2},
		"above, by the cube at most":       {2000, 1, 8e5},
		"an implementation without a time": {2000, 2, 0},
	} {
		if got := known.call(c.size, c.rival); math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%s: a call at %d takes %v s, want %v", name, c.size, got, c.want)
		}
	}
	if known.below(100) != 10 || known.below(10) != 0 || known.greatest() != 1000 {
		t.Errorf("below 100 is %d, below 10 %d, greatest is %d", known.below(100), known.below(10), known.greatest())
	}
	if rival, ratio := known.slowest(100, []int{0, 1, 2}); ratio != 1 || rival != 0 {
		t.Errorf("the slowest at 100 is %d by %v", rival, ratio)
	}
	if rival, ratio := known.slowest(10, []int{1, 0}); rival != 0 || math.Abs(ratio-10) > 1e-9 {
		t.Errorf("the slowest at 10 is %d by %v, want 0 by 10", rival, ratio)
	}
}

// A visit is its overhead, the warm-up, and the blocks, each with a twin of the slowest arm at worst.
func TestCostsOfAVisit(t *testing.T) {
	for mode, callsPerBlock := range map[Mode]float64{Latency: 2, Throughput: 8} {
		known := costs{callsPerBlock: mode.callsPerBlock()}
		known.record(64, 0.25, 0.75, []float64{0.1, 0.2})
		blocks := 5.0
		want := 1 + 2*callsPerBlock*(0.1+0.2) + blocks*callsPerBlock*(0.1+0.2+0.2)
		if got := known.visit(64, 5, []int{0, 1}); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: a visit takes %v s, want %v", mode, got, want)
		}
	}
	var nothing costs
	if got := nothing.visit(64, 5, []int{0}); got <= 0 || got > 1e-2 {
		t.Errorf("a visit of which nothing is known takes %v s", got)
	}
}
