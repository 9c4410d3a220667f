package timings

import (
	"slices"
	"testing"
)

func shapesSet(names []string, shapes ...[]int) *Set {
	s := &Set{Case: "stft", Implementations: names, Axes: []string{"n_fft", "n"}, Shapes: map[int][]int{}}
	for visit, shape := range shapes {
		size := shape[0] * shape[1]
		s.Shapes[size] = shape
		for range 2 {
			b := Block{Size: size, Visit: visit, Twin: -1, Seconds: make([]float64, len(names)), Iterations: make([]int, len(names))}
			for i, name := range names {
				b.Seconds[i], b.Iterations[i] = float64(len(name)), 1
			}
			s.Blocks = append(s.Blocks, b)
		}
	}
	return s
}

// A merged set has the blocks of both, each at its own shape, although two shapes had one size.
func TestMerge(t *testing.T) {
	older := shapesSet([]string{"go", "fftw"}, []int{2, 6}, []int{4, 4})
	newer := shapesSet([]string{"fftw", "cuda"}, []int{3, 4}, []int{4, 4}, []int{5, 5})
	both := Merge(older, newer, 100)
	if len(both.Blocks) != 10 || len(both.Shapes) != 4 {
		t.Fatalf("%d blocks of %d shapes, want 10 of 4", len(both.Blocks), len(both.Shapes))
	}
	var shapes [][]int
	for _, b := range both.Blocks {
		shapes = append(shapes, both.Shape(b.Size))
	}
	want := [][]int{{2, 6}, {2, 6}, {4, 4}, {4, 4}, {3, 4}, {3, 4}, {4, 4}, {4, 4}, {5, 5}, {5, 5}}
	if !slices.EqualFunc(shapes, want, slices.Equal) {
		t.Errorf("shapes %v, want %v", shapes, want)
	}
	if first := both.Blocks[0]; first.Timed(1) || !first.Timed(0) || first.Seconds[0] != 4 {
		t.Errorf("times of fftw and cuda in an older block: %v, want that of fftw alone", first.Seconds)
	}
	if both.Blocks[3].Visit == both.Blocks[4].Visit {
		t.Error("blocks of two runs are of one visit")
	}
}

func TestMergeGivesUpTheOldest(t *testing.T) {
	older := shapesSet([]string{"go"}, []int{2, 6}, []int{4, 4}, []int{7, 1})
	both := Merge(older, shapesSet([]string{"go"}, []int{9, 9}), 2)
	if len(both.Shapes) != 2 || !slices.Equal(both.Shape(both.Blocks[0].Size), []int{7, 1}) {
		t.Errorf("shapes %v, want those of 7×1 and 9×9", both.Shapes)
	}
}
