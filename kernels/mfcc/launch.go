package mfcc

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed mfcc.metal
var text string

const (
	peakThreads   = 256 // in a threadgroup that looks for the peak
	peakVectors   = 8   // of four powers, that a thread loads at a time
	groupsPerCore = 2

	threads       = 128 // in a threadgroup that computes coefficients
	mostTogether  = 32  // frames of a threadgroup
	mostPerThread = 8   // coefficients that a thread sums at a time
)

// appendCoefficients appends our own kernels: the peaks of parts of the spectrogram, and the coefficients.
func appendCoefficients(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	values := s[frames] * p.Bands
	together := framesTogether(s[frames], p.Bands, b.Facts())
	if together == 0 || values > math.MaxInt32 {
		b.Refuse(fmt.Errorf("mfcc: %d frames of %d bands are too many for a GPU: %w", s[frames], p.Bands, kernels.ErrRefused))
		return
	}
	slots := threads / together
	source := gpu.Source{Name: "mfcc.metal", Text: text}.Define("BANDS", p.Bands).Define("COEFFICIENTS", p.Coefficients).
		Define("FRAMES", together).Define("PER_THREAD", min(mostPerThread, ceil(p.Coefficients, slots))).
		Define("VECTORS", peakVectors).Define("THREADS", threads)
	groups := min(ceil(values, 4*peakVectors*peakThreads), groupsPerCore*b.Facts().Cores)
	peaks := b.Scratch(gpu.Float, groups)
	b.Dispatch(b.Kernel(source, "peaks"), gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: peakThreads, Y: 1, Z: 1},
		peaks, t[1].As(gpu.Float4), gpu.Values(values))
	b.Dispatch(b.Kernel(source, "coefficients"), gpu.Size{X: ceil(s[frames], together), Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, t[0], t[1], peaks, b.Constant(gpu.Float4, p.binaryMatrix()), gpu.Values(s[frames], groups))
}

// framesTogether returns how many frames a threadgroup takes: 32, or fewer if they do not fit into threadgroup memory or
// would leave cores without work. It returns 0 if not even one fits.
func framesTogether(count, bands int, f gpu.Facts) int {
	together := mostTogether
	for together > 0 && (4*together*pitch(bands) > f.ThreadgroupBytes || together > 4 && count < together*groupsPerCore*f.Cores) {
		together /= 2
	}
	return together
}

// pitch is that of mfcc.metal: the bands, rounded up to a multiple of four, and one value more, so that threads with
// neighbouring frames read from different banks.
func pitch(bands int) int { return ceil(bands, 4)*4 + 1 }

// binaryMatrix returns the cosines for the kernel: coefficients×bands, the bands rounded up to a multiple of four, times the
// decibels of a logarithm to base 2 of 1.
func (p Params) binaryMatrix() []float32 {
	padded := ceil(p.Bands, 4) * 4
	matrix := make([]float32, p.Coefficients*padded)
	for k := range p.Coefficients {
		for m := range p.Bands {
			matrix[k*padded+m] = float32(10 * math.Log10(2) * cosine(k, m, p.Bands))
		}
	}
	return matrix
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
