package transform

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"crossover/kernels/fft/ffttest"
	"crossover/pool"
)

// guarded returns n zeros at the end of readable memory, and n zeros at the beginning of readable memory. The process dies
// if something touches memory beyond.
func guarded(t *testing.T, n int) (atEnd, atBegin []float32) {
	t.Helper()
	page := os.Getpagesize()
	room := (4*n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
	inside := memory[page:][:room]
	if err := unix.Mprotect(inside, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Skip(err)
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(&inside[0])), room/4)
	return values[room/4-n:], values[:n]
}

// TestTouchesNothingElse checks that no kernel reads or writes beyond its slices.
func TestTouchesNothingElse(t *testing.T) {
	for _, n := range append(shortLengths(), 1080, 1125, 1458, 2250, 4374) {
		if n < 16 {
			continue
		}
		plan, full := NewReal(n), NewComplex(n)
		samples, moreSamples := guarded(t, n)
		bins, moreBins := guarded(t, 2*(n/2+1))
		values, moreValues := guarded(t, 2*n)
		output := make([]complex64, n)
		for _, x := range [][]float32{samples, moreSamples} {
			copy(x, ffttest.Noise(n))
			for _, y := range [][]float32{bins, moreBins} {
				plan.Forward(pairs(y), x)
				plan.Inverse(x, pairs(y))
			}
		}
		for _, z := range [][]float32{values, moreValues} {
			full.Forward(output, pairs(z))
			full.Forward(pairs(z), output)
			full.Inverse(output, pairs(z))
			full.Inverse(pairs(z), output)
		}
	}
}

// TestSplitTouchesNothingElse is TestTouchesNothingElse for transforms on several workers, by grids and in blocks.
func TestSplitTouchesNothingElse(t *testing.T) {
	workers := pool.New(3)
	defer workers.Close()
	for _, n := range []int{1 << 16, 78732, 87480, 139968, 157464, 150000} {
		divided := NewSplit(n, workers)
		if divided == nil {
			t.Skip("the processor does not split a transform")
		}
		samples, moreSamples := guarded(t, n)
		bins, moreBins := guarded(t, 2*(n/2+1))
		for _, x := range [][]float32{samples, moreSamples} {
			copy(x, ffttest.Noise(n))
			for _, y := range [][]float32{bins, moreBins} {
				divided.Forward(pairs(y), x)
			}
		}
	}
}
