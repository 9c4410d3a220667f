package fft

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"crossover/kernels"
)

// directDFT is the definition, in float64: bins 0 to n/2.
func directDFT(x []float32) []complex128 {
	n := len(x)
	bins := make([]complex128, n/2+1)
	for k := range bins {
		for j, v := range x {
			bins[k] += complex(float64(v), 0) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
		}
	}
	return bins
}

// interleave lays complex values out as real and imaginary parts in turn.
func interleave(bins []complex128) []float64 {
	out := make([]float64, 0, 2*len(bins))
	for _, b := range bins {
		out = append(out, real(b), imag(b))
	}
	return out
}

func interleave32(bins []complex64) []float32 {
	out := make([]float32, 0, 2*len(bins))
	for _, b := range bins {
		out = append(out, real(b), imag(b))
	}
	return out
}

func widen(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func smallLengths() []int {
	lengths := []int{72, 80, 81, 96, 97, 100, 101, 120, 125, 127, 128, 144, 160, 192, 240, 243, 256, 257, 360, 480, 500, 509, 512, 600,
		625, 720, 729, 768, 960, 1000, 1009, 1024, 1200, 1280, 1536, 1920, 2048}
	for n := 64; n >= 1; n-- {
		lengths = append(lengths, n)
	}
	return lengths
}

func TestRealAgainstDefinition(t *testing.T) {
	for _, n := range smallLengths() {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			x := make([]float32, n)
			kernels.Noise(x, uint64(n))
			bins := make([]complex64, n/2+1)
			plan := NewReal(n)
			plan.Forward(bins, x)
			if e := kernels.RelativeError(interleave32(bins), interleave(directDFT(x))); e > 5e-7 {
				t.Errorf("forward: relative error %.2g, want at most 5e-7", e)
			}
			back := make([]float32, n)
			plan.Inverse(back, bins)
			if e := kernels.RelativeError(back, widen(x)); e > 1e-6 {
				t.Errorf("inverse of forward: relative error %.2g, want at most 1e-6", e)
			}
		})
	}
}
