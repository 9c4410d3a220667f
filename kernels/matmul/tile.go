package matmul

import (
	"math"

	"crossover/gpu"
)

// tile says how a kernel text divides a product among threads; the macros of matmul.metal explain the fields.
type tile struct {
	simdgroup        bool // simdgroup.metal, of which only m, n, k and the number of threads follow
	m, n, k          int  // of a threadgroup
	threadM, threadN int
	lanesM           int
	stages           int
	slices           int
	along            int

	// A core of an H200 takes latency + w·work nanoseconds to add a term of the sums over k to w tiles.
	latency, work float64
	// inStep is how many tiles of large a core runs at once and finishes at once; 0 for tiles that drift apart.
	inStep float64
}

// The tiles for GPUs at large, the fastest of some forty that were tried on an H200 with CUDA 13.0. latency and work are
// fitted to their times there, and predict those of squares from 384 to 4096 within 8 %. At 4096, large reached 0.85
// of cuBLAS in FP32, with 8×8 values a thread 0.82, and medium 0.79; at 1024, where large leaves half of the cores
// without a tile, medium reached 0.97 and large in four parts 0.94; up to 512, small was ahead of cuBLAS by a tenth to
// a half.
var (
	large = tile{m: 128, n: 128, k: 8, threadM: 8, threadN: 16, lanesM: 8, stages: 2, slices: 1, along: 2,
		latency: 8, work: 95, inStep: 2}
	medium = tile{m: 64, n: 64, k: 32, threadM: 8, threadN: 8, lanesM: 4, stages: 2, slices: 2, along: 4,
		latency: 4, work: 26}
	small = tile{m: 32, n: 32, k: 64, threadM: 4, threadN: 4, lanesM: 8, stages: 1, slices: 4, along: 4,
		latency: 4, work: 8}
)

// matrices is the tile for Apple's GPUs, where large and medium would ask for more registers and threadgroup memory
// than leaves room for a second threadgroup on a core. Nothing of this was measured on a Mac yet.
var matrices = tile{simdgroup: true, m: 64, n: 64, k: 32, threadM: 4, threadN: 8, slices: 1}

const (
	// nanoseconds of a second kernel, and bytes a nanosecond that come and go through it, fitted likewise
	partsLatency   = 2000
	partsBandwidth = 5000
	mostParts      = 16
	// values that all parts may take together, 1 GiB: large results have tiles enough
	mostPartValues = 1 << 28
)

// choose returns the tile, and the number of parts of the sums over k, with which an m×k by k×n product should be
// fastest on a device.
func choose(m, n, k int, f gpu.Facts) (best tile, parts int) {
	candidates := []tile{large, medium, small}
	if f.API == "metal" {
		if f.SIMDMatrices && matrices.count(m, n) >= f.Cores {
			return matrices, 1
		}
		candidates = candidates[2:]
	}
	least := math.Inf(1)
	for _, t := range candidates {
		for p := 1; p == 1 || p <= mostParts && m <= mostPartValues/n/p; p *= 2 {
			if time := t.nanoseconds(m, n, k, p, f.Cores); time < least {
				best, parts, least = t, p, time
			}
		}
	}
	return best, parts
}

// nanoseconds estimates the time of a product whose sums over k are divided into so many parts.
func (t tile) nanoseconds(m, n, k, parts, cores int) float64 {
	each := math.Ceil(float64(t.count(m, n)) * float64(parts) / float64(cores))
	if each > t.inStep && each < 2*t.inStep {
		each = 2 * t.inStep // a core that has finished them is given as many again, while others have none
	}
	time := float64(t.depth(k, parts)) * (t.latency + each*t.work)
	if parts > 1 {
		time += partsLatency + 4*float64(m)*float64(n)*float64(2*parts+1)/partsBandwidth
	}
	return time
}

// depth returns how many terms of a sum over k are in a part: whole tiles.
func (t tile) depth(k, parts int) int { return ceilDiv(ceilDiv(k, parts), t.k) * t.k }

// count returns how many tiles an m×n matrix has.
func (t tile) count(m, n int) int { return ceilDiv(m, t.m) * ceilDiv(n, t.n) }

// threads returns how many threads a threadgroup has.
func (t tile) threads() int { return t.m * t.n / (t.threadM * t.threadN) * t.slices }

// source returns the kernel text for the tile.
func (t tile) source(edge int, transposed, bias bool) gpu.Source {
	src := gpu.Source{Name: "simdgroup.metal", Text: simdgroupText}
	if !t.simdgroup {
		src = gpu.Source{Name: "matmul.metal", Text: text}
		for _, m := range []struct {
			name  string
			value int
		}{
			{"TILE_M", t.m}, {"TILE_N", t.n}, {"TILE_K", t.k},
			{"THREAD_M", t.threadM}, {"THREAD_N", t.threadN}, {"LANES_M", t.lanesM},
			{"STAGES", t.stages}, {"SLICES", t.slices}, {"ALONG", t.along},
		} {
			src = src.Define(m.name, m.value)
		}
	}
	return src.Define("EDGE", edge).Define("TRANSPOSED", number(transposed)).Define("BIAS", number(bias))
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
