package sampling

import (
	_ "embed"
	"fmt"
	"math/bits"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/rowwise"
)

//go:embed greedy.metal
var greedyText string

//go:embed topk.metal
var topKText string

const (
	simdWidth = 32
	leastPart = 1 << 10 // values of a row in a threadgroup of greedy, where a row has several
	perCore   = 2       // threadgroups of greedy that keep a core of the GPU busy
)

// appendGreedy appends greedy. Rows are divided among several threadgroups if there are too few of them for the device.
func appendGreedy(b *gpu.Builder, p GreedyParams, s kernels.Shape, t []*gpu.Buffer) {
	width := rowwise.Width(p.Columns)
	elements := p.Columns / width
	parts := max(1, min(perCore*b.Facts().Cores/s[rows], p.Columns/leastPart))
	perPart := ceil(elements, parts)
	parts = ceil(elements, perPart) // none is empty
	threads := min(1024, ceil(ceil(perPart, 4), simdWidth)*simdWidth)
	source := gpu.Source{Name: "greedy.metal", Text: greedyText}.Define("WIDTH", width)
	shape := gpu.Values(s[rows], elements, parts, perPart)
	y := t[0]
	if parts > 1 {
		y = b.Scratch(gpu.Uint, 2*s[rows]*parts)
	}
	b.Dispatch(b.Kernel(source, "greedy"), gpu.Size{X: s[rows], Y: parts, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, t[1], shape)
	if parts > 1 {
		b.Dispatch(b.Kernel(source, "join_parts"), gpu.Size{X: s[rows], Y: 1, Z: 1}, gpu.Size{X: simdWidth, Y: 1, Z: 1}, t[0], y, shape)
	}
}

const (
	threads = 256 // in a threadgroup of top-k, which finds the bound among as many values
	mostK   = 128 // so that the candidates fit into the memory of a threadgroup
)

// appendTopK appends top-k: launches that each leave k entries for as many values as a threadgroup takes, until there is only
// one threadgroup a row.
func appendTopK(b *gpu.Builder, p TopKParams, s kernels.Shape, t []*gpu.Buffer) {
	if p.K > mostK {
		b.Refuse(fmt.Errorf("top-k: the best %d, want at most %d: %w", p.K, mostK, kernels.ErrRefused))
		return
	}
	// Entries of earlier launches; a buffer that no kernel reads at first.
	n, found, width, fromEntries := p.Columns, t[1], rowwise.Width(p.Columns), 0
	for {
		perThread := 16
		switch {
		case n <= 4*threads:
			perThread = 4
		case fromEntries == 0 && s[rows]*ceil(n, threads*perThread) < b.Facts().Cores:
			perThread = 8 // for twice as many threadgroups
		}
		parts, last := ceil(n, threads*perThread), 0
		entries := t[1]
		if parts == 1 {
			last = 1
		} else {
			entries = b.Scratch(gpu.Uint, 2*s[rows]*parts*p.K)
		}
		source := gpu.Source{Name: "topk.metal", Text: topKText}.Define("WIDTH", width).Define("PER_THREAD", perThread).
			Define("CANDIDATES", perThread<<bits.Len(uint(p.K-1))).Define("FROM_ENTRIES", fromEntries).Define("LAST", last)
		b.Dispatch(b.Kernel(source, "best"), gpu.Size{X: s[rows], Y: parts, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
			entries, t[0], t[1], t[2], t[3], found, t[4], gpu.Values(p.Columns, n, p.K, parts, 1/p.Temperature))
		if last == 1 {
			return
		}
		n, found, width, fromEntries = parts*p.K, entries, 1, 1
	}
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
