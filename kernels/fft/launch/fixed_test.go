package launch

import (
	"fmt"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
)

// hopper are the facts of a GPU that fixed.metal has been timed on.
var hopper = gpu.Facts{API: "cuda", Cores: 132, ThreadgroupBytes: 48 << 10}

// TestFixedTiles has each radix, tiles that are not full, threads with several butterflies, both layouts of matrices, and bins
// of real values.
func TestFixedTiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	d := emulator.Open(t)
	const rows = 5
	for _, f := range []fixed{
		{radices: []int{12}, side: 4, threads: 32},
		{radices: []int{2, 14}, side: 2, threads: 32},
		{radices: []int{16, 15}, side: 3, threads: 32, double: true},
		{radices: []int{10, 8, 12}, side: 2, threads: 256},
		{radices: []int{5, 4, 7, 6}, side: 1, threads: 224, double: true},
		{radices: []int{12}, side: 4, threads: 32, real: true},
		{radices: []int{3, 9, 2}, side: 2, threads: 32, real: true, double: true},
		{radices: []int{5, 2, 3, 4}, side: 2, threads: 64, real: true},
		{radices: []int{15, 16}, side: 4, layout: columnTile, threads: 64},
		{radices: []int{10, 3, 2}, side: 8, layout: columnTile, threads: 128, double: true},
		{radices: []int{10, 14}, side: 4, layout: turnedTile, threads: 64},
		{radices: []int{4, 3, 5}, side: 8, layout: turnedTile, threads: 160},
		{radices: []int{10, 14}, side: 4, layout: turnedTile, threads: 64, real: true},
		{radices: []int{4, 3, 5}, side: 8, layout: turnedTile, threads: 96, real: true, double: true},
	} {
		t.Run(fmt.Sprintf("%v,layout=%d,side=%d,real=%v", f.radices, f.layout, f.side, f.real), func(t *testing.T) {
			t.Parallel()
			n, launch := f.length(), func(b *gpu.Builder, dst, src *gpu.Buffer, inverse bool) {
				launchRows(b, f, dst, src.As(gpu.Float2), f.real, rows, inverse)
			}
			switch f.layout {
			case columnTile:
				n *= 6
				turned := fixed{radices: []int{3, 2}, side: 4, layout: turnedTile, threads: 32}
				launch = func(b *gpu.Builder, dst, src *gpu.Buffer, inverse bool) {
					appendSteps(b, dst, src, f, turned, false, rows, inverse)
				}
			case turnedTile:
				n *= 9
				columns := fixed{radices: []int{9}, side: 4, layout: columnTile, threads: 32}
				launch = func(b *gpu.Builder, dst, src *gpu.Buffer, inverse bool) {
					appendSteps(b, dst, src.As(gpu.Float2), columns, f, f.real, rows, inverse)
				}
			}
			inverse := len(f.radices)%2 == 0 && !f.real
			e, err := fixedError(d, n, rows, inverse, f.real, func(b *gpu.Builder, dst, src *gpu.Buffer) {
				launch(b, dst, src, inverse)
			})
			if err != nil || !(e <= tolerance) {
				t.Errorf("inverse %v: relative error %.2g, %v", inverse, e, err)
			}
		})
	}
}

// fixedError is mixedError for real values too, which are then 2n a row.
func fixedError(d *gpu.Device, n, batch int, inverse, real bool, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) (float64, error) {
	if !real {
		return mixedError(d, n, batch, inverse, launch)
	}
	x := ffttest.Noise(2 * n * batch)
	got, err := tryLaunch(d, x, gpu.Float, len(x), gpu.Float2, batch*(n+1), launch)
	return kernels.RelativeError(got, ffttest.Real(x, 2*n)), err
}

// TestFixedLengths has lengths with the tiles that they choose, in one threadgroup and in two steps.
func TestFixedLengths(t *testing.T) {
	d := emulator.Open(t)
	for _, tc := range []struct {
		n, batch int
		real     bool
	}{{60, 30, false}, {960, 3, false}, {1500, 1, true}, {9600, 1, false}, {12960, 1, true}} {
		t.Run(fmt.Sprintf("n=%d,real=%v", tc.n, tc.real), func(t *testing.T) {
			t.Parallel()
			e, err := fixedError(d, tc.n, tc.batch, false, tc.real, func(b *gpu.Builder, dst, src *gpu.Buffer) {
				if !appendFixed(b, dst, src.As(gpu.Float2), tc.n, tc.batch, false, tc.real) {
					t.Error("it has no kernels")
				}
			})
			if err != nil || !(e <= tolerance) {
				t.Errorf("relative error %.2g, %v", e, err)
			}
		})
	}
}

// TestFixedBarriers removes each barrier, with one copy of the points and with two.
func TestFixedBarriers(t *testing.T) {
	t.Parallel()
	op := complexOp(func(b *gpu.Builder, _, s kernels.Shape, t []*gpu.Buffer) {
		f := fixed{radices: []int{5, 6, 8}, side: 1, threads: 64, double: s[1] == 2}
		launchRows(b, f, t[0], t[1], false, s[1], false)
	})
	kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{240, 1}, kernels.Shape{240, 2})
}

// TestFixedShapes checks what the kernel assumes of tiles, the limits of the device, and that few transforms are spread over
// its cores.
func TestFixedShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	t.Parallel()
	check := func(n int, f fixed) {
		t.Helper()
		if f.length() != n || len(f.radices) > mostFixedPasses || f.layout == turnedTile && len(f.radices) < 2 {
			t.Errorf("%d: radices %v", n, f.radices)
		}
		for _, r := range f.radices {
			if !slices.Contains(fixedRadices, r) {
				t.Errorf("%d: radix %d", n, r)
			}
		}
		if c := f.cells(); 8*c > hopper.ThreadgroupBytes {
			t.Errorf("%d: %d cells", n, c)
		}
		if f.threads < 32 || f.threads > fixedThreads || f.threads%32 != 0 {
			t.Errorf("%d: %d threads", n, f.threads)
		}
		if f.real && f.layout == turnedTile && f.side%2 != 0 {
			t.Errorf("%d: %d rows and mirror images", n, f.side)
		}
	}
	for n := 100; n <= 1<<21; n += 20 + n/16/20*20 {
		if !isMixed(n) || isPowerOfTwo(n) {
			continue
		}
		for _, batch := range []int{1, 300, 100_000} {
			for _, real := range []bool{false, true} {
				if row, ok := fixedRow(hopper, n, batch, real); ok {
					check(n, row)
					if row.side > 1 && row.side*hopper.Cores > batch {
						t.Errorf("%d: %d at a time of %d", n, row.side, batch)
					}
					continue
				}
				columns, turned, ok := fixedSteps(hopper, n, batch, real)
				if !ok {
					continue
				}
				check(columns.length(), columns)
				check(turned.length(), turned)
				if columns.length()*turned.length() != n {
					t.Errorf("%d: steps of %d and %d", n, columns.length(), turned.length())
				}
			}
		}
	}
}

// TestFixedConflicts checks that neighbouring threads seldom access the same bank, at lengths that are timed.
func TestFixedConflicts(t *testing.T) {
	for _, f := range []fixed{
		{radices: []int{15, 10, 10}, side: 2},
		{radices: []int{12, 12}, side: 16, layout: columnTile},
		{radices: []int{12, 15}, side: 16, layout: turnedTile},
	} {
		for pass, x := range f.laid().places {
			if x.conflicts > 2*banks+2 {
				t.Errorf("%v, pass %d: %d sixteenths of an access", f.radices, pass, x.conflicts)
			}
		}
	}
}

// TestTakeFixed checks that the number of lengths is bounded, and that those that were taken stay.
func TestTakeFixed(t *testing.T) {
	saved := fixedLengths.taken
	fixedLengths.taken = nil
	defer func() { fixedLengths.taken = saved }()
	taken := 0
	for n := range 2 * mostFixed {
		if takeFixed(hopper, n) {
			taken++
		}
	}
	if taken != mostFixed || !takeFixed(hopper, 0) || takeFixed(hopper, 2*mostFixed) {
		t.Errorf("%d lengths have texts; want the first %d", taken, mostFixed)
	}
	if takeFixed(gpu.Facts{API: "metal", Cores: 10, ThreadgroupBytes: 32 << 10}, 0) {
		t.Error("an API that was not tried takes them")
	}
}
