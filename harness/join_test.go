package harness

import (
	"testing"
	"time"

	"crossover/calibration"
	"crossover/timings"
)

// oneCase returns a run of one case with one block. The run began a number of seconds after a fixed time.
func oneCase(second int, seconds float64) *Run {
	set := &timings.Set{Case: "sum", Implementations: []string{"a"}, Blocks: []timings.Block{
		{Size: 64, Seconds: []float64{seconds}, Iterations: []int{10}, Twin: -1},
	}}
	return &Run{
		Entry: calibration.Host{
			ID: "host", Created: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC),
			Cases: []calibration.Case{{Name: "sum", Blocks: 1}},
		},
		Timings: map[string]*timings.Set{"sum": set},
	}
}

// In a joined entry each case has each run once, and each run belongs to a case. That also holds for equal runs and equal
// samples.
func TestJoinTakesARunOnce(t *testing.T) {
	none := func(string) bool { return false }
	for name, c := range map[string]struct {
		older, newer *Run
		runs         int
	}{
		"another run":                   {oneCase(1, 1e-6), oneCase(2, 2e-6), 1},
		"the same run":                  {oneCase(1, 1e-6), oneCase(1, 1e-6), 0},
		"other samples of the same run": {oneCase(1, 1e-6), oneCase(1, 2e-6), 0},
		"the same samples of another":   {oneCase(1, 1e-6), oneCase(2, 1e-6), 0},
	} {
		j := Join(c.older, c.newer, none, none)
		if again := Join(c.older, j, none, none); len(again.Entry.Cases[0].Earlier) != c.runs || len(again.Entry.Runs) != c.runs {
			t.Errorf("%s: joined twice there are %d runs and %d earlier ones, want %d", name, len(again.Entry.Runs), len(again.Entry.Cases[0].Earlier), c.runs)
		}
		if len(j.Entry.Runs) != c.runs || len(j.Entry.Cases[0].Earlier) != c.runs || len(j.Earlier["sum"]) != c.runs {
			t.Errorf("%s: %d runs, %d earlier ones, want %d", name, len(j.Entry.Runs), len(j.Entry.Cases[0].Earlier), c.runs)
		}
	}
}
