package softmax

import (
	_ "embed"
	"math/bits"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed softmax.metal
var text string

const (
	simdWidth   = 32   // lanes of a simdgroup
	mostThreads = 1024 // in a threadgroup
)

// strategy is how the threads of a device share the rows of a matrix.
type strategy struct {
	kernel    string // the first of two if rows are cut into chunks
	threads   int    // in a threadgroup
	perThread int    // elements: vectors of four if the rows are whole vectors, else values
	rows      int    // in a threadgroup
	chunks    int    // of a row
}

// The limits below were measured on an H200, in resident memory.
const (
	simdgroupColumns   = 512     // longest row of a simdgroup
	simdgroups         = 4       // in a threadgroup, with a row each
	usualThreads       = 512     // in a threadgroup with one row, if the row fits
	mostValues         = 32      // in a thread's registers; with more, too few threads fit into a core
	chunkColumns       = 4 << 10 // in a chunk
	threadgroupColumns = mostThreads * mostValues
	fewRows            = 32       // with a threadgroup each, they would leave most cores without work,
	fewRowsWholeUpTo   = 16 << 10 // so those with more columns are cut into chunks
)

// strategyFor returns how to share rows of the given number of elements. An element is width values.
func strategyFor(rows, elements, width int) strategy {
	columns := elements * width
	switch {
	case columns <= simdgroupColumns:
		n := min(rows, simdgroups)
		return strategy{"simdgroup_rows", n * simdWidth, powerOfTwo(ceil(elements, simdWidth)), n, 1}
	case columns <= fewRowsWholeUpTo, columns <= threadgroupColumns && rows > fewRows:
		// At first a thread has two vectors or, since it takes four times the instructions to move them, 16 values.
		perThread := 2
		if width == 1 {
			perThread = 16
		}
		for perThread*width < mostValues && perThread*usualThreads < elements {
			perThread *= 2
		}
		return strategy{"threadgroup_rows", ceil(ceil(elements, perThread), simdWidth) * simdWidth, perThread, 1, 1}
	default:
		perThread := chunkColumns / width / usualThreads
		return strategy{"chunk_statistics", usualThreads, perThread, 1, ceil(columns, chunkColumns)}
	}
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

// powerOfTwo returns the least power of two that is not below n. Rounding numbers to powers of two keeps the number of
// compiled texts small.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// appendRows appends the softmax of rows. Rows of whole vectors of four are read and written as vectors.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	width := 1
	if p.Columns%4 == 0 {
		width = 4
	}
	appendBy(b, s[rows], p.Columns, width, strategyFor(s[rows], p.Columns/width, width), t[0], t[1])
}

// appendBy appends the softmax of n rows in elements of width values, by a strategy.
func appendBy(b *gpu.Builder, n, columns, width int, by strategy, y, x *gpu.Buffer) {
	source := gpu.Source{Name: "softmax.metal", Text: text}.Define("WIDTH", width).Define("PER_THREAD", by.perThread)
	grid := gpu.Size{X: ceil(n, by.rows), Y: by.chunks, Z: 1}
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	shape := gpu.Values(n, columns/width)
	if by.kernel == "chunk_statistics" {
		statistics := b.Scratch(gpu.Float2, n*by.chunks)
		b.Dispatch(b.Kernel(source, by.kernel), grid, threads, statistics, x, shape)
		b.Dispatch(b.Kernel(source, "chunk_values"), grid, threads, y, x, statistics, shape)
	} else {
		b.Dispatch(b.Kernel(source, by.kernel), grid, threads, y, x, shape)
	}
}
