package fft

import (
	"fmt"
	"os"
	"regexp"
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

// TestSplit holds a transform over several workers to the one on a single core.
func TestSplit(t *testing.T) {
	if !haveLanes {
		t.Skip("the processor has no AVX2 and FMA")
	}
	workers := pool.New(4)
	defer workers.Close()
	for _, n := range []int{1 << 16, 81920, 96000, 92160, 1 << 17} {
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
		t.Error("a short length and one that has too few factors of two are split")
	}
	alone := pool.New(1)
	defer alone.Close()
	if newSplit(1<<16, alone) != nil {
		t.Error("a single worker splits")
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
