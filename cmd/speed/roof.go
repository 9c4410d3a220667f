package main

import "crossover/gpu"

// copySide is a copy on the device that reads and writes moved bytes in all. Kernels that are bound by memory are compared
// with it.
func copySide(d *gpu.Device, moved float64) (*side, error) {
	b := d.NewPlan()
	n := max(1, int(moved/2/16))
	from, to := b.Scratch(gpu.Float4, n), b.Scratch(gpu.Float4, n)
	b.Copy(to, from)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return planSide("copy", traffic(float64(2*16*n)), p), nil
}

// multiplyAdds runs eight chains of FP32 multiply-adds in each thread. Kernels that are bound by arithmetic are compared
// with it. A round is 4 steps of each chain. The sum is stored only for a value that it never has, so that the compiler
// cannot remove the loop.
var multiplyAdds = gpu.Source{Name: "multiplyadds.metal", Text: `#include <metal_stdlib>
using namespace metal;

#define STEP(k) k = fma(k, scale, 0.5f)
#define CHAINS STEP(a); STEP(b); STEP(c); STEP(d); STEP(e); STEP(f); STEP(g); STEP(h)

kernel void multiply_adds(device float* y [[buffer(0)]],
                          constant uint& rounds [[buffer(1)]],
                          constant float& scale [[buffer(2)]],
                          uint i [[thread_position_in_grid]]) {
    float a = float(i), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f, e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
    for (uint r = 0; r < rounds; ++r) {
        CHAINS; CHAINS; CHAINS; CHAINS;
    }
    float sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    if (sum == -1.0f) y[0] = sum;
}
`}

const (
	roofThreads    = 256
	roofGroups     = 4096
	roofOperations = roofThreads * roofGroups * 4 * 8 * 2 // floating-point operations of all threads in a round
)

// multiplyAddSide is a run of multiply-adds with about flops floating-point operations in all, in whole rounds.
func multiplyAddSide(d *gpu.Device, flops float64) (*side, error) {
	b := d.NewPlan()
	rounds := max(1, int(flops/roofOperations+0.5))
	b.Dispatch(b.Kernel(multiplyAdds, "multiply_adds"), gpu.Size{X: roofGroups, Y: 1, Z: 1},
		gpu.Size{X: roofThreads, Y: 1, Z: 1}, b.Scratch(gpu.Float, 1), gpu.Values(rounds), gpu.Values(float32(0.25)))
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return planSide("multiply-adds", arithmetic(float64(rounds)*roofOperations), p), nil
}
