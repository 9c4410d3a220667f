package timings

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// unlimited keeps everything.
var unlimited = Limits{Shapes: 1000, Lines: 1000}

// shapesSet returns a set with a visit of two blocks to each of some shapes. A shape that is there twice has two visits.
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
	both := Merge(older, newer, unlimited)
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

// blocksOf returns the shapes of a set's blocks, by their first values, with a space between visits.
func blocksOf(s *Set) string {
	var all strings.Builder
	for n, b := range s.Blocks {
		if n > 0 && b.Visit != s.Blocks[n-1].Visit {
			all.WriteString(" ")
		}
		fmt.Fprint(&all, s.Shape(b.Size)[0])
	}
	return all.String()
}

// Beyond the limits, older shapes and blocks go. The older run has three visits to shape 1, two to shape 2, one to shape 3, and
// one to shape 4, which the newer run measures again. Each block has one time.
func TestMergeWithinLimits(t *testing.T) {
	older := shapesSet([]string{"go"}, []int{1, 10}, []int{2, 20}, []int{1, 10}, []int{3, 30}, []int{4, 40}, []int{2, 20}, []int{1, 10})
	newer := shapesSet([]string{"go"}, []int{4, 40}, []int{5, 50}, []int{5, 50})
	asked := func(first ...int) func(shape []int) bool {
		return func(shape []int) bool { return slices.Contains(first, shape[0]) }
	}
	for name, c := range map[string]struct {
		most Limits
		want string
	}{
		"everything":                           {Limits{Shapes: 5, Lines: 20, Blocks: 2}, "11 22 11 33 44 22 11 44 55 55"},
		"a time too many":                      {Limits{Shapes: 5, Lines: 19, Blocks: 2}, "1 22 11 33 44 22 11 44 55 55"},
		"the fullest shape loses two":          {Limits{Shapes: 5, Lines: 18, Blocks: 2}, "22 11 33 44 22 11 44 55 55"},
		"then the one with the oldest visit":   {Limits{Shapes: 5, Lines: 17, Blocks: 2}, "2 11 33 44 22 11 44 55 55"},
		"then the next":                        {Limits{Shapes: 5, Lines: 15, Blocks: 2}, "2 1 33 4 22 11 44 55 55"},
		"two blocks a shape":                   {Limits{Shapes: 5, Lines: 12, Blocks: 2}, "33 22 11 44 55 55"},
		"shapes keep at least three blocks":    {Limits{Shapes: 5, Lines: 14, Blocks: 3}, "2 1 4 22 11 44 55 55"},
		"a shape keeps a block":                {Limits{Shapes: 5, Lines: 8}, "2 1 44 55 55"},
		"the newer run stays whole":            {Limits{}, "44 55 55"},
		"a shape too many":                     {Limits{Shapes: 4, Lines: 20, Blocks: 2}, "11 22 11 44 22 11 44 55 55"},
		"a shape loses all of its blocks":      {Limits{Shapes: 3, Lines: 20, Blocks: 2}, "11 11 44 11 44 55 55"},
		"other shapes go before asked ones":    {Limits{Shapes: 3, Lines: 20, Blocks: 2, Asked: asked(3, 5)}, "33 44 44 55 55"},
		"asked shapes keep more blocks":        {Limits{Shapes: 5, Lines: 16, Blocks: 2, Asked: asked(1), AskedBlocks: 6}, "11 11 33 22 11 44 55 55"},
		"asked shapes go before the newer run": {Limits{Shapes: 5, Lines: 7, Blocks: 2, Asked: asked(1, 2, 3), AskedBlocks: 6}, "44 55 55"},
	} {
		got := Merge(older, newer, c.most)
		if blocksOf(got) != c.want {
			t.Errorf("%s: %s, want %s", name, blocksOf(got), c.want)
		}
		for size := range got.Shapes {
			if len(got.At(size)) == 0 {
				t.Errorf("%s: shape %v has no blocks", name, got.Shape(size))
			}
		}
		if again := Merge(got, &Set{Case: "stft", Implementations: got.Implementations, Axes: got.Axes}, unlimited); again.Digest() != got.Digest() {
			t.Errorf("%s: merged with nothing, the samples are others", name)
		}
	}
	if blocksOf(older) != "11 22 11 33 44 22 11" || len(older.Shapes) != 4 {
		t.Errorf("the older set was changed: %s", blocksOf(older))
	}
}

// Of a visit, the first block stays longest, in which all implementations were timed.
func TestMergeKeepsTheFirstBlockOfAVisit(t *testing.T) {
	older := shapesSet([]string{"go", "cuda"}, []int{1, 10})
	older.Blocks[1].Erase(1)
	got := Merge(older, shapesSet([]string{"go", "cuda"}, []int{2, 20}), Limits{Shapes: 5, Lines: 6, Blocks: 1})
	if blocksOf(got) != "1 22" || !got.Blocks[0].Timed(1) {
		t.Errorf("blocks of %s, and the first one has a time of cuda: %v", blocksOf(got), got.Blocks[0].Timed(1))
	}
}

// Times count, and not blocks: a block may have few of them, and a twin.
func TestMergeCountsTimes(t *testing.T) {
	older := shapesSet([]string{"go", "cuda"}, []int{1, 10}, []int{1, 10}, []int{2, 20})
	older.Blocks[2].Erase(1)
	older.Blocks[3].Twin, older.Blocks[3].TwinSeconds = 0, 1
	none := &Set{Case: "stft", Implementations: older.Implementations, Axes: older.Axes}
	for lines, want := range map[int]string{12: "11 11 22", 11: "1 11 22", 10: "1 11 22", 8: "11 22", 7: "1 22", 5: "1 22", 4: "1 2", 2: "2"} {
		if got := Merge(older, none, Limits{Shapes: 5, Lines: lines}); blocksOf(got) != want {
			t.Errorf("at most %d times: %s, want %s", lines, blocksOf(got), want)
		}
	}
}

// A block of implementations that the newer run does not have holds nothing, and would not be in the file.
func TestMergeLeavesOutEmptyBlocks(t *testing.T) {
	older := shapesSet([]string{"go", "cuda"}, []int{1, 10}, []int{2, 20})
	older.Blocks[0].Erase(1)
	older.Blocks[1].Erase(1)
	both := Merge(older, shapesSet([]string{"cuda"}, []int{3, 30}), unlimited)
	var file bytes.Buffer
	if err := both.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(&file, "x.bench")
	if err != nil {
		t.Fatal(err)
	}
	if blocksOf(both) != "22 33" || len(both.Shapes) != 2 || read.Digest() != both.Digest() {
		t.Errorf("visits of %s, %d shapes; read back the samples are the same: %v", blocksOf(both), len(both.Shapes), read.Digest() == both.Digest())
	}
}
