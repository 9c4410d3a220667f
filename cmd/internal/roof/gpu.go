// Package roof measures what a processor and a GPU can do at most: how fast they copy, and how fast they multiply and add. A probe
// is short, and its result says what a stage or a kernel can be compared with.
package roof

import "crossover/gpu"

// CopyPlan is a copy on the device that reads and writes about moved bytes in all. It also returns how many.
func CopyPlan(d *gpu.Device, moved float64) (*gpu.Plan, float64, error) {
	b := d.NewPlan()
	n := max(1, int(moved/2/16))
	from, to := b.Scratch(gpu.Float4, n), b.Scratch(gpu.Float4, n)
	b.Copy(to, from)
	p, err := b.Build()
	return p, float64(2 * 16 * n), err
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
	roofThreads = 256
	roofGroups  = 4096
	// RoundOperations is the number of floating-point operations of all threads in a round.
	RoundOperations = roofThreads * roofGroups * 4 * 8 * 2
)

// MultiplyAddPlan is a run of multiply-adds with about flops floating-point operations in all, in whole rounds. It also returns how
// many.
func MultiplyAddPlan(d *gpu.Device, flops float64) (*gpu.Plan, float64, error) {
	b := d.NewPlan()
	rounds := max(1, int(flops/RoundOperations+0.5))
	b.Dispatch(b.Kernel(multiplyAdds, "multiply_adds"), gpu.Size{X: roofGroups, Y: 1, Z: 1},
		gpu.Size{X: roofThreads, Y: 1, Z: 1}, b.Scratch(gpu.Float, 1), gpu.Values(rounds), gpu.Values(float32(0.25)))
	p, err := b.Build()
	return p, float64(rounds) * RoundOperations, err
}
