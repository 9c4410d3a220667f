package conv1d

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed direct.metal
var directText string

// appendDirect appends the definition.
func appendDirect(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[samples]
	appendTiled(b, p, n, tilingFor(p.outputs(n), min(n, len(p.Taps)), b.Facts().Cores), t[0], t[1])
}

// tiling is how the direct sum is divided: over tiles of outputs, and over parts of the taps.
type tiling struct {
	tile
	parts int // threadgroups that share out a tile's taps
}

// tile is what direct.metal is specialised for.
type tile struct {
	threads int // that have outputs of their own
	outputs int // vectors of four outputs of a thread; odd
	shares  int // threads that share out the taps of the same outputs
	run     int // vectors of taps that are summed up at a time, a multiple of (outputs+1)·shares
}

// The threadgroups that there are. On an H200 wide computes most a second, and narrow answers soonest where there are few
// outputs.
var (
	wide   = tile{threads: 64, outputs: 3, shares: 2, run: 64}
	narrow = tile{threads: 32, outputs: 1, shares: 8, run: 64}
)

const (
	// Up to fewTaps there is nothing to gain from sharing them out further than wide does, and up to someTaps nothing from
	// sharing them out between threadgroups, whose sums another kernel has to add up.
	fewTaps  = 128
	someTaps = 512
	// groupsPerCore is how many threadgroups even out what a core has to do: those at the ends meet fewer taps.
	groupsPerCore = 24
)

// tilingFor returns how to divide a sum over taps for some outputs on a GPU of some cores.
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

// appendTiled appends the definition for n samples. The longer sequence is the kernel's signal, whichever of the two is
// the filter.
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
	parts := divideUp(runs, perPart) // none of them empty
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

// padVectors returns values with zeros behind them up to whole vectors of four.
func padVectors(values []float32) []float32 {
	return append(values[:len(values):len(values)], make([]float32, 4*vectorsOf(len(values))-len(values))...)
}

// vectorsOf returns how many vectors of four hold n samples.
func vectorsOf(n int) int { return divideUp(n, 4) }

func divideUp(a, b int) int { return (a + b - 1) / b }

// perValue appends a kernel that computes a value a thread.
func perValue(b *gpu.Builder, source gpu.Source, kernel string, values int, arguments ...gpu.Argument) {
	const width = 256
	b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: divideUp(values, width), Y: 1, Z: 1}, gpu.Size{X: width, Y: 1, Z: 1},
		arguments...)
}
