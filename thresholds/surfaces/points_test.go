package surfaces

import (
	"math"
	"testing"

	"crossover/calibration/surface"
	"crossover/timings"
)

// The median of quiet blocks is the time at a shape. What disturbs a block makes it slower, so among disturbed ones it is the
// least time.
func TestPointsOfDisturbedBlocks(t *testing.T) {
	nan := math.NaN()
	block := func(size int, disturbed bool, seconds ...float64) timings.Block {
		return timings.Block{Size: size, Twin: -1, Seconds: seconds, Disturbed: disturbed, Iterations: make([]int, len(seconds))}
	}
	set := &timings.Set{Implementations: []string{"a", "b"}, Blocks: []timings.Block{
		block(1, false, 3, 1), block(1, false, 2, nan), block(1, false, 4, 5), block(1, true, 1, 0.1),
		block(2, true, 3, nan), block(2, true, 2, 7), block(2, true, 4, 6),
		block(3, true, 3, nan),
	}}
	want := []Point{
		{Shape: []int{1}, LogSeconds: []float64{math.Log(3), math.Log(math.Sqrt(5))}},
		{Shape: []int{2}, LogSeconds: []float64{math.Log(2), math.Log(6)}, Disturbed: true},
		{Shape: []int{3}, LogSeconds: []float64{math.Log(3), nan}, Disturbed: true},
	}
	got := Points(set, func(size int) []int { return []int{size} })
	if len(got) != len(want) {
		t.Fatalf("%d points, want %d", len(got), len(want))
	}
	for k, p := range got {
		for i, v := range p.LogSeconds {
			w := want[k].LogSeconds[i]
			if p.Disturbed != want[k].Disturbed || !(math.Abs(v-w) < 1e-12 || math.IsNaN(v) && math.IsNaN(w)) {
				t.Errorf("point %d is %+v, want %+v", k, p, want[k])
			}
		}
	}
}

// A point from a disturbed machine moves the surface less than one from a quiet machine.
func TestDisturbedPointsCountLess(t *testing.T) {
	at := func(disturbed bool) float64 {
		p := &Problem{Axes: []string{"n"}, Features: []surface.Feature{{Kind: surface.Logarithm, Weights: []float64{1}}}, Implementations: []string{"a"}}
		for n := 16; n <= 1<<16; n *= 2 {
			p.Points = append(p.Points, Point{Shape: []int{n}, LogSeconds: []float64{math.Log(1e-9 * float64(n+100))}})
		}
		off := &p.Points[6]
		off.LogSeconds[0] += 0.3
		off.Disturbed = disturbed
		f, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		return f.Predict(off.Shape)[0].LogSeconds - off.LogSeconds[0] + 0.3
	}
	if quiet, disturbed := at(false), at(true); !(disturbed > 0 && disturbed < 0.8*quiet) {
		t.Errorf("a point that is off by 0.3 moves the prediction by %.3f, and a disturbed one by %.3f", quiet, disturbed)
	}
}
