package harness

import (
	"strings"
	"testing"

	"crossover/calibration"
)

// An entry says once for how much of its runs processors did not reach their speed all at once.
func TestCrowdedRuns(t *testing.T) {
	times := func(ratio float64) *calibration.SentinelTimes {
		return &calibration.SentinelTimes{AllProcessorsRatio: ratio}
	}
	crowd := func(share, ratio float64) *calibration.Sentinel {
		return &calibration.Sentinel{
			Processors: 16, Baseline: *times(1.05), Kept: times(1.1), Crowded: &calibration.Crowded{Share: share, AllProcessorsRatio: ratio},
		}
	}
	apart := &calibration.Sentinel{Processors: 16, Baseline: *times(1.05), Kept: times(1.1)}
	for name, c := range map[string]struct {
		runs []*calibration.Sentinel
		want string // beginning of the line
	}{
		"nothing noted":           {[]*calibration.Sentinel{nil}, ""},
		"nothing known":           {[]*calibration.Sentinel{{Processors: 2}}, ""},
		"apart":                   {[]*calibration.Sentinel{apart}, ""},
		"for a moment":            {[]*calibration.Sentinel{crowd(0.05, 2.1)}, ""},
		"for some time":           {[]*calibration.Sentinel{crowd(0.3, 2.1)}, "all 16 processors at once took 2.10 times as long as one alone for 30 % of the run: "},
		"always":                  {[]*calibration.Sentinel{crowd(1, 2.16)}, "all 16 processors at once took 2.16 times as long as one alone for 100 % of the run: "},
		"an old file, apart":      {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.5)}}, ""},
		"an old file":             {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.6)}}, "all 2 processors at once took 1.60 times as long as one alone: "},
		"an old file, kept":       {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}}, "all 2 processors at once took 1.60 "},
		"an old file, kept apart": {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.6), Kept: times(1)}}, ""},
		"in four runs": {[]*calibration.Sentinel{crowd(1, 2.16), crowd(0.4, 2.02), apart, crowd(0.98, 2.15)},
			"all 16 processors at once took 2.02 to 2.16 times as long as one alone for 40 to 100 % of the time in 3 of 4 runs: "},
		"in two runs alike": {[]*calibration.Sentinel{crowd(1, 2.161), crowd(1, 2.159)},
			"all 16 processors at once took 2.16 times as long as one alone for 100 % of the time in 2 of 2 runs: "},
		"in two old runs": {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}, {Processors: 2, Kept: times(1.9)}, apart},
			"all 2 processors at once took 1.60 to 1.90 times as long as one alone in 2 of 3 runs: "},
		"in an old run and a new one": {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}, crowd(0.5, 2)},
			"all 16 processors at once took 1.60 to 2.00 times as long as one alone for 50 % of the time in 2 of 2 runs: "},
		"never, as a new run says": {[]*calibration.Sentinel{crowd(0, 0)}, ""},
		"in none of two":           {[]*calibration.Sentinel{apart, apart}, ""},
		"beside an old run":        {[]*calibration.Sentinel{nil, crowd(0.5, 2)}, "all 16 processors at once took 2.00 times as long as one alone for 50 % of the run: "},
	} {
		entry := &calibration.Host{Environment: calibration.Environment{Sentinel: c.runs[0]}}
		for _, s := range c.runs[1:] {
			entry.Runs = append(entry.Runs, calibration.Run{Environment: calibration.Environment{Sentinel: s}})
		}
		switch got := warnings(entry); {
		case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)):
			t.Errorf("%s: %q, want %q", name, got, c.want)
		case strings.Contains(strings.Join(got, ""), "\n"):
			t.Errorf("%s: more than a line: %q", name, got)
		}
	}
}

// Each condition of several runs has one warning, before that about the processors.
func TestWarnings(t *testing.T) {
	low := calibration.Environment{PowerMode: "low", Sentinel: &calibration.Sentinel{
		Processors: 2, Crowded: &calibration.Crowded{Share: 1, AllProcessorsRatio: 2},
	}}
	got := warnings(&calibration.Host{Environment: low, Runs: []calibration.Run{{Environment: low}, {Environment: low}}})
	if len(got) != 2 || !strings.HasPrefix(got[0], "running in low-power mode") || !strings.HasPrefix(got[1], "all 2 processors") {
		t.Errorf("%q", got)
	}
}
