package reduce

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed reduce.metal
var text string

// The numbers were chosen on an H200. There, one threadgroup could sum up to 64 Ki values alone. aloneUpTo is less because
// other cores, such as Apple's, read more slowly.
const (
	vectors       = 8        // of four values, that a thread adds up at a time, pairwise
	threads       = 256      // in each of several threadgroups
	groupsPerCore = 4        // with eight vectors per thread, as many as a core runs at once
	mostThreads   = 1024     // in a single threadgroup
	aloneUpTo     = 32 << 10 // up to so many values one threadgroup is faster than two launches
)

var source = gpu.Source{Name: "reduce.metal", Text: text}.Define("VECTORS", vectors)

// groupsFor returns how many threadgroups sum n values on a GPU of the given number of cores: one, or a multiple of four, so
// that their sums are whole vectors. There are no more than run at once and no more than there is work for, rounded up to
// the multiple of four.
func groupsFor(n, cores int) int {
	if n <= aloneUpTo {
		return 1
	}
	const step = 4 * vectors * threads
	return (min((n+step-1)/step, cores*groupsPerCore) + 3) / 4 * 4
}

// appendSum appends the sum of values.
func appendSum(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[elements]
	appendIn(b, n, groupsFor(n, b.Facts().Cores), t[0], t[1].As(gpu.Float4))
}

// appendIn appends the sum of n values in the given number of threadgroups. If there are several, another threadgroup adds
// their sums.
func appendIn(b *gpu.Builder, n, groups int, y *gpu.Buffer, x gpu.Argument) {
	kernel := b.Kernel(source, "sum")
	sum := func(y, x gpu.Argument, n, groups, threads int) {
		b.Dispatch(kernel, gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, x, gpu.Values(n))
	}
	if groups == 1 {
		sum(y, x, n, 1, alone(n))
		return
	}
	sums := b.Scratch(gpu.Float4, groups/4)
	sum(sums.As(gpu.Float), x, n, groups, threads)
	sum(y, sums, groups, 1, alone(groups))
}

// alone returns how many threads sum n values in one threadgroup. They are whole simdgroups.
func alone(n int) int { return min(((n+3)/4+31)/32*32, mostThreads) }
