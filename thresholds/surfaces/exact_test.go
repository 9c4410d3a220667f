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

// TestLead tests how far the fastest implementation is ahead in either half, and that a choice that costs something is behind
// in one of them.
func TestLead(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		blocks      []timings.Block
		fastest     int
		least, most float64
	}{
		"clear":                    {[]timings.Block{block(0, 1, 2), block(1, 1, 3)}, 0, 2, 3},
		"visits that disagree":     {[]timings.Block{block(0, 1, 4), block(0, 1, 4), block(1, 1, 0.5), block(1, 1, 0.5)}, 0, 0.5, 4},
		"one that was timed once":  {[]timings.Block{block(0, 1, 9), block(0, 1, nan), block(1, 1, nan)}, 0, 9, 9},
		"one that was never timed": {[]timings.Block{block(0, 1, nan), block(1, 1, nan)}, 0, 0, 0},
		"one visit":                {[]timings.Block{block(0, 2, 1), block(0, 4, 1)}, 1, 2, 4},
		"none":                     {nil, -1, 0, 0},
	} {
		e := ExactAt(&timings.Set{Implementations: names[:2], Blocks: test.blocks}, 1)
		fastest, least, most := e.Fastest(), 0.0, 0.0
		if fastest >= 0 {
			least, most = e.Lead(fastest)
		}
		if fastest != test.fastest || math.Abs(least-test.least) > 1e-9 || math.Abs(most-test.most) > 1e-9 {
			t.Errorf("%s: %d by %v to %v, want %d by %v to %v", name, fastest, least, most, test.fastest, test.least, test.most)
		}
		if e.Loss > 1e-9 && !(least < 1) {
			t.Errorf("%s: the choice costs %v, and is ahead by %v", name, e.Loss, least)
		}
	}
}
