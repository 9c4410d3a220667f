package conv1d

import (
	_ "embed"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

//go:embed stream.metal
var streamText string

var streamSource = gpu.Source{Name: "stream.metal", Text: streamText}

// appendStream appends a block of a stream.
func appendStream(b *gpu.Builder, p StreamParams, _ kernels.Shape, t []*gpu.Buffer) {
	block, length, parts, row := p.Block, p.window(), p.parts(), stride(p.window())
	each := func(kernel string, values int, arguments ...gpu.Argument) {
		const threads = 64 // few, so that a block reaches many cores
		b.Dispatch(b.Kernel(streamSource, kernel), gpu.Size{X: divideUp(values, threads), Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
			arguments...)
	}
	sums := 2 * (parts - 1) * row // words of the state before the last block
	bins := length/2 + 1
	window, spectrum, due := b.Scratch(gpu.Float, length), b.Scratch(gpu.Float2, bins), b.Scratch(gpu.Float2, bins)
	each("window", block, window, t[streamAfter], t[streamIn], t[streamBefore], gpu.Values(block, length, sums))
	launch.Real(b, spectrum, window, length, 1)
	each("spread", parts*row, due, t[streamAfter].As(gpu.Float2), t[streamBefore].As(gpu.Float2), spectrum,
		b.Constant(gpu.Float2, streamSpectra(p)), gpu.Values(bins, row, parts))
	launch.InverseReal(b, window, due, length, 1)
	each("latest", block, t[streamOut], window, gpu.Values(block))
}

// streamSpectra returns the spectra of the partitions, in rows that are as long as those of the state.
func streamSpectra(p StreamParams) []float32 {
	row := stride(p.window())
	transform := fourier.NewFFT(p.window())
	table := make([]float32, 0, 2*row*p.parts())
	for first := 0; first < len(p.Taps); first += p.Block {
		half := realSpectrum(transform, p.Taps[first:min(first+p.Block, len(p.Taps))])
		for b := range row {
			if b <= p.window()/2 {
				table = appendPair(table, half[b])
			} else {
				table = appendPair(table, 0)
			}
		}
	}
	return table
}
