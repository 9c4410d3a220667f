package reduce

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed reduce.metal
var text string

// The numbers are those of an H200. It would leave 64 Ki values to one threadgroup; cores that read slower, Apple's among
// them, leave it fewer.
const (
	vectors       = 8        // of four values, that a thread adds up pairwise at a time
	threads       = 256      // in a threadgroup, where there are several
	groupsPerCore = 4        // with eight vectors a thread, as many as run at once
	mostThreads   = 1024     // in a threadgroup that is alone
	aloneUpTo     = 32 << 10 // values that one threadgroup sums sooner than two launches do
)

var source = gpu.Source{Name: "reduce.metal", Text: text}.Define("VECTORS", vectors)

// groupsFor returns how many threadgroups sum n values on so many cores: one alone, or a multiple of four, so that their
// sums are whole vectors, but no more than run at once or find work.
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

// appendIn appends the sum of n values in so many threadgroups, whose sums another one sums.
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

// alone returns how many threads sum n values in one threadgroup: whole simdgroups.
func alone(n int) int { return min(((n+3)/4+31)/32*32, mostThreads) }
