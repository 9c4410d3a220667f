package surfaces

import (
	"math"
	"testing"

	"crossover/timings"
)

func block(visit int, seconds ...float64) timings.Block {
	return timings.Block{Size: 1, Visit: visit, Seconds: seconds, Twin: -1}
}

func TestExactAt(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		blocks  []timings.Block
		seconds []float64
		loss    float64
	}{
		"clear":                    {[]timings.Block{block(0, 1, 2), block(0, 1, 2), block(1, 1, 2), block(1, 1, 2)}, []float64{1, 2}, 0},
		"one visit":                {[]timings.Block{block(0, 1, 2), block(0, 1, 2)}, []float64{1, 2}, 0},
		"one block":                {[]timings.Block{block(0, 1, 2)}, []float64{1, 2}, nan},
		"visits that disagree":     {[]timings.Block{block(0, 1, 4), block(0, 1, 4), block(1, 1, 0.25), block(1, 1, 0.25)}, []float64{1, 1}, math.Log(4)},
		"one that was timed once":  {[]timings.Block{block(0, 1, 9), block(0, 1, nan), block(1, 1, nan)}, []float64{1, 9}, 0},
		"one that was never timed": {[]timings.Block{block(0, 1, nan), block(1, 1, nan)}, []float64{1, nan}, 0},
		"none":                     {nil, []float64{nan, nan}, nan},
	} {
		e := ExactAt(&timings.Set{Implementations: names[:2], Blocks: test.blocks}, 1)
		for i, want := range test.seconds {
			if got := e.Seconds[i]; math.Abs(got-want) > 1e-9 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%s: %v seconds, want %v", name, e.Seconds, test.seconds)
			}
		}
		if math.Abs(e.Loss-test.loss) > 1e-9 || math.IsNaN(e.Loss) != math.IsNaN(test.loss) {
			t.Errorf("%s: a loss of %v, want %v", name, e.Loss, test.loss)
		}
	}
}
