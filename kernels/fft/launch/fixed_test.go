package launch

import (
	"fmt"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
)

// hopper are the facts of a GPU that fixed.metal has been timed on.
var hopper = gpu.Facts{API: "cuda", Cores: 132, ThreadgroupBytes: 48 << 10}

// TestFixedTiles has each radix, first and last, tiles of rows that are not full, threads with several butterflies, both
// layouts of matrices, and bins of real values.
func TestFixedTiles(t *testing.T) {
	d := emulator.Open(t)
	const rows = 5
	for _, f := range []fixed{
		{radices: []int{12}, side: 4, threads: 32},
		{radices: []int{2, 14}, side: 2, threads: 32},
		{radices: []int{15, 16}, side: 3, threads: 64},
		{radices: []int{16, 15}, side: 3, threads: 32, double: true},
		{radices: []int{3, 9, 2}, side: 2, threads: 64},
		{radices: []int{10, 8, 12}, side: 2, threads: 256},
		{radices: []int{5, 4, 7, 6}, side: 1, threads: 224, double: true},
		{radices: []int{12}, side: 4, threads: 32, real: true},
		{radices: []int{10, 15}, side: 2, threads: 32, real: true},
		{radices: []int{6, 8, 9}, side: 1, threads: 96, real: true, double: true},
		{radices: []int{6, 8, 9}, side: 2, threads: 96, real: true},
		{radices: []int{5, 2, 3, 4}, side: 2, threads: 64, real: true},
		{radices: []int{15, 16}, side: 4, layout: columnTile, threads: 64},
		{radices: []int{9}, side: 4, layout: columnTile, threads: 32},
		{radices: []int{10, 3, 2}, side: 8, layout: columnTile, threads: 128, double: true},
		{radices: []int{10, 14}, side: 4, layout: turnedTile, threads: 64},
		{radices: []int{4, 3, 5}, side: 8, layout: turnedTile, threads: 160},
		{radices: []int{10, 14}, side: 4, layout: turnedTile, threads: 64, real: true},
		{radices: []int{4, 3, 5}, side: 8, layout: turnedTile, threads: 96, real: true, double: true},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			t.Parallel()
			for _, inverse := range []bool{false, true} {
				n, launch := f.length(), func(b *gpu.Builder, dst, src *gpu.Buffer) {
					launchRows(b, f, dst, src.As(gpu.Float2), f.real, rows, inverse)
				}
				switch f.layout {
				case columnTile: // with a last tile that is not full
					n *= 6
					turned := fixed{radices: []int{3, 2}, side: 4, layout: turnedTile, threads: 32}
					launch = func(b *gpu.Builder, dst, src *gpu.Buffer) {
						appendSteps(b, dst, src, f, turned, false, rows, inverse)
					}
				case turnedTile:
					n *= 9
					columns := fixed{radices: []int{9}, side: 4, layout: columnTile, threads: 32}
					launch = func(b *gpu.Builder, dst, src *gpu.Buffer) {
						appendSteps(b, dst, src.As(gpu.Float2), columns, f, f.real, rows, inverse)
					}
				}
				var e float64
				var err error
				switch {
				case f.real && inverse:
					continue
				case f.real:
					x := ffttest.Noise(2 * n * rows)
					var got []float32
					got, err = tryLaunch(d, x, gpu.Float, len(x), gpu.Float2, rows*(n+1), launch)
					e = kernels.RelativeError(got, ffttest.Real(x, 2*n))
				default:
					e, err = mixedError(d, n, rows, inverse, launch)
				}
				if err != nil || !(e <= tolerance) {
					t.Errorf("inverse %v: relative error %.2g, %v", inverse, e, err)
				}
			}
		})
	}
}
