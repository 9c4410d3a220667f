package emulator

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The emulator is no contender: no command contains it.
func TestTestsAloneImportIt(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "crossover/cmd/calibrate", "crossover/cmd/verify", "crossover/kernels/catalogue").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "crossover/gpu") {
		t.Errorf("the catalogue does without package gpu: %d packages", len(packages))
	}
	if slices.Contains(packages, "crossover/gpu/emulator") {
		t.Error("a command contains the emulator")
	}
}
