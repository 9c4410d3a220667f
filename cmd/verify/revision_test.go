package main

import (
	"strings"
	"testing"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
)

// revisedTruth is the machine of truth, with a second case. Implementation b is of a revision.
func revisedTruth(revision int) *scripted.Machine {
	m := scripted.New(1, 0.01)
	m.Revisions = map[string]int{"b": revision}
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)}, nil)
	return m
}

// Nothing is measured of a case whose implementations have changed since the file was written. With nothing else to say, that
// is too little.
func TestAChangedImplementation(t *testing.T) {
	file := recorded(4000)
	for _, c := range []struct{ then, now, code int }{{0, 0, command.ExitOK}, {0, 1, command.ExitTooLittle}, {1, 0, command.ExitTooLittle}, {1, 1, command.ExitOK}} {
		file.Hosts[0].Cases[0].Implementations[1].Revision = c.then
		m := revisedTruth(c.now)
		stdout, stderr, code := verifyOn(t, m, "--calibration", save(t, file), "--seed", "1", "--budget", "20s")
		if code != c.code {
			t.Fatalf("revision %d, now %d: exit %d: %s%s", c.then, c.now, code, stdout, stderr)
		}
		const reason = "fft/batch=1: unmeasured: b changed since the calibration"
		changed := c.then != c.now
		if strings.Contains(stdout, reason) != changed || strings.Contains(stdout, "fft/batch=1  UNMEASURED") != changed ||
			strings.Contains(stderr, "nothing is said of 100 % of the cases' axes (go run ./cmd/calibrate measures what has changed)") != changed {
			t.Errorf("revision %d, now %d:\n%s%s", c.then, c.now, stdout, stderr)
		}
	}
}

// The same for the shapes of an operation. Other operations are checked.
func TestAChangedImplementationOfShapes(t *testing.T) {
	file := calibrated(t)
	file.Hosts[0].Operation("softmax", "caller").Implementations[1].Revision = 5
	stdout, stderr, code := verifyOn(t, wide(10), "--calibration", save(t, file), "--seed", "1", "--budget", "12s")
	for _, want := range []string{
		"softmax                UNMEASURED       0       -", "softmax: unmeasured: b changed since the calibration", "1 HOLDS, 0 AMBIGUOUS, 0 DRIFTED, 1 UNMEASURED\nregret",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "too few shapes") || strings.Contains(stdout, "100 % of its shapes") {
		t.Errorf("another reason is said:\n%s", stdout)
	}
	if code != command.ExitTooLittle || !strings.Contains(stderr, "nothing is said of the shapes of softmax (go run ./cmd/calibrate measures what has changed)") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
