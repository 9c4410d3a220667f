package plots

import (
	"strings"
	"testing"

	"crossover/calibration"
)

// Remarks about the extent of what was timed are notes, and everything else is a warning.
func TestNotesAndWarnings(t *testing.T) {
	got := doubts(&calibration.Case{Warnings: []string{
		"fftw was not timed above 262144 samples: it falls over 4 times behind the best",
		"stopped at 256 rows: a visit to 512 rows would take about 2 s (a larger --budget goes further)",
		"degraded: other programs or virtual machines took 49 % of a processor meanwhile", "fftw was timed up to 9 samples only; at 10 it failed: lost",
	}})
	for k, want := range []string{"note: fftw", "note: stopped", "warning: other", "warning: fftw"} {
		if k >= len(got) || !strings.HasPrefix(got[k], want) {
			t.Errorf("remark %d of %q, want %q", k, got, want)
		}
	}
}
