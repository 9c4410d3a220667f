package softmax

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/rowwise"
)

//go:embed softmax.metal
var text string

var source = gpu.Source{Name: "softmax.metal", Text: text}

// The rows that a threadgroup reads whole though they do not fit in its registers have more than rowwise.ThreadgroupColumns columns
// and at most longest. Of longer rows hardly anything stays in registers.
const longest = 256 << 10

// division says how a threadgroup divides a long row: among how many threads, and how many of its values stay in the registers
// of each. A core has room for one such threadgroup.
type division struct{ threads, values int }

// The divisions of a long row. With wide, 192 KiB of the row stay in registers, of which NVIDIA's cores have 256 KiB. The rest of
// the rows of all cores, 42 MB of 128 Ki columns on an H200, finds room in a cache of 50 MB. With narrow, 128 KiB stay.
var (
	wide   = division{threads: 512, values: 96}
	narrow = division{threads: 1024, values: 32}
)

// longSpare is how many registers a thread has for other things than values of its row.
const longSpare = 32

// divide returns the division for rows of a number of columns on a GPU. registers is how many a threadgroup may have, or 0. If
// elements are single values, their addresses take the registers that wide has to spare.
func divide(columns, registers int) division {
	if rowwise.Width(columns) > 1 && registers >= wide.threads*(wide.values+longSpare) {
		return wide
	}
	return narrow
}

// appendRows appends the softmax of a call.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	Launch(b, t[0], t[1], s[rows], p.Columns)
}

// Launch appends the softmax of each row of x, which is rows×columns, to a launch plan. y may be x.
func Launch(b *gpu.Builder, y, x *gpu.Buffer, rows, columns int) {
	if long(rows, columns, b.Facts().Cores) {
		divide(columns, b.Facts().Registers).append(b, source, rows, columns, y, x)
		return
	}
	rowwise.Append(b, source, rows, columns, rowwise.Width(columns), gpu.Float2, y, x)
}

// append appends the softmax of long rows by a text, with a threadgroup for each.
func (d division) append(b *gpu.Builder, text gpu.Source, rows, columns int, y, x *gpu.Buffer) {
	width := rowwise.Width(columns)
	text = text.Define("WIDTH", width).Define("PER_THREAD", d.values/width).Define("LONG_THREADS", d.threads)
	b.Dispatch(b.Kernel(text, "long_rows"), gpu.Size{X: rows, Y: 1, Z: 1}, gpu.Size{X: d.threads, Y: 1, Z: 1},
		y, x, gpu.Values(rows, columns/width))
}

// long reports whether a threadgroup takes a whole row that does not fit in its registers. The rows must keep nine tenths of the
// cores busy to the end: chunks of rows, which are read twice, always do.
func long(rows, columns, cores int) bool {
	if columns <= rowwise.ThreadgroupColumns || columns > longest || rows <= rowwise.FewRows || cores == 0 {
		return false
	}
	waves := (rows + cores - 1) / cores
	return 10*rows >= 9*waves*cores
}
