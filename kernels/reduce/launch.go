package reduce

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

var (
	//go:embed vectors.metal
	vectorsText string
	//go:embed sum.metal
	sumText string
	//go:embed extreme.metal
	extremeText string
	//go:embed first.metal
	firstText string
)

var (
	sumSource     = withVectors("sum.metal", sumText, vectors)
	extremeSource = withVectors("extreme.metal", extremeText, vectors)
	firstSource   = withVectors("first.metal", firstText, firstVectors)
)

// withVectors returns the source of a text that follows vectors.metal, for threads that have count vectors at a time.
func withVectors(name, text string, count int) gpu.Source {
	return gpu.Source{Name: "vectors.metal+" + name, Text: vectorsText + text}.Define("VECTORS", count)
}

// The numbers were chosen on an H200, and firstVectors on an H100. There, one threadgroup could sum up to 64 Ki values alone.
// aloneUpTo is less because other cores, such as Apple's, read more slowly.
const (
	vectors       = 8        // of four values, that a thread adds up at a time, pairwise
	firstVectors  = 4        // the same where a thread looks for the first greatest value, which takes it longer
	threads       = 256      // in each of several threadgroups
	groupsPerCore = 4        // with eight vectors per thread, as many as a core runs at once
	mostThreads   = 1024     // in a single threadgroup
	aloneUpTo     = 32 << 10 // up to so many values one threadgroup is faster than two launches
)

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
	appendSumIn(b, n, groupsFor(n, b.Facts().Cores), 1, t[0], t[1].As(gpu.Float4))
}

// appendMean appends the mean of values.
func appendMean(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[elements]
	appendSumIn(b, n, groupsFor(n, b.Facts().Cores), float32(n), t[0], t[1].As(gpu.Float4))
}

// appendSumIn appends the sum of n values, divided by divisor, in the given number of threadgroups. If there are several,
// another threadgroup adds their sums.
func appendSumIn(b *gpu.Builder, n, groups int, divisor float32, y *gpu.Buffer, x gpu.Argument) {
	kernel := b.Kernel(sumSource, "sum")
	inPasses(b, n, groups, y, x, func(y, x gpu.Argument, n, groups, threads int, last bool) {
		by := float32(1)
		if last {
			by = divisor
		}
		appendKernel(b, kernel, groups, threads, y, x, gpu.Values(n), gpu.Values(by))
	})
}

// appendMax appends the greatest of values.
func appendMax(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	AppendMax(b, s[elements], t[0], t[1])
}

// appendMin appends the least of values.
func appendMin(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	appendExtreme(b, s[elements], "-1.0f", t[0], t[1].As(gpu.Float4))
}

// AppendMax appends the greatest of the n values in x, as an operation that needs it before its own kernels does. y has one
// value. A NaN is greater than all numbers.
func AppendMax(b *gpu.Builder, n int, y, x *gpu.Buffer) {
	appendExtreme(b, n, "1.0f", y, x.As(gpu.Float4))
}

func appendExtreme(b *gpu.Builder, n int, sign string, y *gpu.Buffer, x gpu.Argument) {
	kernel := b.Kernel(extremeSource.Define("SIGN", sign), "extreme")
	inPasses(b, n, groupsFor(n, b.Facts().Cores), y, x, func(y, x gpu.Argument, n, groups, threads int, _ bool) {
		appendKernel(b, kernel, groups, threads, y, x, gpu.Values(n))
	})
}

// appendArgMax appends the index of the greatest of values.
func appendArgMax(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[elements]
	appendArgMaxIn(b, n, groupsFor(n, b.Facts().Cores), t[0], t[1].As(gpu.Float4))
}

// appendArgMaxIn appends the index of the greatest of n values, in the given number of threadgroups.
func appendArgMaxIn(b *gpu.Builder, n, groups int, y *gpu.Buffer, x gpu.Argument) {
	values, places := b.Scratch(gpu.Float4, (groups+3)/4), b.Scratch(gpu.Uint, groups)
	pass := func(values, places, x, found gpu.Argument, n, groups, threads int, last uint32) {
		appendKernel(b, b.Kernel(firstSource, "first_greatest"), groups, threads, values, places, x, found, gpu.Values(n),
			gpu.Values(last))
	}
	if groups == 1 {
		pass(values.As(gpu.Float), y, x, places, n, 1, alone(n), 0)
		return
	}
	pass(values.As(gpu.Float), places, x, places, n, groups, threads, 0)
	greatest := b.Scratch(gpu.Float, 1)
	pass(greatest, y, values, places, groups, 1, alone(groups), 1)
}

// inPasses appends a pass over n values in the given number of threadgroups, which leaves one value for each of them. If there
// are several, a last pass goes over those values in one threadgroup.
func inPasses(b *gpu.Builder, n, groups int, y *gpu.Buffer, x gpu.Argument,
	pass func(y, x gpu.Argument, n, groups, threads int, last bool)) {
	if groups == 1 {
		pass(y, x, n, 1, alone(n), true)
		return
	}
	results := b.Scratch(gpu.Float4, groups/4)
	pass(results.As(gpu.Float), x, n, groups, threads, false)
	pass(y, results, groups, 1, alone(groups), true)
}

func appendKernel(b *gpu.Builder, k *gpu.Kernel, groups, threads int, arguments ...gpu.Argument) {
	b.Dispatch(k, gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, arguments...)
}

// alone returns how many threads reduce n values in one threadgroup. They are whole simdgroups.
func alone(n int) int { return min(((n+3)/4+31)/32*32, mostThreads) }
