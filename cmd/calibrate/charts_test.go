package main

import (
	"fmt"
	"testing"

	"crossover/calibration"
	"crossover/harness"
	"crossover/timings"
)

// Charts get every run of a case, the newest first, and the thresholds of each earlier run alone.
func TestChartRuns(t *testing.T) {
	run := func(at int) *timings.Set {
		set := &timings.Set{Case: "sum", Implementations: []string{"a", "b"}}
		for size := 64; size <= 4096; size *= 2 {
			for block := range 6 {
				set.Blocks = append(set.Blocks, timings.Block{
					Size: size, Visit: size + block/3, Twin: -1, Iterations: []int{1, 1}, Seconds: []float64{1e-9 * float64(size), 1e-9 * float64(at)},
				})
			}
		}
		return set
	}
	newest, older, oldest := run(1500), run(700), run(300)
	r := &harness.Run{
		Entry: calibration.Host{Cases: []calibration.Case{
			{Name: "sum", Earlier: []calibration.Earlier{{Run: 1}, {Run: 2}}}, {Name: "scale"},
		}},
		Timings: map[string]*timings.Set{"sum": newest, "scale": oldest},
		Earlier: map[string][]*timings.Set{"sum": {older, oldest}},
	}
	runs := chartRuns(r)
	for name, want := range map[string][]struct {
		samples    *timings.Set
		thresholds string
	}{"sum": {{newest, "[]"}, {older, "[700]"}, {oldest, "[300]"}}, "scale": {{oldest, "[]"}}} {
		if len(runs[name]) != len(want) {
			t.Fatalf("%s: %d runs, want %d", name, len(runs[name]), len(want))
		}
		for k, run := range runs[name] {
			if run.Samples != want[k].samples || fmt.Sprint(run.Thresholds) != want[k].thresholds {
				t.Errorf("%s: run %d has the thresholds %v, want %s", name, k, run.Thresholds, want[k].thresholds)
			}
		}
	}
}
