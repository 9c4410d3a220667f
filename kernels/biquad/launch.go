package biquad

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/recurrence/launch"
)

var (
	//go:embed section.metal
	sectionText string
	//go:embed single.metal
	singleText string
	//go:embed compose.metal
	composeText string
	//go:embed scan.metal
	scanText string
	//go:embed short.metal
	shortText string
)

// singleSource is a filter of one section.
var singleSource = gpu.Source{Name: "section.metal", Text: sectionText + singleText}

// extent is a number of channels and the number of samples in each.
type extent struct{ channels, n int }

// rows returns the extent for package launch.
func (x extent) rows() launch.Extent { return launch.Extent{Channels: x.channels, N: x.n} }

// vectors returns the number of vectors of four samples in a row.
func (x extent) vectors() int { return x.rows().Vectors() }

func divideUp(a, b int) int { return (a + b - 1) / b }

// strategy is how a launch plan divides the work.
type strategy struct {
	// With perChannel each channel has one thread. A threadgroup holds width vectors of four samples of each channel at a
	// time.
	perChannel bool
	width      int

	// Otherwise rows are scanned. A row has groups threadgroups. Each computes tiles of threads·chunk vectors, one after the
	// other. chunk is odd, unless a simdgroup holds a row.
	threads, chunk, groups, tiles int
}

const (
	// In rows shorter than shortRow samples most threads of a scan have nothing to do. From manyChannels on, perChannel is
	// then faster.
	shortRow     = 320
	manyChannels = 2048
	// With few channels, a thread of a scan takes one vector in rows of up to quickRow vectors. Otherwise it takes longChunk
	// vectors.
	quickRow  = 128
	longChunk = 5
	// One threadgroup takes a row of at most mostWalked tiles of mostThreads, because another kernel would cost more than it
	// saves.
	mostThreads = 256
	mostWalked  = 2
	// groupsPerCore is how many simdgroups of short_rows a core of an H200 has the registers for.
	groupsPerCore = 20
)

// strategy returns how to divide the work on a GPU of the given number of cores. The numbers were chosen on an H200.
func (x extent) strategy(cores int) strategy {
	vectors := x.vectors()
	if x.channels >= manyChannels && x.n < shortRow {
		if vectors < 64 {
			return strategy{perChannel: true, width: 8}
		}
		return strategy{perChannel: true, width: 16}
	}
	if x.channels < manyChannels && vectors <= quickRow {
		return scanOf(vectors, quickRow, 1).walk(x)
	}
	if x.channels >= cores {
		return scanOf(vectors, mostThreads/2, longChunk).walk(x)
	}
	if vectors <= mostWalked*mostThreads*longChunk {
		return scanOf(vectors, mostThreads, longChunk).walk(x)
	}
	// A row in parts has small threadgroups, unless there would be more parts than a threadgroup can combine.
	if by := (strategy{threads: mostThreads / 2, chunk: longChunk - 2}).parts(x); by.tiles == 1 {
		return by
	}
	return strategy{threads: mostThreads, chunk: longChunk}.parts(x)
}

// scanOf returns a scan by the least power of two of threads, from 32 to most, whose chunks hold a row. If none does, it has
// most threads. The chunks of a single simdgroup are no longer than the row needs.
func scanOf(vectors, most, chunk int) strategy {
	if vectors <= 32*chunk {
		return strategy{threads: 32, chunk: divideUp(vectors, 32)}
	}
	by := strategy{threads: 32, chunk: chunk}
	for by.threads < most && by.threads*by.chunk < vectors {
		by.threads *= 2
	}
	return by
}

// walk sets one threadgroup for each row.
func (by strategy) walk(x extent) strategy {
	by.groups, by.tiles = 1, divideUp(x.vectors(), by.threads*by.chunk)
	return by
}

// parts sets a threadgroup for each tile, but at most as many for a row as a threadgroup has threads.
func (by strategy) parts(x extent) strategy {
	tiles := divideUp(x.vectors(), by.threads*by.chunk)
	by.tiles = divideUp(tiles, by.threads)
	by.groups = divideUp(tiles, by.tiles)
	return by
}

// appendSection appends a section.
func appendSection(b *gpu.Builder, c Coefficients, s kernels.Shape, t []*gpu.Buffer) {
	x := extent{s[channels], s[samples]}
	appendBy(b, x.strategy(b.Facts().Cores), c, x, t)
}

// appendBy appends a section by a strategy.
func appendBy(b *gpu.Builder, by strategy, c Coefficients, x extent, t []*gpu.Buffer) {
	usual := newSection(c)
	section := usual.near()
	if by.perChannel {
		launch.Channels(b, singleSource, by.width, section.values(), x.rows(), t[0], t[1], t[2], t[3])
	} else {
		section.appendScan(b, by, x, t)
	}
}

// values returns the section as an argument of the kernels.
func (f *near) values() gpu.Argument { return gpu.Values(f.b0, f.c1, f.c2, f.e1, f.e2, f.turn) }

// appendScan appends the kernels with many threads for each channel.
func (f *near) appendScan(b *gpu.Builder, by strategy, x extent, t []*gpu.Buffer) {
	section, shape := f.values(), x.rows().Values()
	name, text := "scan.metal", scanText
	if by.short() {
		name, text = "short.metal", shortText
	}
	source := x.rows().Source(singleSource, name, composeText+text).Define("CHUNK", by.chunk).
		Define("THREADS", by.threads).Define("RESIDENT", 32*groupsPerCore)
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	powers := b.Constant(gpu.Float4, f.powers(4*by.chunk))
	if by.short() {
		groups := x.channels
		if cores := b.Facts().Cores; cores > 0 {
			groups = min(groups, groupsPerCore*cores)
		}
		b.Dispatch(b.Kernel(source, "short_rows"), gpu.Size{X: groups, Y: 1, Z: 1}, threads,
			t[0].As(gpu.Float4), t[2].As(gpu.Float4), t[1], t[3], powers, section, shape)
		return
	}
	walk := gpu.Values(by.groups, by.tiles)
	left, partPowers := powers.As(gpu.Float2), powers // neither is read if a row has one threadgroup
	if by.groups > 1 {
		parts := b.Scratch(gpu.Float2, x.channels*by.groups)
		left, partPowers = parts, b.Constant(gpu.Float4, f.powers(4*by.chunk*by.threads*by.tiles))
		b.Dispatch(b.Kernel(source, "ends"), gpu.Size{X: by.groups - 1, Y: x.channels, Z: 1}, threads,
			parts, t[2].As(gpu.Float4), powers, section, shape, walk)
	}
	b.Dispatch(b.Kernel(source, "scan"), gpu.Size{X: x.channels * by.groups, Y: 1, Z: 1}, threads,
		t[0].As(gpu.Float4), t[2].As(gpu.Float4), t[1], t[3], left, powers, partPowers, section, shape, walk)
}

// short reports whether a simdgroup holds a row, and its threads have more than a vector.
func (by strategy) short() bool {
	return by.threads == 32 && by.groups == 1 && by.tiles == 1 && by.chunk > 1
}

// powers returns the powers of the state matrix for a scan whose steps have the given number of samples, in the order of
// scan.metal.
func (f *near) powers(samples int) []float32 {
	steps := []int{1, 2, 4, 8, 16, 32}
	for lane := range 32 {
		steps = append(steps, lane)
	}
	var out []float32
	for _, step := range steps {
		for _, v := range power(float64(f.turn), float64(f.e1), float64(f.e2), step*samples) {
			out = append(out, float32(v))
		}
	}
	return out
}
