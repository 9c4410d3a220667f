//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"math"
	"testing"

	"crossover/gpu"
)

const rowSum = `#include <metal_stdlib>
using namespace metal;

kernel void row_sum(device float* y [[buffer(0)]],
                    device const float* x [[buffer(1)]],
                    constant uint& n [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint i [[thread_position_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float partial[WIDTH / 32];
    float sum = 0;
    for (uint k = i; k < n; k += WIDTH) {
        sum += x[row * n + k];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        partial[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        float total = 0;
        for (uint s = 0; s < WIDTH / 32; ++s) {
            total += partial[s];
        }
        y[row] = total;
    }
}
`

func TestRowSum(t *testing.T) {
	for _, unified := range []bool{false, true} {
		d := Open(t, Unified(unified))
		src := gpu.Source{Name: "row_sum.metal", Text: rowSum}.Define("WIDTH", 128)
		const rows, n = 3, 1000
		b := d.NewPlan()
		x, y := b.Input(gpu.Float, rows*n), b.Output(gpu.Float, rows)
		b.Dispatch(b.Kernel(src, "row_sum"), gpu.Size{X: rows, Y: 1, Z: 1}, gpu.Size{X: 128, Y: 1, Z: 1}, y, x, gpu.Values(n))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		want := make([]float64, rows)
		for i := range x.Floats() {
			x.Floats()[i] = float32(math.Sin(float64(i)))
			want[i/n] += float64(x.Floats()[i])
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if math.Abs(float64(y.Floats()[i])-w) > 1e-4 {
				t.Errorf("row %d: %g, want %g", i, y.Floats()[i], w)
			}
		}
	}
}
