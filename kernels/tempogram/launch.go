package tempogram

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/fft"
)

//go:embed tempogram.metal
var text string

const simdgroups = 4 // in a threadgroup that cuts frames, one frame each

// appendLags appends the tempogram by our kernels.
func appendLags(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	appendPadded(b, p, s, t, autocorrelation.LaunchLength(p.Window), func(rows *gpu.Buffer, points, count int) {
		autocorrelation.Launch(b, rows, points, count)
	})
}

// newVendor returns a function that appends the tempogram with transforms by a vendor's library.
func newVendor(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendPadded(b, p, s, t, fft.FastLength(2*p.Window-1), func(rows *gpu.Buffer, points, count int) {
			autocorrelation.LaunchVendor(b, library, rows, points, count)
		})
	}, nil
}

// appendPadded appends the windowed frames, padded to points values, what correlates them, and the division.
func appendPadded(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer, points int, correlate func(rows *gpu.Buffer, points, count int)) {
	count := s[frames]
	if !autocorrelation.Fits(b, points, count) {
		return
	}
	width := 1
	if p.Window%4 == 0 {
		width = 4
	}
	source := gpu.Source{Name: "tempogram.metal", Text: text}.Define("WINDOW", p.Window).Define("POINTS", points).Define("WIDTH", width)
	rows := b.Scratch(gpu.Float, count*points)
	b.Dispatch(b.Kernel(source, "cut"), gpu.Size{X: (count + simdgroups - 1) / simdgroups, Y: 1, Z: 1},
		gpu.Size{X: 32 * simdgroups, Y: 1, Z: 1}, rows.As(gpu.Float4), t[1], b.Constant(gpu.Float, p.hann()), gpu.Values(count))
	correlate(rows, points, count)
	const threads = 256
	values := count * p.Window / width
	b.Dispatch(b.Kernel(source, "divide"), gpu.Size{X: (values + threads - 1) / threads, Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, t[0], rows, gpu.Values(values))
}
