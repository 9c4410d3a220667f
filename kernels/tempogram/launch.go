package tempogram

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/fft"
	"crossover/kernels/fft/launch"
)

//go:embed tempogram.metal
var text string

const (
	simdgroups = 4   // in a threadgroup that cuts frames, one frame each
	threads    = 256 // in a threadgroup that divides lags, and in the one that chooses a lag

	binsTogether  = 64  // of a threadgroup that adds up powers
	framesPerPart = 16  // at least, whose powers a thread adds up
	mostParts     = 128 // of the frames
)

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
	source := p.source(points, width, 0)
	rows := appendCut(b, p, source, t[1], points, count)
	correlate(rows, points, count)
	values := count * p.Window / width
	b.Dispatch(b.Kernel(source, "divide"), gpu.Size{X: ceil(values, threads), Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, t[0], rows, gpu.Values(values))
}

// source returns the text for rows of points values.
func (p Params) source(points, width, unitEnergy int) gpu.Source {
	return gpu.Source{Name: "tempogram.metal", Text: text}.Define("WINDOW", p.Window).Define("POINTS", points).Define("WIDTH", width).
		Define("UNIT_ENERGY", unitEnergy)
}

// appendCut appends the windowed strengths around each of count frames, and returns them as rows of points values.
func appendCut(b *gpu.Builder, p Params, source gpu.Source, strengths *gpu.Buffer, points, count int) *gpu.Buffer {
	rows := b.Scratch(gpu.Float, count*points)
	b.Dispatch(b.Kernel(source, "cut"), gpu.Size{X: ceil(count, simdgroups), Y: 1, Z: 1},
		gpu.Size{X: 32 * simdgroups, Y: 1, Z: 1}, rows.As(gpu.Float4), strengths, b.Constant(gpu.Float, p.hann()), gpu.Values(count))
	return rows
}

//go:embed tempo.metal
var tempoText string

// appendTempo appends the tempo by our kernels.
func appendTempo(b *gpu.Builder, p TempoParams, s kernels.Shape, t []*gpu.Buffer) {
	appendMeans(b, p, s, t, autocorrelation.LaunchLength(p.window()), 1,
		func(spectra, rows *gpu.Buffer, points, count int) { launch.Real(b, spectra, rows, points, count) },
		func(row, spectrum *gpu.Buffer, points int) { launch.InverseReal(b, row, spectrum, points, 1) })
}

// newTempoVendor returns a function that appends the tempo with transforms by a vendor's library, whose inverse is not divided by
// the number of points.
func newTempoVendor(_ *gpu.Device, library gpu.FFT, _ TempoParams) (kernels.Append[TempoParams], error) {
	return func(b *gpu.Builder, p TempoParams, s kernels.Shape, t []*gpu.Buffer) {
		points := fft.FastLength(2*p.window() - 1)
		appendMeans(b, p, s, t, points, 1/float64(points),
			func(spectra, rows *gpu.Buffer, points, count int) {
				b.FFT(library, spectra, rows, gpu.Transform{N: points, Batch: count})
			},
			func(row, spectrum *gpu.Buffer, points int) {
				b.FFT(library, row, spectrum, gpu.Transform{N: points, Batch: 1, Inverse: true})
			})
	}, nil
}

// appendMeans appends the mean of the power spectra of all frames, its inverse transform, and the choice of a lag.
func appendMeans(b *gpu.Builder, p TempoParams, s kernels.Shape, t []*gpu.Buffer, points int, gain float64,
	forward func(spectra, rows *gpu.Buffer, points, count int), inverse func(row, spectrum *gpu.Buffer, points int)) {
	count, bins := s[0], points/2+1
	if !autocorrelation.Fits(b, points, count) {
		return
	}
	source := Params{p.window()}.source(points, 1, 1)
	rows := appendCut(b, Params{p.window()}, source, t[1], points, count)
	spectra := b.Scratch(gpu.Float2, count*bins)
	forward(spectra, rows, points, count)

	source.Name, source.Text = "tempogram.metal+tempo.metal", text+tempoText
	source = source.Define("BINS", bins).Define("FIRST", p.first())
	perPart := max(framesPerPart, ceil(count, mostParts))
	parts := ceil(count, perPart)
	sums, spectrum, row := b.Scratch(gpu.Float, parts*bins), b.Scratch(gpu.Float2, bins), b.Scratch(gpu.Float, points)
	shape := gpu.Values(count, perPart, parts)
	b.Dispatch(b.Kernel(source, "sum_powers"), gpu.Size{X: ceil(bins, binsTogether), Y: parts, Z: 1},
		gpu.Size{X: binsTogether, Y: 1, Z: 1}, sums, spectra, shape)
	b.Dispatch(b.Kernel(source, "mean_powers"), gpu.Size{X: ceil(bins, binsTogether), Y: 1, Z: 1},
		gpu.Size{X: binsTogether, Y: 1, Z: 1}, spectrum, sums, shape, gpu.Values(float32(gain)))
	inverse(row, spectrum, points)
	var prior []float32
	for _, v := range p.prior() {
		prior = append(prior, float32(v))
	}
	b.Dispatch(b.Kernel(source, "choose"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[0], row, b.Constant(gpu.Float, prior))
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
