package transform

import (
	"testing"

	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// TestTouchesNothingElse checks that no kernel reads or writes beyond its slices.
func TestTouchesNothingElse(t *testing.T) {
	for _, n := range append(shortLengths(), 1080, 1125, 1458, 2250, 4374) {
		if n < 16 {
			continue
		}
		plan, full := NewReal(n), NewComplex(n)
		samples, moreSamples := kerneltest.Guarded(t, n)
		bins, moreBins := kerneltest.Guarded(t, 2*(n/2+1))
		values, moreValues := kerneltest.Guarded(t, 2*n)
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
		samples, moreSamples := kerneltest.Guarded(t, n)
		bins, moreBins := kerneltest.Guarded(t, 2*(n/2+1))
		for _, x := range [][]float32{samples, moreSamples} {
			copy(x, ffttest.Noise(n))
			for _, y := range [][]float32{bins, moreBins} {
				divided.Forward(pairs(y), x)
				divided.Inverse(x, pairs(y))
			}
		}
		values, moreValues := kerneltest.Guarded(t, n)
		whole, output := NewComplexSplit(n/2, workers), make([]complex64, n/2)
		for _, z := range [][]float32{values, moreValues} {
			whole.Forward(output, pairs(z))
			whole.Inverse(pairs(z), output)
		}
	}
}
