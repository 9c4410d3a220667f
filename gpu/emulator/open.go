package emulator

import (
	"testing"

	"crossover/gpu"
)

// Open returns an emulated device for a test. It skips the test where there is no C++ compiler.
func Open(t testing.TB, options ...Option) *gpu.Device {
	t.Helper()
	d, err := New(options...)
	if err != nil {
		t.Skip(err)
	}
	device, err := gpu.NewDevice(d)
	if err != nil {
		t.Fatal(err)
	}
	return device
}
