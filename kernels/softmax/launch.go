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

// appendRows appends the softmax of rows.
func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	rowwise.Append(b, source, s[rows], p.Columns, rowwise.Width(p.Columns), gpu.Float2, t[0], t[1])
}
