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

const (
	longThreads = 1024 // of a threadgroup with a long row
	longValues  = 32   // of a long row that stay in a thread's registers
	longTiles   = 8    // most times that a long row is longer than what stays in registers; of a longer one hardly anything stays
)

// appendRows appends the softmax of rows.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	width := rowwise.Width(p.Columns)
	if long(s[rows], p.Columns, b.Facts().Cores) {
		text := source.Define("WIDTH", width).Define("PER_THREAD", longValues/width)
		b.Dispatch(b.Kernel(text, "long_rows"), gpu.Size{X: s[rows], Y: 1, Z: 1}, gpu.Size{X: longThreads, Y: 1, Z: 1},
			t[0], t[1], gpu.Values(s[rows], p.Columns/width))
		return
	}
	rowwise.Append(b, source, s[rows], p.Columns, width, gpu.Float2, t[0], t[1])
}

// long reports whether a threadgroup takes a whole row that does not fit in its registers. A core has room for one such
// threadgroup. The rows must keep nine tenths of the cores busy to the end: chunks of rows, which are read twice, always do.
func long(rows, columns, cores int) bool {
	if columns <= longThreads*longValues || columns > longTiles*longThreads*longValues || rows <= rowwise.FewRows || cores == 0 {
		return false
	}
	waves := (rows + cores - 1) / cores
	return 10*rows >= 9*waves*cores
}
