package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/timings"
)

// An implementation has changed since the first runs, so that their times of it are gone. Now it is the fastest at the sizes that
// the new run has, and nothing is chosen by the other sizes of the old runs about there, nor held against the choices. Where it is
// far behind at the nearest size, old runs count.
func TestRunsBeforeARevision(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	run := func(sizes []int, factors func(size int) []float64, revisions map[string]int) *timings.Set {
		set := &timings.Set{Implementations: []string{"go", "library", "gpu"}, Revisions: revisions}
		for visit, size := range sizes {
			for range 6 {
				b := timings.Block{Size: size, Visit: visit, Twin: 1, Iterations: []int{1, 1, 1}}
				for _, f := range factors(size) {
					b.Seconds = append(b.Seconds, 1e-6*f*math.Exp(0.01*rng.NormFloat64()))
				}
				b.TwinSeconds = b.Seconds[1]
				set.Blocks = append(set.Blocks, b)
			}
		}
		return set
	}
	gone := math.NaN()
	old := func() *timings.Set {
		return run([]int{16, 64, 256, 1024, 1 << 20, 1 << 25}, func(size int) []float64 {
			if size >= 1<<20 {
				return []float64{gone, 20, 1}
			}
			return []float64{gone, 4, 8}
		}, nil)
	}
	now := run([]int{16, 256, 1 << 20}, func(size int) []float64 {
		if size == 1<<20 {
			return []float64{30, 20, 1}
		}
		return []float64{1, 4, 8}
	}, map[string]int{"go": 1})
	for _, sets := range [][]*timings.Set{{now, old(), old()}, {old(), now, old()}} {
		r := Fit(sets, Options{Seed: 1})
		var chosen []string
		for _, s := range r.Segments {
			chosen = append(chosen, r.Curves.Implementations[s.Implementation])
		}
		if !slices.Equal(chosen, []string{"go", "gpu"}) {
			t.Errorf("%v chosen, want go, gpu", chosen)
		}
		if !(r.Regret.Mean < 0.05) {
			t.Errorf("a regret of %.3f, want about none", r.Regret.Mean)
		}
		if want := []int{16, 256, 1 << 20, 1 << 25}; !slices.Equal(r.Curves.Sizes, want) {
			t.Errorf("sizes %v, want %v", r.Curves.Sizes, want)
		}
		if at := slices.Index(r.Curves.Sizes, 1<<20); r.Curves.Blocks[at] != 18 {
			t.Errorf("%d blocks where the revised implementation is far behind, want 18 of three runs", r.Curves.Blocks[at])
		}
	}
	// The nearest size of the new run speaks for all, however far away.
	few := run([]int{16}, func(int) []float64 { return []float64{1, 4, 8} }, map[string]int{"go": 1})
	if r := Fit([]*timings.Set{few, old()}, Options{Seed: 1}); !slices.Equal(r.Curves.Sizes, []int{16}) {
		t.Errorf("sizes %v after a run of size 16, want no other", r.Curves.Sizes)
	}
	// Without a revision, a run without an implementation is a run like others.
	now.Revisions = nil
	if r := Fit([]*timings.Set{now, old()}, Options{Seed: 1}); len(r.Curves.Sizes) != 6 {
		t.Errorf("sizes %v without a revision, want those of both runs", r.Curves.Sizes)
	}
}

// An implementation on all cores has changed since the old run, whose times of it are gone. The new run has one size alone, at which
// a call is not divided. Nothing is chosen among the others at the greater sizes of the old run.
func TestRunsBeforeARevisionThatIsNotDividedYet(t *testing.T) {
	run := func(sizes []int, revisions map[string]int) *timings.Set {
		set := &timings.Set{Implementations: []string{"go", "go-parallel", "gpu"}, Revisions: revisions}
		for visit, size := range sizes {
			for range 6 {
				set.Blocks = append(set.Blocks, timings.Block{
					Size: size, Visit: visit, Twin: 0, Iterations: []int{1, 0, 1}, TwinSeconds: float64(size),
					Seconds: []float64{float64(size), math.NaN(), 2000},
				})
			}
		}
		return set
	}
	now, old := run([]int{1000}, map[string]int{"go-parallel": 2}), run([]int{1000, 16000, 256000}, nil)
	for _, sets := range [][]*timings.Set{{now, old}, {now, now, old}} {
		if r := Fit(sets, Options{Seed: 1}); !slices.Equal(r.Curves.Sizes, []int{1000}) {
			t.Errorf("sizes %v of %d runs, want those since the change alone", r.Curves.Sizes, len(sets))
		}
	}
	now.Revisions = nil
	if r := Fit([]*timings.Set{now, old}, Options{Seed: 1}); len(r.Curves.Sizes) != 3 {
		t.Errorf("sizes %v without a change, want those of both runs", r.Curves.Sizes)
	}
}

// Shapes at which an implementation was near the fastest before it changed are left out. At others, the rest still counts.
func TestShapesBeforeARevision(t *testing.T) {
	set := &timings.Set{Implementations: []string{"go", "go-parallel", "gpu"}, Shapes: map[int][]int{}}
	for size, seconds := range map[int][]float64{1: {1, 1.1, 30}, 2: {30, 9, 1}, 3: {200, 30, 1}, 4: {1, math.NaN(), 2}} {
		set.Shapes[size] = []int{size}
		set.Blocks = append(set.Blocks, timings.Block{
			Size: size, Twin: -1, Seconds: seconds, Iterations: make([]int, 3), Positions: make([]int, 3), GPU: make([]timings.GPUTimes, 3),
		})
	}
	all := []timings.Change{{Implementation: "go-parallel"}}
	part := Since(set, all)
	if sizes := part.Sizes(); !slices.Equal(sizes, []int{3, 4}) || len(part.Shapes) != 2 {
		t.Errorf("shapes %v are left, want 3 and 4", sizes)
	}
	for _, b := range part.Blocks {
		if b.Timed(1) || !b.Timed(0) || !b.Timed(2) {
			t.Errorf("shape %d has %v", b.Size, b.Seconds)
		}
	}
	if same := Since(set, nil); same != set {
		t.Error("nothing has changed, and it is another set")
	}
	every := []timings.Change{{Implementation: "go-parallel", Revision: 1, Holds: func(int) bool { return false }}}
	if sizes := Since(set, every).Sizes(); !slices.Equal(sizes, []int{3, 4}) {
		t.Errorf("shapes %v are left after a change of which it is known that it concerns all, want 3 and 4", sizes)
	}
	some := []timings.Change{{Implementation: "go-parallel", Revision: 1, Holds: func(size int) bool { return size < 2 || size == 4 }}}
	part = Since(set, some)
	if sizes := part.Sizes(); !slices.Equal(sizes, []int{1, 4}) || part.Revisions["go-parallel"] != 1 {
		t.Errorf("after a change at 2 and 3, shapes %v are left, of revision %d", sizes, part.Revisions["go-parallel"])
	}
	for _, b := range part.Blocks {
		if b.Timed(1) != (b.Size == 1) {
			t.Errorf("after a change at 2 and 3, shape %d has %v", b.Size, b.Seconds)
		}
	}
	divided := []timings.Change{{Implementation: "go-parallel", Revision: 1, Holds: func(size int) bool { return size < 3 }}}
	part = Since(set, divided)
	if sizes := part.Sizes(); !slices.Equal(sizes, []int{1, 2}) {
		t.Errorf("after a change at 3 and at 4, which was not divided until then, shapes %v are left, want 1 and 2", sizes)
	}
	divided[0].Holds = func(size int) bool { return size < 4 }
	if sizes := Since(set, divided).Sizes(); !slices.Equal(sizes, []int{1, 2, 3}) {
		t.Errorf("after a change at 4, shapes %v are left, want 1, 2 and 3", sizes)
	}
	for name, c := range map[string]struct {
		changes []timings.Change
		want    int
	}{"at a shape that is divided since": {divided, 0}, "everywhere": {all, 0}, "at 2 and 3": {some, 0}, "nowhere": {[]timings.Change{{Implementation: "go-parallel", Holds: func(int) bool { return true }}}, 7}} {
		set.SetDivides("go-parallel", 7)
		if got := Since(set, c.changes).Divides["go-parallel"]; got != c.want || set.Divides["go-parallel"] != 7 {
			t.Errorf("after a change %s, calls are divided from %d on, want %d", name, got, c.want)
		}
	}
	set.Shapes = nil // a case
	if sizes := Since(set, all).Sizes(); !slices.Equal(sizes, []int{3, 4}) {
		t.Errorf("sizes %v of a case are left, want 3 and 4", sizes)
	}
}
