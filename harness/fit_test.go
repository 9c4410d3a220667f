package harness

import (
	"testing"

	"crossover/calibration"
)

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		sentinel *calibration.Sentinel
		want     int
	}{
		"nothing noted":      {nil, 0},
		"nothing known":      {&calibration.Sentinel{Processors: 2}, 0},
		"apart":              {&calibration.Sentinel{Processors: 2, Baseline: calibration.SentinelTimes{AllProcessorsRatio: 1.5}}, 0},
		"from the start":     {&calibration.Sentinel{Processors: 2, Baseline: calibration.SentinelTimes{AllProcessorsRatio: 1.6}}, 1},
		"in the kept blocks": {&calibration.Sentinel{Processors: 2, Kept: &calibration.SentinelTimes{AllProcessorsRatio: 1.6}}, 1},
		"not in them": {&calibration.Sentinel{Processors: 2, Baseline: calibration.SentinelTimes{AllProcessorsRatio: 1.6},
			Kept: &calibration.SentinelTimes{AllProcessorsRatio: 1}}, 0},
	} {
		got := warnings(&calibration.Host{Environment: calibration.Environment{Sentinel: c.sentinel}})
		if len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
