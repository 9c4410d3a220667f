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

// division says how a threadgroup divides a long row: among how many threads, how many of its values stay in the registers of each,
// and how many of the others a thread reads at a time. The first of those stay in threadgroup memory if it is held. A core has room
// for one such threadgroup.
type division struct {
	threads, values, batch int
	held                   bool
}

// The divisions of a long row. With wide, 192 KiB of the row stay in registers, of which NVIDIA's cores have 256 KiB, and up to 160 KiB
// in threadgroup memory. The rest of the rows of all cores, 21 MB of 128 Ki columns on an H200, finds room in a cache of 50 MB. More
// threadgroup memory would take the place of the cache through which a core loads: 192 and 224 KiB take longer than 160. With narrow,
// 128 KiB stay in registers, and in threadgroup memory up to as many.
var (
	wide   = division{threads: 512, values: 96, batch: 80}
	narrow = division{threads: 1024, values: 32, batch: 32}
)

const (
	longSpare = 32      // registers that a thread has for other things than values of its row
	ownBytes  = 1 << 10 // of threadgroup memory that the kernel has for itself, at most
	leastHeld = 32      // values of a thread. To read fewer at a time would cost more than it saves to hold them
	leastTold = 16      // bytes of threadgroup memory that a launch must say, though the kernel uses none
)

// divide returns the division for rows of a number of columns on a GPU. If elements are single values, their addresses take the
// registers that wide has to spare.
func divide(columns int, f gpu.Facts) division {
	d, width := narrow, rowwise.Width(columns)
	if width > 1 && f.Registers >= wide.threads*(wide.values+longSpare) {
		d = wide
	}
	room := (f.MostThreadgroupBytes - ownBytes) / 4 / d.threads / width * width
	if columns > d.threads*d.values && room >= leastHeld {
		d.batch, d.held = min(d.batch, room), true
	}
	return d
}

// appendRows appends the softmax of a call.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	Launch(b, t[0], t[1], s[rows], p.Columns)
}

// Launch appends the softmax of each row of x, which is rows×columns, to a launch plan. y may be x.
func Launch(b *gpu.Builder, y, x *gpu.Buffer, rows, columns int) {
	if long(rows, columns, b.Facts().Cores) {
		divide(columns, b.Facts()).append(b, source, rows, columns, y, x)
		return
	}
	rowwise.Append(b, source, rows, columns, rowwise.Width(columns), gpu.Float2, y, x)
}

// append appends the softmax of long rows by a text, with a threadgroup for each.
func (d division) append(b *gpu.Builder, text gpu.Source, rows, columns int, y, x *gpu.Buffer) {
	width := rowwise.Width(columns)
	held, bytes := 0, leastTold
	if d.held {
		held, bytes = 1, 4*d.threads*d.batch
	}
	text = text.Define("WIDTH", width).Define("PER_THREAD", d.values/width).Define("LONG_THREADS", d.threads).
		Define("LONG_BATCH", d.batch/width).Define("HELD", held)
	b.Dispatch(b.Kernel(text, "long_rows"), gpu.Size{X: rows, Y: 1, Z: 1}, gpu.Size{X: d.threads, Y: 1, Z: 1},
		y, x, gpu.Values(rows, columns/width), gpu.Threadgroup(bytes))
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
