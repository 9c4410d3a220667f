package emulator

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Neither the emulator nor a dry run is an implementation of a program: no command contains them.
func TestTestsAloneImportIt(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "crossover/cmd/calibrate", "crossover/cmd/verify", "crossover/kernels/catalogue").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "crossover/gpu") {
		t.Errorf("the catalogue does without package gpu: %d packages", len(packages))
	}
	for _, name := range []string{"crossover/gpu/emulator", "crossover/gpu/dryrun"} {
		if slices.Contains(packages, name) {
			t.Errorf("a command contains %s", name)
		}
	}
}
