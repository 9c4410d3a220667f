//go:build amd64 || arm64

package transform

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"crossover/kernels/fft/ffttest"
	"crossover/pool"
)

// withoutLanes turns the assembly off for the rest of a test.
func withoutLanes(t *testing.T) {
	before := haveLanes
	haveLanes = false
	t.Cleanup(func() { haveLanes = before })
}

// TestLanesAgainstGo compares assembly with the Go passes at the lengths that assembly takes.
func TestLanesAgainstGo(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	for n := 32; n <= 8192; n += 2 {
		_, smooth := factor(n)
		lanes := newLaneReal(n)
		width, _ := gridWidth(n / 2)
		if want := smooth && (laneWidth(n/2) > 0 || width > 0); want != (lanes != nil) {
			t.Fatalf("n=%d: has lanes is %v, want %v", n, lanes != nil, want)
		}
		if lanes == nil {
			continue
		}
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, got, back := ffttest.Noise(n), make([]complex64, n/2+1), make([]float32, n)
			lanes.Forward(got, x)
			lanes.Inverse(back, got)
			y, gotComplex, backComplex := ffttest.ComplexNoise(n), make([]complex64, n), make([]complex64, n)
			full := newLaneTransform(n)
			full.Forward(gotComplex, y)
			full.Inverse(backComplex, y)

			withoutLanes(t)
			want, wantBack := make([]complex64, n/2+1), make([]float32, n)
			NewReal(n).Forward(want, x)
			NewReal(n).Inverse(wantBack, got)
			ffttest.Expect(t, "forward", floats(got), ffttest.Widen(floats(want)), 4e-7)
			ffttest.Expect(t, "inverse", back, ffttest.Widen(wantBack), 4e-7)
			wantComplex := make([]complex64, n)
			NewComplex(n).Forward(wantComplex, y)
			ffttest.Expect(t, "complex forward", floats(gotComplex), ffttest.Widen(floats(wantComplex)), 4e-7)
			NewComplex(n).Inverse(wantComplex, y)
			ffttest.Expect(t, "complex inverse", floats(backComplex), ffttest.Widen(floats(wantComplex)), 4e-7)
		})
	}
}

// TestSplit compares a transform on several workers, by blocks and by grids, with the one on a single core.
func TestSplit(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	workers := pool.New(4)
	defer workers.Close()
	for _, n := range []int{1 << 15, 36450, 51030, 1 << 16, 81920, 96000, 92160, 1 << 17, 78732, 87480, 88200, 139968, 157464, 7 << 14} {
		divided := NewSplit(n, workers)
		if divided == nil {
			t.Errorf("n=%d is not split", n)
			continue
		}
		x, got, want := ffttest.Noise(n), make([]complex64, n/2+1), make([]complex64, n/2+1)
		divided.Forward(got, x)
		NewReal(n).Forward(want, x)
		ffttest.Expect(t, fmt.Sprintf("n=%d", n), floats(got), ffttest.Widen(floats(want)), 4e-7)
		back, wantBack := make([]float32, n), make([]float32, n)
		divided.Inverse(back, want)
		NewReal(n).Inverse(wantBack, want)
		ffttest.Expect(t, fmt.Sprintf("n=%d, inverse", n), back, ffttest.Widen(wantBack), 4e-7)
		if allocations := testing.AllocsPerRun(5, func() { divided.Forward(got, x); divided.Inverse(back, got) }); allocations != 0 {
			t.Errorf("n=%d: %v allocations, want 0", n, allocations)
		}

		h := n / 2
		whole, values := NewComplexSplit(h, workers), ffttest.ComplexNoise(h)
		result, wantResult := make([]complex64, h), make([]complex64, h)
		whole.Forward(result, values)
		NewComplex(h).Forward(wantResult, values)
		ffttest.Expect(t, fmt.Sprintf("n=%d, complex", h), floats(result), ffttest.Widen(floats(wantResult)), 4e-7)
		whole.Inverse(result, values)
		NewComplex(h).Inverse(wantResult, values)
		ffttest.Expect(t, fmt.Sprintf("n=%d, complex inverse", h), floats(result), ffttest.Widen(floats(wantResult)), 4e-7)
		if allocations := testing.AllocsPerRun(5, func() { whole.Forward(result, values) }); allocations != 0 {
			t.Errorf("n=%d, complex: %v allocations, want 0", h, allocations)
		}
	}
	if NewSplit(1<<14, workers) != nil || NewComplexSplit(1<<13, workers) != nil {
		t.Error("a length that is too short is split")
	}
	alone := pool.New(1)
	defer alone.Close()
	if NewSplit(1<<16, alone) != nil || NewComplexSplit(1<<15, alone) != nil {
		t.Error("a single worker splits")
	}
}

// TestGrid compares transforms by every grid of a length with the one in Go. Numbers of columns and their lengths have every
// remainder modulo eight, and every radix occurs in first, middle and last place.
func TestGrid(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	for _, n := range []int{64, 72, 81, 90, 100, 120, 135, 144, 225, 243, 441, 540, 625, 735, 750, 768, 1000, 1024, 1125, 1200, 2187, 2205, 3000, 4096, 5400} {
		x, samples := ffttest.ComplexNoise(n), ffttest.Noise(2*n)
		want, wantBack, wantBins := make([]complex64, n), make([]complex64, n), make([]complex64, n+1)
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			withoutLanes(t)
			NewComplex(n).Forward(want, x)
			NewComplex(n).Inverse(wantBack, x)
			NewReal(2*n).Forward(wantBins, samples)
		})
		for width := 8; width*8 <= n; width++ {
			if n%width != 0 {
				continue
			}
			what := fmt.Sprintf("%d columns of %d", width, n/width)
			g, got := newGrid(n, width), make([]complex64, n)
			fillNaN(g.spectra, g.spare, g.scratch[0], g.scratch[1])
			g.Forward(got, x)
			ffttest.Expect(t, what, floats(got), ffttest.Widen(floats(want)), 4e-7)
			g.Inverse(got, x)
			ffttest.Expect(t, what+", inverse", floats(got), ffttest.Widen(floats(wantBack)), 4e-7)

			plan, bins, back := newLaneRealBy(g.withScratch(), 2*n), make([]complex64, n+1), make([]float32, 2*n)
			plan.Forward(bins, samples)
			ffttest.Expect(t, what+", real", floats(bins), ffttest.Widen(floats(wantBins)), 4e-7)
			plan.Inverse(back, bins)
			ffttest.Expect(t, what+", real inverse", back, ffttest.Widen(samples), 5e-7)
			if allocations := testing.AllocsPerRun(2, func() { plan.Forward(bins, samples) }); allocations != 0 {
				t.Errorf("%s: %v allocations, want 0", what, allocations)
			}
		}
	}
}

// fillNaN overwrites the results of an earlier transform.
func fillNaN(memory ...[]float32) {
	for _, m := range memory {
		for i := range m {
			m[i] = float32(math.NaN())
		}
	}
}

// TestGridTaken checks that long lengths take a grid if lanes would stay empty, and the width of the grid.
func TestGridTaken(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	for n, want := range map[int]int{
		540: 36, 729: 27, 3375: 45, 13500: 100, 19683: 81, 354294: 729, // 8 columns or more
		2401: 49,
		49:   7, 98: 7, 343: 7,
		20: 5, 54: 3, 625: 5, 512: 8, 1 << 17: 8, 500000: 8, // lanes
	} {
		if got, _ := newLaneTransform(n).rows(); got != want {
			t.Errorf("n=%d: width %d, want %d", n, got, want)
		}
	}
	for _, n := range evenLengths(2000, 1<<20) {
		if width, cost := gridWidth(n); n%8 != 0 && laneWidth(n) > 0 &&
			(width == 0 || laneWidth(n) != 7 && cost >= lanesCost(laneWidth(n), n/laneWidth(n))) {
			t.Errorf("n=%d leaves lanes empty", n)
		}
	}
}

// TestGridLikeSerial checks that a transform on several workers has the same bits as the one by the same grid on a single
// core.
func TestGridLikeSerial(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	var pools []*pool.Pool
	for _, workers := range []int{1, 2, 3, 16} {
		p := pool.New(workers)
		defer p.Close()
		pools = append(pools, p)
	}
	taken, least := 0, 40
	if testing.Short() {
		least = 5
	}
	widths, lengths := map[int]bool{}, 0
	for _, n := range gridLengths(1<<16, 700_000) {
		width, _ := gridWidth(n / 2)
		if n > 100_000 && widths[width] { // one of each width suffices there
			continue
		}
		widths[width] = true
		if lengths++; testing.Short() && lengths%10 != 0 {
			continue
		}
		serial := newGrid(n/2, width)
		x, want, got := ffttest.Noise(n), make([]complex64, n/2+1), make([]complex64, n/2+1)
		newLaneRealBy(serial, n).Forward(want, x)
		back, wantBack := make([]float32, n), make([]float32, n)
		newLaneRealBy(serial, n).Inverse(wantBack, want)
		for _, p := range pools {
			half := newGridDivision(serial.withScratch(), p)
			divided := newSplitBy(half)
			spoil := func() {
				fillNaN(half.grid.spectra, half.grid.spare, floats(got), back)
				for _, s := range half.scratch {
					fillNaN(s[0], s[1])
				}
			}
			spoil()
			divided.Forward(got, x)
			if !slices.Equal(got, want) {
				t.Errorf("n=%d, workers=%d: the bits differ", n, p.Workers())
			}
			spoil()
			divided.Inverse(back, want)
			if !slices.Equal(back, wantBack) {
				t.Errorf("n=%d, workers=%d: the bits of the inverse differ", n, p.Workers())
			}
		}
		taken++
	}
	if taken < least {
		t.Errorf("%d lengths, want %d", taken, least)
	}
}

// evenLengths returns the even lengths from lo to hi without a prime factor above 7.
func evenLengths(lo, hi int) []int {
	var found []int
	for n := lo + lo%2; n <= hi; n += 2 {
		if _, smooth := factor(n); smooth {
			found = append(found, n)
		}
	}
	return found
}

// gridLengths returns those even lengths that cannot be divided into eight blocks.
func gridLengths(lo, hi int) []int {
	return slices.DeleteFunc(evenLengths(lo, hi), func(n int) bool { return n/2%64 == 0 })
}

// TestSplitLengths checks which lengths are divided.
func TestSplitLengths(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor does not run the kernels")
	}
	few, many := pool.New(fewWorkers), pool.New(fewWorkers+1)
	defer few.Close()
	defer many.Close()
	for n, want := range map[int][2]bool{ // by few workers, and by many
		32000: {false, false}, 32768: {false, true}, 51030: {false, true}, 51032: {false, false}, 65536: {false, true}, 65537: {false, false}, 65610: {false, true}, 78732: {false, true},
		87480: {false, true}, 100000: {false, true}, 112500: {true, true}, 139968: {true, true}, 150000: {true, true},
		150001: {false, false}, 729000: {true, true}, 729014: {false, false},
	} {
		if got := [2]bool{NewSplit(n, few) != nil, NewSplit(n, many) != nil}; got != want {
			t.Errorf("n=%d: divided is %v, want %v", n, got, want)
		}
	}
}

// TestAssemblyStaysInAVX2 checks that the assembly has no registers of AVX-512, which the generator takes if it runs out of
// sixteen.
func TestAssemblyStaysInAVX2(t *testing.T) {
	text, err := os.ReadFile("lanes_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`\b[XYZ](1[6-9]|2[0-9]|3[01])\b|\bZ[0-9]|AVX512`).Find(text); found != nil {
		t.Errorf("the assembly holds %s", found)
	}
}
