package harness

import (
	"reflect"
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/timings"
)

// switching is a run whose implementation b is faster than a from a size on, and whose c, if there is one, always is.
func switching(second, at int, names ...string) *Run {
	r := oneCase(second, 1e-6)
	set := &timings.Set{Case: "sum", Implementations: names}
	for size := 64; size <= 4096; size *= 2 {
		seconds := map[string]float64{"a": 1e-9 * float64(size), "b": 1e-9 * float64(at), "c": 1e-12}
		for block := range 6 {
			b := timings.Block{Size: size, Visit: size + block/3, Twin: -1}
			for _, name := range names {
				b.Seconds, b.Iterations = append(b.Seconds, seconds[name]), append(b.Iterations, 1)
			}
			set.Blocks = append(set.Blocks, b)
		}
	}
	r.Timings["sum"], r.Entry.Cases[0].Blocks = set, len(set.Blocks)
	return r
}

// The thresholds of earlier runs are those of each by itself, the newest of them first, and of the implementations of today.
func TestEarlierThresholds(t *testing.T) {
	none := func(string) bool { return false }
	older := Join(switching(1, 300, "a", "b", "c"), switching(2, 700, "a", "b"), none, none)
	j := Join(older, switching(3, 1500, "a", "b"), none, none)
	if got, want := j.EarlierThresholds(&j.Entry.Cases[0]), [][]int{{700}, {300}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	alone := switching(1, 300, "a", "b")
	if got := alone.EarlierThresholds(&calibration.Case{Name: "sum"}); len(got) != 0 {
		t.Errorf("%v of a single run", got)
	}
}

// excluding is a run as switching makes it, whose implementation c gave wrong values.
func excluding(second, at int) *Run {
	r := switching(second, at, "a", "b", "c")
	for n := range r.Timings["sum"].Blocks {
		r.Timings["sum"].Blocks[n].Erase(2)
	}
	r.Entry.Cases[0].Implementations = []calibration.Implementation{
		{Name: "a", Processor: "cpu"}, {Name: "b", Processor: "cpu"}, {Name: "c", Processor: "cpu", Excluded: "wrong at 64 elements"},
	}
	return r
}

// What the newest run excludes is not chosen, however fast it was in the runs before. It counts again once a run times it.
func TestTimesOfTheExcludedDoNotCount(t *testing.T) {
	none := func(string) bool { return false }
	older := switching(1, 300, "a", "b", "c")
	for size := 80; size < 4096; size *= 2 { // only c was timed there
		alone := timings.Block{Size: size, Seconds: []float64{1, 1, 1e-12}, Iterations: []int{1, 1, 1}, Twin: -1}
		alone.Erase(0)
		alone.Erase(1)
		older.Timings["sum"].Blocks = append(older.Timings["sum"].Blocks, alone)
	}
	j := Join(Join(older, switching(2, 400, "a", "b", "c"), none, none), excluding(3, 500), none, none)
	for n, set := range j.History("sum") {
		if slices.ContainsFunc(set.Blocks, func(b timings.Block) bool { return b.Timed(2) }) {
			t.Errorf("of run %d times of c count", n)
		}
	}
	if err := j.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var chosen []string
	for _, s := range j.Entry.Cases[0].Segments {
		chosen = append(chosen, s.Implementation)
	}
	if want := []string{"a", "b"}; !slices.Equal(chosen, want) {
		t.Errorf("%v are chosen, want %v", chosen, want)
	}
	again := Join(Join(older, excluding(2, 400), none, none), switching(3, 500, "a", "b", "c"), none, none)
	if err := again.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := again.Entry.Cases[0].Segments; len(s) != 1 || s[0].Implementation != "c" {
		t.Errorf("right again, c is not chosen: %+v", s)
	}
}
