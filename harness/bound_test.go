package harness

import (
	"testing"

	"crossover/calibration"
	"crossover/timings"
)

// visited is a run of an operation with a visit of so many blocks to each of some shapes, of two implementations.
func visited(second, from, shapes, blocks int) *Run {
	r := oneCase(second, 1e-6)
	set := &timings.Set{Case: "fft", Implementations: []string{"a", "b"}, Axes: []string{"n", "batch"}, Shapes: map[int][]int{}}
	for n := from; n < from+shapes; n++ {
		set.Shapes[n] = []int{n, 1}
		for range blocks {
			set.Blocks = append(set.Blocks, timings.Block{
				Size: n, Visit: n, Twin: -1, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{1, 1},
			})
		}
	}
	r.Entry.Operations = []calibration.Operation{{Name: "fft", Placement: "caller", Axes: []calibration.Axis{{Name: "n"}, {Name: "batch"}}}}
	r.Shapes = map[string]*timings.Set{"fft": set}
	return r
}

// However many runs are joined, the samples of an operation's shapes stay bounded. The entry describes what is kept. Asked
// shapes keep the blocks of their visits.
func TestSamplesOfShapesStayBounded(t *testing.T) {
	none := func(string) bool { return false }
	older := visited(1, 1, 300, 14)
	older.Entry.Operations[0].Asked = []calibration.Asked{{Shape: []int{7, 1}, Calls: 3}}
	j := Join(older, visited(2, 500, 20, 3), none, none)
	set, o := j.Shapes["fft"], &j.Entry.Operations[0]
	if times := 2 * len(set.Blocks); times > mostLines || times < mostLines-1 {
		t.Errorf("%d times, want %d", times, mostLines)
	}
	if o.Blocks != len(set.Blocks) || o.Samples != set.Digest() || len(set.Shapes) != 320 {
		t.Errorf("the entry has %d blocks of %d; there are %d shapes, want 320", o.Blocks, len(set.Blocks), len(set.Shapes))
	}
	for _, c := range []struct{ shape, least, most int }{{7, askedVisits * askedBlocks, 14}, {8, leastKept, 9}, {500, 3, 3}} {
		if n := len(set.At(c.shape)); n < c.least || n > c.most {
			t.Errorf("shape %d keeps %d blocks, want %d to %d", c.shape, n, c.least, c.most)
		}
	}
	if len(o.Asked) != 1 || o.Asked[0].Calls != 3 {
		t.Errorf("asked shapes: %+v", o.Asked)
	}
	j = Join(j, visited(3, 600, 390, 2), none, none)
	if set, o = j.Shapes["fft"], &j.Entry.Operations[0]; len(set.Shapes) != mostShapes || len(set.At(7)) == 0 || len(o.Asked) != 1 {
		t.Errorf("%d shapes, %d blocks of the asked one, asked: %+v", len(set.Shapes), len(set.At(7)), o.Asked)
	}
}
