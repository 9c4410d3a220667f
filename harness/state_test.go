package harness

import (
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/sweeps"
)

// Two runs in which processors did not reach their speed for different parts of the time are in different states, even if
// their medians are of the same state.
func TestStatesForAPartOfTheTime(t *testing.T) {
	run := func(ratio, share float64) *calibration.Environment {
		s := &calibration.Sentinel{Processors: 16, Kept: &calibration.SentinelTimes{AllProcessorsRatio: ratio}}
		if share >= 0 { // otherwise it is not recorded
			s.Crowded = &calibration.Crowded{Share: share, AllProcessorsRatio: 2.1}
		}
		return &calibration.Environment{Sentinel: s}
	}
	for name, c := range map[string]struct {
		then, now *calibration.Environment
		want      string // difference in state; "" if there is none
	}{
		"apart":                        {run(1.05, 0), run(1.1, 0), ""},
		"apart for less of the time":   {run(1.05, 0), run(1.1, 0.4), "all 16 processors at once take over 1.5 times as long as one alone for 40 % of the time now, 0 % then"},
		"apart for more of the time":   {run(2.1, 0.9), run(2.1, 0.6), "for 60 % of the time now, 90 % then"},
		"apart for nearly all of it":   {run(1.05, 0.05), run(1.1, 0.2), ""},
		"an old file":                  {run(2.1, -1), run(2.1, 0.6), ""},
		"the other state":              {run(1.05, 0), run(2.1, 1), "all 16 processors at once take 2.10 times as long as one alone now, 1.05 then"},
		"an old file of another state": {run(1.05, -1), run(2.1, 1), "all 16 processors at once take 2.10 times as long as one alone now, 1.05 then"},
	} {
		got := strings.Join(CompareStates(c.then, c.now).Moved, "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Two runs are in different states if others used the core in most of one and hardly in the other.
func TestStatesInCompany(t *testing.T) {
	run := func(company float64) *calibration.Environment {
		return &calibration.Environment{Sentinel: sentinel(sweeps.Observed{Processors: 2, Company: company})}
	}
	for name, c := range map[string]struct {
		then, now float64
		want      string // difference in state; "" if there is none
	}{
		"alike":            {0.95, 0.5, ""},
		"less company":     {1, 0, "others usually use the core of the calls in 0 % of the run now, in 100 % then"},
		"more company":     {0.05, 0.95, "in 95 % of the run now, in 5 % then"},
		"not known before": {-1, 0.95, ""},
		"not known now":    {0.95, -1, ""},
	} {
		got := strings.Join(CompareStates(run(c.then), run(c.now)).Moved, "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
