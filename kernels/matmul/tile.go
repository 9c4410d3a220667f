package matmul

import "crossover/gpu"

// tile says how matmul.metal divides a product among threads; its macros explain the fields.
type tile struct {
	m, n, k          int // of a threadgroup
	threadM, threadN int
	lanesM           int
	stages           int
	slices           int
	along            int
	band             int
}

// threads returns how many threads a threadgroup has.
func (t tile) threads() int { return t.m * t.n / (t.threadM * t.threadN) * t.slices }

// memory returns the bytes of threadgroup memory that the kernel declares.
func (t tile) memory() int {
	vectors := t.stages * t.k * (t.m + t.n) / 4
	if t.slices > 1 {
		vectors = max(vectors, t.m*t.n/4)
	}
	return 16 * vectors
}

// count returns how many tiles an m×n matrix has.
func (t tile) count(m, n int) int { return ceilDiv(m, t.m) * ceilDiv(n, t.n) }

// source returns the kernel text for the tile.
func (t tile) source(edge int, transposed, bias bool) gpu.Source {
	src := gpu.Source{Name: "matmul.metal", Text: text}
	for _, m := range []struct {
		name  string
		value int
	}{
		{"TILE_M", t.m}, {"TILE_N", t.n}, {"TILE_K", t.k},
		{"THREAD_M", t.threadM}, {"THREAD_N", t.threadN}, {"LANES_M", t.lanesM},
		{"STAGES", t.stages}, {"SLICES", t.slices}, {"ALONG", t.along}, {"BAND", t.band},
		{"EDGE", edge}, {"TRANSPOSED", number(transposed)}, {"BIAS", number(bias)},
	} {
		src = src.Define(m.name, m.value)
	}
	return src
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// The tiles that choose takes.
var (
	large  = tile{m: 128, n: 128, k: 16, threadM: 8, threadN: 8, lanesM: 4, stages: 2, slices: 1, along: 4, band: 1}
	medium = tile{m: 64, n: 64, k: 16, threadM: 8, threadN: 4, lanesM: 4, stages: 2, slices: 1, along: 4, band: 1}
	small  = tile{m: 32, n: 32, k: 32, threadM: 4, threadN: 4, lanesM: 8, stages: 1, slices: 4, along: 8, band: 1}

	allTiles = []tile{large, medium, small}
)

// choose returns the tile for an m×k by k×n product on a device of so many cores, 0 where that is not known, and into
// how many parts the sums over k are divided.
func choose(m, n, k, cores int) (t tile, parts int) {
	if cores == 0 {
		cores = 16
	}
	for _, t := range []tile{large, medium} {
		if t.count(m, n) >= cores {
			return t, 1
		}
	}
	return small, 1
}
