package conv1d

import (
	_ "embed"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft/launch"
)

var (
	//go:embed overlapsave.metal
	overlapSaveText string
	//go:embed partitions.metal
	partitionsText string
)

var (
	overlapSaveSource = gpu.Source{Name: "butterflies.metal+passes.metal+overlapsave.metal", Text: overlapSaveText}
	partitionsSource  = gpu.Source{Name: "butterflies.metal+passes.metal+partitions.metal", Text: partitionsText}
)

// appendPartitioned appends a convolution by one partition if the filter fits into it, and otherwise by several.
func appendPartitioned(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[samples]
	if window := windowFor(p.outputs(n), len(p.Taps)); window > 0 {
		appendWindows(b, p, n, window, t[0], t[1])
		return
	}
	block, span := partitionsFor(p.outputs(n), len(p.Taps))
	appendBlocks(b, p, n, block, span, t[0], t[1])
}

// windowFor returns the length of the windows for a filter with one partition. It is at least twice the number of taps, so
// that at least half of a window becomes outputs. It is longer if there are enough outputs to keep the GPU busy. It is 0 if
// no threadgroup transforms such windows. On an H200, windows below 512 samples are not faster, and windows above 2048 pay
// only for filters that need them.
func windowFor(outputs, taps int) int {
	const (
		shortest = 512
		longest  = 2048
		busy     = 1 << 17 // outputs
	)
	window := shortest
	for window < 2*taps {
		window *= 2
	}
	if outputs >= busy && window < longest {
		window *= 2
	}
	if window > launch.LongestShared {
		return 0
	}
	return window
}

// partitionsFor returns the length of the blocks of a filter with several partitions, and the number of sums of products
// that a thread should compute. A thread with several sums reads the filter once for all of them, but there must be enough
// threads.
func partitionsFor(outputs, taps int) (block, span int) {
	block = 1024
	if taps > 8*block {
		block *= 2
	}
	const (
		mostSpan = 4
		busy     = 1 << 19 // sums
	)
	if taps <= mostSpan*block || outputs >= busy {
		return block, mostSpan
	}
	return block, 1
}

// appendWindows appends a convolution in one kernel. Each window has room for the whole filter.
func appendWindows(b *gpu.Builder, p Params, n, window int, y, x *gpu.Buffer) {
	outputs := p.outputs(n)
	hop := window - len(p.Taps) + 1
	if aligned := hop &^ 31; aligned > 0 {
		hop = aligned // windows begin at cache lines
	}
	rows := divideUp(outputs, 2*hop)
	shared := launch.ShareRows(overlapSaveSource, window)
	b.Dispatch(b.Kernel(shared.Source, "overlap_save"), gpu.Size{X: divideUp(rows, shared.Rows), Y: 1, Z: 1},
		gpu.Size{X: shared.Threads, Y: 1, Z: 1},
		y, x, b.Constant(gpu.Float2, shared.Roots),
		b.Constant(gpu.Float2, partitionSpectra(p.Taps, window, len(p.Taps))),
		gpu.Values(n), gpu.Values(outputs), gpu.Values(hop))
}

// appendBlocks appends a convolution by uniform partitions of block taps. Windows have twice as many samples.
func appendBlocks(b *gpu.Builder, p Params, n, block, span int, y, x *gpu.Buffer) {
	outputs, window := p.outputs(n), 2*block
	partitions := divideUp(len(p.Taps), block)
	// A row holds a window in its real parts and another one in its imaginary parts. The real parts compute the first half
	// of the output's blocks, and the imaginary parts the second half. Before each half come as many windows as the filter
	// reaches back.
	rows := divideUp(divideUp(outputs, block), 2)
	before := partitions - 1
	spectra, sums := b.Scratch(gpu.Float2, (before+rows)*window), b.Scratch(gpu.Float2, rows*window)

	shared := launch.ShareRows(partitionsSource, window)
	roots := b.Constant(gpu.Float2, shared.Roots)
	dispatch := func(kernel string, rows int, arguments ...gpu.Argument) {
		b.Dispatch(b.Kernel(shared.Source, kernel), gpu.Size{X: divideUp(rows, shared.Rows), Y: 1, Z: 1},
			gpu.Size{X: shared.Threads, Y: 1, Z: 1}, arguments...)
	}
	dispatch("windows", before+rows, spectra, x, roots, gpu.Values(before+rows, before, rows, n))
	perValue(b, spectralSource(span), "products", window*divideUp(rows, span), sums, spectra,
		b.Constant(gpu.Float2, partitionSpectra(p.Taps, window, block)), gpu.Values(window, rows, partitions))
	dispatch("blocks", rows, y, sums, roots, gpu.Values(rows, 0, rows, outputs))
}

// partitionSpectra returns the spectra of the filter's blocks, zero-padded to a window: all bins of the first block, then
// those of the second, and so on. They are divided by the length of the window, because two transforms multiply by it.
func partitionSpectra(taps []float32, window, block int) []float32 {
	transform := fourier.NewFFT(window)
	gain := complex(1/float64(window), 0)
	var table []float32
	for first := 0; first < len(taps); first += block {
		half := realSpectrum(transform, taps[first:min(first+block, len(taps))])
		for k := range window {
			bin := half[min(k, window-k)]
			if k > window/2 {
				bin = cmplx.Conj(bin)
			}
			table = appendPair(table, gain*bin)
		}
	}
	return table
}
