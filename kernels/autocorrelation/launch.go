package autocorrelation

import (
	_ "embed"
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/kernels/fft/launch"
)

//go:embed autocorrelation.metal
var text string

var source = gpu.Source{Name: "autocorrelation.metal", Text: text}

// LaunchLength returns the number of values to which [Launch] takes rows of n samples padded: a power of two, at least 16, for
// which our transforms are fastest.
func LaunchLength(n int) int {
	points := 16
	for points < 2*n-1 {
		points *= 2
	}
	return points
}

// Fits reports whether rows of points values are few enough for a GPU. It refuses more.
func Fits(b *gpu.Builder, points, count int) bool {
	if count > launch.MostValues/points {
		b.Refuse(fmt.Errorf("autocorrelation: %d rows of %d values are too many for one call on a GPU (want at most %d values): %w",
			count, points, launch.MostValues, kernels.ErrRefused))
		return false
	}
	return true
}

// Launch appends the autocorrelations of count rows of points values, in place. Values whose index is not below half of points
// must be 0, and lags from there on have no meaning. The caller asks [Fits] first.
func Launch(b *gpu.Builder, rows *gpu.Buffer, points, count int) {
	spectrum := b.Scratch(gpu.Float2, count*(points/2+1))
	launch.Real(b, spectrum, rows, points, count)
	appendPowers(b, spectrum, count*(points/2+1), 1)
	launch.InverseReal(b, rows, spectrum, points, count)
}

// LaunchVendor is [Launch] by a vendor's library.
func LaunchVendor(b *gpu.Builder, library gpu.FFT, rows *gpu.Buffer, points, count int) {
	spectrum := b.Scratch(gpu.Float2, count*(points/2+1))
	b.FFT(library, spectrum, rows, gpu.Transform{N: points, Batch: count})
	appendPowers(b, spectrum, count*(points/2+1), 1/float64(points))
	b.FFT(library, rows, spectrum, gpu.Transform{N: points, Batch: count, Inverse: true})
}

// appendPowers replaces values of a spectrum by their powers, times a gain.
func appendPowers(b *gpu.Builder, spectrum *gpu.Buffer, values int, gain float64) {
	perValue(b, "powers", values, spectrum, gpu.Values(values), gpu.Values(float32(gain)))
}

// appendRows appends the rows of a call by our kernels.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	appendPadded(b, p, s, t, LaunchLength(p.N), func(rows *gpu.Buffer, points, count int) { Launch(b, rows, points, count) })
}

// newVendor returns a function that appends the rows of a call by a vendor's library.
func newVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendPadded(b, p, s, t, fft.FastLength(2*p.N-1), func(rows *gpu.Buffer, points, count int) {
			LaunchVendor(b, library, rows, points, count)
		})
	}, nil
}

// appendPadded appends the autocorrelations of the rows of a call, padded to points values.
func appendPadded(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer, points int, correlate func(rows *gpu.Buffer, points, count int)) {
	count := s[batch]
	if !Fits(b, points, count) {
		return
	}
	rows := b.Scratch(gpu.Float, count*points)
	vectors := count * points / 4
	perValue(b, "pad", vectors, rows.As(gpu.Float4), t[1], gpu.Values(p.N, points/4, vectors))
	correlate(rows, points, count)
	perValue(b, "crop", count*p.N, t[0], rows, gpu.Values(p.N, points, count*p.N))
}

// perValue appends a kernel with one thread for each value.
func perValue(b *gpu.Builder, kernel string, values int, arguments ...gpu.Argument) {
	const threads = 256
	b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: (values + threads - 1) / threads, Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, arguments...)
}
