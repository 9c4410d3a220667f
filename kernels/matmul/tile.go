package matmul

import (
	"math"

	"crossover/gpu"
)

// tile says how a kernel text divides a product among threads. The macros of matmul.metal explain the fields.
type tile struct {
	simdgroup        bool // the text is simdgroup.metal, which only has m, n, k and the number of threads
	m, n, k          int  // of a threadgroup
	threadM, threadN int
	lanesM           int
	stages           int
	slices           int
	along            int

	// A core of an H200 that has w tiles adds one term of all their sums in latency + w·work nanoseconds.
	latency, work float64
	// inStep is the number of tiles that a core starts and finishes together. If it has more, it computes them in so many
	// rounds, and the last round takes as long as the others unless it is the only one. 0 if tiles drift apart.
	inStep float64
}

// The tiles for GPUs in general: the fastest of some sixty that were tried on H200s with CUDA 13.0. latency and work are
// fitted to their times there, and predict the times of squares from 384 to 4096 within 8 %. At 4096, large reached 0.94 of
// the speed of cuBLAS in FP32, large with 8 terms at a time 0.90, with 8×8 values per thread 0.93, and medium 0.88. At 1024,
// medium was 1.04 to 1.15 times as fast as cuBLAS, and large in four parts 1.13 times, because half of the cores would get no whole
// tile of large. Up to 512, small was a sixth to two thirds faster than cuBLAS.
var (
	large = tile{m: 128, n: 128, k: 16, threadM: 8, threadN: 16, lanesM: 8, stages: 2, slices: 1, along: 4,
		latency: 139, work: 18, inStep: 2}
	medium = tile{m: 64, n: 64, k: 32, threadM: 8, threadN: 8, lanesM: 4, stages: 2, slices: 2, along: 4,
		latency: 6, work: 23.3}
	small = tile{m: 32, n: 32, k: 64, threadM: 4, threadN: 4, lanesM: 8, stages: 1, slices: 4, along: 4,
		latency: 3, work: 8.4}
)

// matrices is the tile for Apple's GPUs. There, large and medium would take so many registers and so much threadgroup memory
// that a core has no room for a second threadgroup. None of this has been measured on a Mac yet.
var matrices = tile{simdgroup: true, m: 64, n: 64, k: 32, threadM: 4, threadN: 8, slices: 1}

const (
	// nanoseconds that a second kernel takes, and bytes per nanosecond that it reads and writes, fitted in the same way
	partsLatency   = 2000
	partsBandwidth = 5000
	mostParts      = 16
	// values of all parts together, 1 GiB; larger results have enough tiles without parts
	mostPartValues = 1 << 28
)

// choose returns the tile and the number of parts of the sums over k with which a product of an m×k and a k×n matrix should
// be fastest on a device.
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

// nanoseconds estimates the time of a product whose sums over k are divided into parts.
func (t tile) nanoseconds(m, n, k, parts, cores int) float64 {
	each := math.Ceil(float64(t.count(m, n)) * float64(parts) / float64(cores))
	rounds := 1.0
	if t.inStep > 0 {
		rounds = math.Ceil(each / t.inStep)
		each = min(each, t.inStep)
	}
	time := float64(t.depth(k, parts)) * rounds * (t.latency + each*t.work)
	if parts > 1 {
		time += partsLatency + 4*float64(m)*float64(n)*float64(2*parts+1)/partsBandwidth
	}
	return time
}

// depth returns how many terms of a sum over k are in a part. It is a multiple of the tile's k.
func (t tile) depth(k, parts int) int { return ceilDiv(ceilDiv(k, parts), t.k) * t.k }

// count returns how many tiles an m×n matrix has.
func (t tile) count(m, n int) int { return ceilDiv(m, t.m) * ceilDiv(n, t.n) }

// threads returns how many threads a threadgroup has.
func (t tile) threads() int { return t.m * t.n / (t.threadM * t.threadN) * t.slices }

// source returns the kernel text for the tile.
func (t tile) source(edge int, p Params, bias bool) gpu.Source {
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
	return src.Define("EDGE", edge).Define("TRANSPOSED_A", number(p.TransposeA)).Define("TRANSPOSED", number(p.TransposeB)).
		Define("BIAS", number(bias)).Define("SCALED", p.scaled())
}

// scaled returns the value of SCALED: what becomes of the sums.
func (p Params) scaled() int {
	switch {
	case p.Beta != 0:
		return 2
	case p.Alpha != 1:
		return 1
	}
	return 0
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
