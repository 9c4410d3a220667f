package main

import (
	"path/filepath"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
)

// A simulation says nothing about this machine, so there is nothing to verify.
func TestASimulatedHostIsNotThisOne(t *testing.T) {
	facts, id := command.HostFacts()
	simulated := calibration.Host{
		ID: calibration.SimulatedPrefix + id, Simulated: true, Facts: facts, Created: time.Unix(1e9, 0),
		Environment: calibration.Environment{Power: "unknown", Thermal: "unknown", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm"},
	}
	path := filepath.Join(t.TempDir(), "simulated.json")
	file := &calibration.File{Hosts: []calibration.Host{simulated}}
	if err := calibration.Save(path, file); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := verifyOn(t, scripted.New(1, 0), "--calibration", path)
	if code != command.ExitNoEntry {
		t.Errorf("exit %d, %q; want exit 4", code, stderr)
	}
}
