package fft

import (
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

// appendRows appends the rows of a call by our kernels.
func appendRows(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	if fitsCall(b, s) {
		launch.Real(b, t[0], t[1], s[length], s[batch])
	}
}

// newVendor returns a function that appends the rows of a call by a vendor's library.
func newVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
		if fitsCall(b, s) {
			b.Encode(func() (gpu.External, error) {
				return library.NewRealFFT(t[0].Region(), t[1].Region(), s[length], s[batch])
			})
		}
	}, nil
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
