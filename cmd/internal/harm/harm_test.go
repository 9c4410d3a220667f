package harm

import (
	"errors"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
)

// A GPU is lost by the kernel where that loses one, and stays so. Where it does not, Lose says so.
func TestLose(t *testing.T) {
	d := emulator.Open(t, emulator.LoseByFaults())
	if err := Lose(d); err != nil {
		t.Fatal(err)
	}
	b := d.NewPlan()
	b.Copy(b.Scratch(gpu.Uint, 1), b.Scratch(gpu.Uint, 1))
	if _, err := b.Build(); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("a plan of the lost device: %v, want ErrLost", err)
	}
	if err := Lose(emulator.Open(t)); err == nil || !strings.Contains(err.Error(), "the GPU is not lost by a kernel that") {
		t.Errorf("an emulated GPU that goes on: %v", err)
	}
}
