package main

import (
	"encoding/json"
	"strings"
	"testing"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/cmd/internal/scripted"
)

// Verify fails if a program pays for more than a sweep times, even if the choices of the file hold.
func TestTypedPlans(t *testing.T) {
	for name, test := range map[string]struct {
		extra float64 // seconds per element
		code  int
		line  string
	}{
		"the same": {0, command.ExitOK, "calls by a program's plans take as long as the timings say: median ratio 1.00, 0 of 4 comparisons\n  outside 0.85 to 1.15\n"},
		"a copy":   {1e-9, command.ExitDrifted, "calls by a program's plans take another time than the timings say: median ratio "},
	} {
		m := scripted.New(1, 0.01)
		m.AddPlanned("fft/batch=1", map[string]scripted.Cost{
			"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9),
		}, scripted.Linear(0, test.extra))
		path := save(t, recorded(4000))
		stdout, stderr, code := verifyOn(t, m, "--calibration", path, "--seed", "1")
		if code != test.code || !strings.Contains(stdout, test.line) || !strings.Contains(stdout, "1 HOLDS") {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", name, code, test.code, test.line, stdout, stderr)
		}
		stdout, _, _ = verifyOn(t, m, "--calibration", path, "--seed", "1", "--json")
		var got report
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Plans.Rows != 4 || (got.Plans.Finding == plans.Outside) != (test.code != 0) {
			t.Errorf("%s: %v, %+v", name, err, got.Plans)
		}
	}
}
