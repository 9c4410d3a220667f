package launch

import (
	"fmt"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/ffttest"
)

// mixedError returns how far the transforms of batch rows of n complex values are from the reference.
func mixedError(d *gpu.Device, n, batch int, inverse bool, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) (float64, error) {
	x := ffttest.ComplexNoise(n * batch)
	got, err := tryLaunch(d, kernels.ComplexWords(x), gpu.Float2, len(x), gpu.Float2, len(x), launch)
	return kernels.RelativeError(got, ffttest.Complex(x, n, inverse)), err
}

// TestMixedLengths has every length to 400 without a prime factor above 7, and longer ones: with each factor alone, with all
// factors, with the most passes, and in two steps with tiles that are not full.
func TestMixedLengths(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	d := emulator.Open(t)
	var lengths []int
	for n := shortestRow; n <= 400; n++ {
		if isMixed(n) && !isPowerOfTwo(n) {
			lengths = append(lengths, n)
		}
	}
	lengths = append(lengths, 486, 625, 729, 960, 1029, 1458, 1500, 1680, 1875, 2187, 2401, 3000, 3125, 3750, 4374,
		6561, 7776, 10125, 12500, 15625, 16807)
	for _, n := range lengths {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			t.Parallel()
			for _, inverse := range []bool{false, true} {
				batches := []int{1, 2, 3}
				if n < 100 {
					batches = []int{1, 2, 1024/n + 1, 2*(1024/n) + 1}
				}
				for _, batch := range batches {
					e, err := mixedError(d, n, batch, inverse, func(b *gpu.Builder, dst, src *gpu.Buffer) {
						if !appendMixed(b, dst, src, n, batch, inverse, false) {
							t.Error("it has no kernels")
						}
					})
					if err != nil || e > tolerance {
						t.Errorf("batch %d, inverse %v: relative error %.2g, %v", batch, inverse, e, err)
					}
				}
			}
		})
	}
}

// TestMixedReal has pairs of real values, in one kernel and in two. Matrices have an even or an odd number of rows, and some
// tiles are not full.
func TestMixedReal(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	d := emulator.Open(t)
	for _, n := range []int{18, 20, 24, 30, 36, 90, 96, 162, 210, 486, 960, 1080, 1944, 2250, 3000, 4802, 7500, 8748, 12150, 13122,
		15360, 20250, 31250} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			t.Parallel()
			for _, batch := range []int{1, 3, 4096/n + 2} {
				if batch > 3 && n > 1000 {
					continue
				}
				x := ffttest.Noise(n * batch)
				got, err := tryLaunch(d, x, gpu.Float, len(x), gpu.Float2, batch*(n/2+1), func(b *gpu.Builder, dst, src *gpu.Buffer) {
					if !appendMixed(b, dst, src.As(gpu.Float2), n/2, batch, false, true) {
						t.Error("it has no kernels")
					}
				})
				if e := kernels.RelativeError(got, ffttest.Real(x, n)); err != nil || e > tolerance {
					t.Errorf("batch %d: relative error %.2g, %v", batch, e, err)
				}
			}
		})
	}
}

// TestMixedTiles has tiles that no length chooses: each radix in every pass, every number of transforms, and passes that
// overwrite their input.
func TestMixedTiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	t.Parallel()
	d := emulator.Open(t)
	const rows = 5
	for _, radices := range [][]int{
		{2}, {3}, {8, 2}, {2, 8}, {3, 9, 2}, {4, 3, 5}, {5, 7, 6}, {7, 9, 2}, {10, 3, 10}, {2, 3, 2, 5, 2, 3}, {8, 10, 3},
	} {
		for side := 1; side <= 4; side++ {
			for _, shared := range []bool{false, true} {
				flat := tile{radices, side, rowTile, shared, false}
				n := flat.length()
				check := func(what string, n int, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) {
					t.Helper()
					if e, err := mixedError(d, n, rows, false, launch); err != nil || e > tolerance {
						t.Errorf("%s of %v, %d at a time, shared %v: relative error %.2g, %v", what, radices, side, shared, e, err)
					}
				}
				if flat.fits() {
					check("rows", n, func(b *gpu.Builder, dst, src *gpu.Buffer) {
						launchRows(b, flat, dst, src, false, rows, false)
					})
				}
				columns := tile{radices, side, columnTile, shared, false}
				turned := tile{[]int{3, 2}, side, turnedTile, shared, false}
				if columns.fits() {
					check("columns", 6*n, func(b *gpu.Builder, dst, src *gpu.Buffer) {
						appendSteps(b, dst, src, columns, turned, false, rows, false)
					})
				}
				columns, turned = tile{[]int{5}, side, columnTile, shared, false}, tile{radices, side, turnedTile, shared, false}
				if len(radices) > 1 && turned.fits() {
					check("turned rows", 5*n, func(b *gpu.Builder, dst, src *gpu.Buffer) {
						appendSteps(b, dst, src, columns, turned, false, rows, false)
					})
				}
			}
		}
	}
}

// TestMixedShapes checks what the kernel assumes of tiles, the limits of every device, and that the lengths of the catalogue
// take at most two kernels.
func TestMixedShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	t.Parallel()
	check := func(n int, u tile) {
		t.Helper()
		if u.length() != n || len(u.radices) > mostPasses || u.layout == turnedTile && len(u.radices) < 2 {
			t.Errorf("%d: radices %v", n, u.radices)
		}
		for _, r := range u.radices {
			if !slices.Contains(mixedRadices, r) {
				t.Errorf("%d: radix %d", n, r)
			}
		}
		if c := u.cells(); 8*c > 32<<10 {
			t.Errorf("%d: %d cells", n, c)
		}
		if u.threads() > mixedThreads || u.threads()%32 != 0 {
			t.Errorf("%d: %d threads", n, u.threads())
		}
		if u.shared && u.threads() < u.side*n/slices.Min(u.radices) {
			t.Errorf("%d: a thread takes more than one butterfly and passes write over what they read", n)
		}
	}
	for _, cores := range []int{0, 10, 132} {
		facts := gpu.Facts{Cores: cores, ThreadgroupBytes: 32 << 10}
		for n := shortestRow; n <= 1<<19; n++ {
			if n%7 == 0 || !isMixed(n) || isPowerOfTwo(n) {
				continue
			}
			for _, batch := range []int{1, 3, 10_000} {
				for _, real := range []bool{false, true} {
					if row, ok := mixedRow(n, batch, real); ok {
						check(n, row)
						continue
					}
					columns, turned, ok := mixedSteps(facts, n, batch, real)
					if !ok {
						t.Errorf("%d: takes more than two kernels", n)
						continue
					}
					if columns.length()*turned.length() != n {
						t.Errorf("%d: steps of %d and %d", n, columns.length(), turned.length())
					}
					check(columns.length(), columns)
					check(turned.length(), turned)
				}
			}
		}
	}
	for b := 1; b <= mixedCells; b++ {
		for _, a := range []int{0, 1, b - 1, b, b + 1, 2*b - 1, 2 * b, mixedCells - 1, mixedCells / b * b, 2*mixedCells - 1} {
			if got := int(uint64(2*a) * uint64(over(b)) >> 32); got != a/b {
				t.Fatalf("%d / %d becomes %d", a, b, got)
			}
		}
	}
}
