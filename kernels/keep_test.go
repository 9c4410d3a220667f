package kernels_test

import (
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// A state lies where the data of the first call lie, and closing the plan frees it.
func TestKeep(t *testing.T) {
	emulated := gpu.NewBackend(kerneltest.GPUName, func() (gpu.Driver, error) { return emulator.New(emulator.Unified(true)) })
	b := &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{emulated}}
	plan := kernels.NewPlanOn(b, nil, adding(nil), params{}).Along(0, kernels.Shape{})
	ordinary := make([]float32, 8)
	if s := kernels.Keep(plan, 7, ordinary); len(s) != 7 || emulated.Opened() != nil {
		t.Errorf("%d words, and the GPU is %v; want 7 and none opened", len(s), emulated.Opened())
	}
	if emulated.Probe() != nil {
		t.Skip("no C++ compiler for the emulator")
	}
	shared, free, err := b.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	device := emulated.Opened()
	if device.InShared(kernels.Keep(plan, 7, shared, ordinary)) {
		t.Error("in shared memory, although one slice of the call is not")
	}
	state := kernels.Keep(plan, 7, shared, shared[2:5])
	if len(state) != 7 || !device.InShared(state) {
		t.Errorf("%d words, shared %v; want 7 in shared memory", len(state), device.InShared(state))
	}
	plan.Close()
	if device.InShared(state) {
		t.Error("closing the plan did not free the state")
	}
	if words := kernels.Keep(plan, 3, ordinary); len(kernels.Float64s(words)) != 1 {
		t.Errorf("%d words after Close", len(words))
	}
}
