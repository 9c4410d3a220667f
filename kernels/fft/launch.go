package fft

import (
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

// appendRows appends the rows of a call by our kernels.
func appendRows(b *gpu.Builder, r rows, s kernels.Shape, t []*gpu.Buffer) {
	switch {
	case !fitsCall(b, s):
	case r.complex:
		launch.Complex(b, t[0], t[1], r.n, s[batch], r.inverse)
	case r.inverse:
		launch.InverseReal(b, t[0], t[1], r.n, s[batch])
	default:
		launch.Real(b, t[0], t[1], r.n, s[batch])
	}
}

// appendVendor appends the rows of a call by a vendor's library. The library does not divide inverse transforms by n, and may
// overwrite the bins of real rows, so that kernels of ours do the one and copy the other.
func appendVendor(b *gpu.Builder, library gpu.FFT, r rows, s kernels.Shape, t []*gpu.Buffer) {
	if !fitsCall(b, s) {
		return
	}
	dst, src, count := t[0], t[1], s[batch]
	if r.inverse && !r.complex {
		bins := b.Scratch(gpu.Float2, count*(r.n/2+1))
		launch.ScaledBins(b, bins, src, r.n, count)
		src = bins
	}
	b.FFT(library, dst, src, gpu.Transform{N: r.n, Batch: count, Complex: r.complex, Inverse: r.inverse})
	if r.inverse && r.complex {
		launch.Scale(b, dst, r.n*count, 1/float64(r.n))
	}
}

// fitsCall reports whether a call is short enough for a GPU. It refuses a longer call.
func fitsCall(b *gpu.Builder, s kernels.Shape) bool {
	if s[batch] > launch.MostValues/s[length] {
		b.Refuse(fmt.Errorf("fft: %d rows of %d samples are too many for one call on a GPU (want at most %d samples): %w",
			s[batch], s[length], launch.MostValues, kernels.ErrRefused))
		return false
	}
	return true
}
