//go:build (darwin || linux) && (amd64 || arm64)

package metal_test

import (
	"testing"

	"crossover/gpu"
)

// device returns a device for a test.
func device(t testing.TB) *gpu.Device {
	t.Helper()
	d, err := gpu.NewDevice(driver(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const addText = `#include <metal_stdlib>
using namespace metal;

kernel void add(device float* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                constant uint& n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = x[i] + TERM;
    }
}
`

func add(term string) gpu.Source {
	return gpu.Source{Name: "add.metal", Text: addText}.Define("TERM", term)
}

var (
	one     = gpu.Size{X: 1, Y: 1, Z: 1}
	threads = gpu.Size{X: 64, Y: 1, Z: 1}
)

func groups(n int) gpu.Size { return gpu.Size{X: (n + 63) / 64, Y: 1, Z: 1} }

func TestAdd(t *testing.T) {
	b := device(t).NewPlan()
	const n = 1000
	x, y := b.Input(gpu.Float, n), b.Output(gpu.Float, n)
	b.Dispatch(b.Kernel(add("1.5f"), "add"), groups(n), threads, y, x, gpu.Values(n))
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range x.Floats() {
		x.Floats()[i] = float32(i)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for i, v := range y.Floats() {
		if v != float32(i)+1.5 {
			t.Fatalf("y[%d] = %g", i, v)
		}
	}
}
