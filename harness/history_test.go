package harness

import (
	"reflect"
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
