package phase

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed phase.metal
var text string

// strategy is how a launch plan divides the work.
type strategy struct {
	threads int // of a threadgroup
	groups  int // threadgroups, at most as many as one has threads
	tiles   int // of a threadgroup, one after the other
}

const (
	mostThreads = 256
	// span is the number of vectors of four increments that a thread takes of a tile.
	span = 4
	// One threadgroup takes at most mostWalked tiles, because another kernel would cost more than it saves.
	mostWalked = 2
)

// strategyFor returns how to divide n increments.
func strategyFor(n int) strategy {
	by := strategy{threads: 32, groups: 1}
	for by.threads < mostThreads && by.tile() < n {
		by.threads *= 2
	}
	tiles := divideUp(n, by.tile())
	if tiles > mostWalked {
		by.tiles = divideUp(tiles, by.threads)
		by.groups = divideUp(tiles, by.tiles)
		return by
	}
	by.tiles = tiles
	return by
}

// tile returns the number of increments in a tile.
func (by strategy) tile() int { return 4 * span * by.threads }

func divideUp(a, b int) int { return (a + b - 1) / b }

// appendScan appends a call.
func appendScan(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	appendBy(b, strategyFor(s[0]), s[0], t)
}

// appendBy appends a call by a strategy.
func appendBy(b *gpu.Builder, by strategy, n int, t []*gpu.Buffer) {
	source := gpu.Source{Name: "phase.metal", Text: text}.Define("THREADS", by.threads).Define("SPAN", span)
	walk := gpu.Values(n, by.tiles)
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	sums := b.Scratch(gpu.Uint, 2*by.groups) // not read if there is one threadgroup
	if by.groups > 1 {
		b.Dispatch(b.Kernel(source, "sums"), gpu.Size{X: by.groups - 1, Y: 1, Z: 1}, threads, sums, t[in].As(gpu.Float4), walk)
	}
	b.Dispatch(b.Kernel(source, "phases"), gpu.Size{X: by.groups, Y: 1, Z: 1}, threads,
		t[out].As(gpu.Float4), t[in].As(gpu.Float4), t[after], t[before], sums, walk)
}
