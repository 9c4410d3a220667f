//go:build amd64 || arm64

package metal_test

import (
	"testing"

	"crossover/gpu"
	"crossover/metal"
)

// driver returns the driver of the machine's GPU. The tests that need no fake run on it. It skips the test if there is
// no GPU.
func driver(t testing.TB) gpu.Driver {
	t.Helper()
	d, err := metal.Backends()[0].Open()
	if err != nil {
		t.Skip(err)
	}
	return d.Driver()
}
