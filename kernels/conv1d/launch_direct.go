package conv1d

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed direct.metal
var directText string

// appendDirect appends a convolution by the definition.
func appendDirect(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[samples]
	appendTiled(b, p, n, tilingFor(p.outputs(n), min(n, len(p.Taps)), b.Facts().Cores), t[0], t[1])
}

// tiling says how the direct sum is divided into tiles of outputs and parts of the taps.
type tiling struct {
	tile
	parts int // threadgroups that share the taps of a tile
}

// tile holds the macros of direct.metal.
type tile struct {
	threads int // with outputs of their own
	outputs int // vectors of four outputs of a thread; odd
	shares  int // threads that share the taps of the same outputs
	run     int // vectors of taps that are summed up at a time, a multiple of (outputs+1)·shares
}

// On an H200, wide has the highest throughput, and narrow is fastest if there are few outputs.
var (
	wide   = tile{threads: 64, outputs: 3, shares: 2, run: 64}
	narrow = tile{threads: 32, outputs: 1, shares: 8, run: 64}
)

const (
	// Up to fewTaps, more threads than in wide need not share the taps. Up to someTaps, several threadgroups need not share
	// the taps, because another kernel must then add up their sums.
	fewTaps  = 128
	someTaps = 512
	// groupsPerCore is the number of threadgroups per core that evens out the work. Threadgroups at the ends have fewer
	// taps.
	groupsPerCore = 24
)

// tilingFor returns how to divide a convolution on a GPU of the given number of cores.
func tilingFor(outputs, taps, cores int) tiling {
	groups := divideUp(vectorsOf(outputs), wide.threads*wide.outputs)
	if taps > someTaps {
		return tiling{wide, max(1, min(divideUp(vectorsOf(taps), wide.run), groupsPerCore*cores/groups))}
	}
	if taps > fewTaps && groups < cores {
		return tiling{narrow, 1}
	}
	return tiling{wide, 1}
}

// appendTiled appends a convolution of n samples by the definition. The longer of signal and filter is the signal of the
// kernel.
func appendTiled(b *gpu.Builder, p Params, n int, t tiling, y, x *gpu.Buffer) {
	signal, filter := x.As(gpu.Float4), b.Constant(gpu.Float4, padVectors(p.Taps)).As(gpu.Float4)
	samples, taps := n, len(p.Taps)
	if samples < taps {
		signal, filter = filter, signal
		samples, taps = taps, samples
	}
	vectors := vectorsOf(p.outputs(n))
	runs := divideUp(vectorsOf(taps), t.run)
	perPart := divideUp(runs, t.parts)
	parts := divideUp(runs, perPart) // no part is empty
	rows := y.As(gpu.Float4)
	if parts > 1 {
		rows = b.Scratch(gpu.Float4, parts*vectors)
	}
	source := gpu.Source{Name: "direct.metal", Text: directText}.Define("THREADS", t.threads).Define("OUTPUTS", t.outputs).
		Define("SHARES", t.shares).Define("RUN", t.run)
	b.Dispatch(b.Kernel(source, "direct"), gpu.Size{X: divideUp(vectors, t.threads*t.outputs), Y: parts, Z: 1},
		gpu.Size{X: t.threads * t.shares, Y: 1, Z: 1},
		rows, signal, filter, gpu.Values(samples, taps, vectors, perPart))
	if parts > 1 {
		perValue(b, source, "sum", vectors, y.As(gpu.Float4), rows, gpu.Values(parts), gpu.Values(vectors))
	}
}

// padVectors returns values, padded with zeros to whole vectors of four.
func padVectors(values []float32) []float32 {
	return append(values[:len(values):len(values)], make([]float32, 4*vectorsOf(len(values))-len(values))...)
}

// vectorsOf returns the number of vectors of four that hold n samples.
func vectorsOf(n int) int { return divideUp(n, 4) }

func divideUp(a, b int) int { return (a + b - 1) / b }

// perValue appends a kernel with one thread for each value.
func perValue(b *gpu.Builder, source gpu.Source, kernel string, values int, arguments ...gpu.Argument) {
	const width = 256
	b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: divideUp(values, width), Y: 1, Z: 1}, gpu.Size{X: width, Y: 1, Z: 1},
		arguments...)
}
