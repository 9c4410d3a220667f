package fft

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"crossover/pool"
)

// withoutLanes turns the assembly off for the rest of a test.
func withoutLanes(t *testing.T) {
	before := haveLanes
	haveLanes = false
	t.Cleanup(func() { haveLanes = before })
}

// TestLanesAgainstGo holds every length that the assembly takes to the Go passes.
func TestLanesAgainstGo(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor has no AVX2 and FMA")
	}
	for n := 32; n <= 8192; n += 2 {
		_, smooth := factor(n)
		lanes := newLaneReal(n, 1)
		if smooth != (lanes != nil) {
			t.Fatalf("n=%d: without large factors is %v, has lanes is %v", n, smooth, lanes != nil)
		}
		if !smooth {
			continue
		}
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x, got, back := noise(n), make([]complex64, n/2+1), make([]float32, n)
			lanes.forward(got, x)
			lanes.inverse(back, got)
			y, gotComplex, backComplex := complexNoise(n), make([]complex64, n), make([]complex64, n)
			full := newLanes(n, 1)
			full.forward(gotComplex, y)
			full.inverse(backComplex, y)

			withoutLanes(t)
			want, wantBack := make([]complex64, n/2+1), make([]float32, n)
			NewReal(n).Forward(want, x)
			NewReal(n).Inverse(wantBack, got)
			expect(t, "forward", floats(got), widen(floats(want)), 4e-7)
			expect(t, "inverse", back, widen(wantBack), 4e-7)
			wantComplex := make([]complex64, n)
			NewComplex(n).Forward(wantComplex, y)
			expect(t, "complex forward", floats(gotComplex), widen(floats(wantComplex)), 4e-7)
			NewComplex(n).Inverse(wantComplex, y)
			expect(t, "complex inverse", floats(backComplex), widen(floats(wantComplex)), 4e-7)
		})
	}
}

// TestSplit holds a transform over several workers to the one on a single core: by blocks, and by columns of each width.
func TestSplit(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor has no AVX2 and FMA")
	}
	workers := pool.New(4)
	defer workers.Close()
	for _, n := range []int{1 << 16, 81920, 96000, 92160, 1 << 17, 78732, 87480, 139968, 157464} {
		divided := newSplit(n, workers)
		if divided == nil {
			t.Errorf("n=%d is not split", n)
			continue
		}
		x, got, want := noise(n), make([]complex64, n/2+1), make([]complex64, n/2+1)
		divided.Forward(got, x)
		NewReal(n).Forward(want, x)
		expect(t, fmt.Sprintf("n=%d", n), floats(got), widen(floats(want)), 4e-7)
		if allocations := testing.AllocsPerRun(5, func() { divided.Forward(got, x) }); allocations != 0 {
			t.Errorf("n=%d: %v allocations, want 0", n, allocations)
		}
	}
	if newSplit(1<<15, workers) != nil || newSplit(100000, workers) != nil {
		t.Error("a length that is too short for blocks or one that is too short for columns is split")
	}
	alone := pool.New(1)
	defer alone.Close()
	if newSplit(1<<16, alone) != nil {
		t.Error("a single worker splits")
	}
}

// TestColumnsLikeSerial checks that a transform by columns has the very bits of the one on a single core: it computes the
// same in another order.
func TestColumnsLikeSerial(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor has no AVX2 and FMA")
	}
	var pools []*pool.Pool
	for _, workers := range []int{1, 2, 3, 16} {
		p := pool.New(workers)
		defer p.Close()
		pools = append(pools, p)
	}
	widths, taken := map[int]int{}, 0
	for i, n := range columnLengths(1<<16, 2_000_000) {
		if i%2 == 1 && n > 100_000 {
			continue
		}
		serial := newLaneReal(n, 1)
		x, want := noise(n), make([]complex64, n/2+1)
		serial.forward(want, x)
		for _, p := range pools {
			expectColumns(t, fmt.Sprintf("n=%d, workers=%d", n, p.Workers()), serial, p, x, want)
		}
		widths[serial.half.width]++
		taken++
	}
	if taken < 60 || len(widths) != 4 {
		t.Errorf("%d lengths, by width %v: want 60 and four widths", taken, widths)
	}
}

// columnLengths returns the lengths from lo to hi that do not fall into eight blocks.
func columnLengths(lo, hi int) []int {
	return slices.DeleteFunc(slices.Clone(lengths()), func(n int) bool {
		half := n / 2
		return n < lo || n > hi || half%64 == 0
	})
}

// expectColumns transforms x by columns, in memory full of NaN, so that nothing can be left over from another transform.
func expectColumns(t *testing.T, what string, serial *laneReal, workers *pool.Pool, x []float32, want []complex64) {
	t.Helper()
	divided := newColumnSplit(serial.clone().(*laneReal), workers)
	got := make([]complex64, len(want))
	for _, memory := range [][]float32{divided.t.half.front, divided.t.half.back, floats(got)} {
		for i := range memory {
			memory[i] = float32(math.NaN())
		}
	}
	divided.Forward(got, x)
	for k := range got {
		if got[k] != want[k] {
			t.Errorf("%s: bin %d is %v, want %v", what, k, got[k], want[k])
			return
		}
	}
}

// TestSplitLengths checks which lengths are divided.
func TestSplitLengths(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor has no AVX2 and FMA")
	}
	workers := pool.New(2)
	defer workers.Close()
	for n, want := range map[int]bool{
		64000: false, 65536: true, 65537: false, 65610: false, 78732: true, 81000: false, 87480: true, // by width 8, 5, 3
		129600: false, 139968: true, 150000: true, 150001: false, 157464: true, 729000: true, 729014: false,
	} {
		if got := newSplit(n, workers) != nil; got != want {
			t.Errorf("n=%d: divided is %v, want %v", n, got, want)
		}
	}
}

// TestAssemblyStaysInAVX2 checks that the generator ran out of no registers: beyond sixteen it takes those of AVX-512.
func TestAssemblyStaysInAVX2(t *testing.T) {
	text, err := os.ReadFile("lanes_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`\b[XYZ](1[6-9]|2[0-9]|3[01])\b|\bZ[0-9]|AVX512`).Find(text); found != nil {
		t.Errorf("the assembly holds %s", found)
	}
}
