// Package rowwise shares the rows of a matrix among the threads of a GPU, for operations that compute each row from
// statistics of the whole row, such as softmax and norms. The kernel texts are those of the operations. Each has four kernels:
//
//   - simdgroup_rows and threadgroup_rows (y, x, shape, …) compute a row in one simdgroup or one threadgroup, which keeps it
//     in registers. So memory is read once and written once.
//   - chunk_statistics (statistics, x, shape) and chunk_values (y, x, statistics, shape, …) compute a long row in chunks, one
//     threadgroup each. The first kernel leaves one value for each chunk, rows×chunks. The second joins those of its row.
//
// shape has the number of rows and the number of elements in a row. An element is [Width] values. A thread has PER_THREAD
// elements, which lie a simdgroup's or a threadgroup's width apart.
package rowwise

import (
	"math/bits"

	"crossover/gpu"
)

const (
	simdWidth   = 32   // lanes of a simdgroup
	mostThreads = 1024 // in a threadgroup
)

// The limits below were measured on an H200 with softmax, in resident memory, and manyChunks with norms.
const (
	SimdgroupColumns   = 512                      // longest row of a simdgroup
	Simdgroups         = 4                        // in a threadgroup, with a row each
	ThreadgroupColumns = mostThreads * mostValues // longest row of a threadgroup
	FewRows            = 32                       // with a threadgroup each, they would leave most cores without work,
	FewRowsWholeUpTo   = 16 << 10                 // so those with more columns are cut into chunks

	usualThreads = 512     // in a threadgroup with one row, if the row fits
	mostValues   = 32      // in a thread's registers; with more, too few threads fit into a core
	chunkColumns = 4 << 10 // in a chunk, unless there are many
	manyChunks   = 1 << 10 // of all rows. Longer chunks have fewer statistics to join, as long as there are so many
)

// strategy is how the threads of a device share the rows of a matrix.
type strategy struct {
	kernel    string // the first of two if rows are cut into chunks
	threads   int    // in a threadgroup
	perThread int    // elements
	rows      int    // in a threadgroup
	chunks    int    // of a row
}

// strategyFor returns how to share rows of the given number of elements. An element is width values.
func strategyFor(rows, elements, width int) strategy {
	columns := elements * width
	switch {
	case columns <= SimdgroupColumns:
		n := min(rows, Simdgroups)
		return strategy{"simdgroup_rows", n * simdWidth, powerOfTwo(ceil(elements, simdWidth)), n, 1}
	case columns <= FewRowsWholeUpTo, columns <= ThreadgroupColumns && rows > FewRows:
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
		chunk := chunkColumns
		for chunk < mostValues*usualThreads && rows*ceil(columns, 2*chunk) >= manyChunks {
			chunk *= 2
		}
		return strategy{"chunk_statistics", usualThreads, chunk / width / usualThreads, 1, ceil(columns, chunk)}
	}
}

// LongChunks reports whether rows are cut into longer chunks than usual, because there are many. Reading chunks from the last to the
// first shows only then: with usual chunks, 96 MiB took as long as before on an H200.
func LongChunks(rows, columns int) bool {
	by := strategyFor(rows, columns, 1)
	return by.chunks > 1 && by.threads*by.perThread > chunkColumns
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

// powerOfTwo returns the least power of two that is not below n. Rounding numbers to powers of two keeps the number of
// compiled texts small.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Width returns the number of values in an element: four if the rows are whole vectors, else one.
func Width(columns int) int {
	if columns%4 == 0 {
		return 4
	}
	return 1
}

// Append appends the kernels of a text for a matrix of rows×columns in elements of width values, which must divide the number
// of columns. It defines the macros WIDTH and PER_THREAD. statistics is the type of a chunk's statistics. rest are the
// arguments behind those of the package's kernels.
func Append(b *gpu.Builder, text gpu.Source, rows, columns, width int, statistics gpu.Type, y, x *gpu.Buffer, rest ...gpu.Argument) {
	by := strategyFor(rows, columns/width, width)
	text = text.Define("WIDTH", width).Define("PER_THREAD", by.perThread)
	grid := gpu.Size{X: ceil(rows, by.rows), Y: by.chunks, Z: 1}
	threads := gpu.Size{X: by.threads, Y: 1, Z: 1}
	shape := gpu.Values(rows, columns/width)
	if by.kernel != "chunk_statistics" {
		b.Dispatch(b.Kernel(text, by.kernel), grid, threads, append([]gpu.Argument{y, x, shape}, rest...)...)
		return
	}
	chunks := b.Scratch(statistics, rows*by.chunks)
	b.Dispatch(b.Kernel(text, by.kernel), grid, threads, chunks, x, shape)
	b.Dispatch(b.Kernel(text, "chunk_values"), grid, threads, append([]gpu.Argument{y, x, chunks, shape}, rest...)...)
}
