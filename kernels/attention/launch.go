package attention

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed attention.metal
var text string

const (
	// manyRows and fewRows are the values of ROWS. Many queries in a threadgroup read keys and values less often.
	manyRows, fewRows = 64, 16
	// mostWidth is the greatest width for which the kernel has registers and threadgroup memory.
	mostWidth = 256
)

// rowsFor returns the number of queries in a threadgroup: few if many would leave cores without work.
func rowsFor(heads, steps, cores int) int {
	if heads*ceilDiv(steps, manyRows) < cores {
		return fewRows
	}
	return manyRows
}

// appendHeads appends the attention of a call.
func appendHeads(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	p.append(b, s, t, rowsFor(p.Heads, s[steps], b.Facts().Cores))
}

func (p Params) append(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer, rows int) {
	n, m := s[steps], s[keys]
	most := math.MaxInt32 / 2 // the kernel adds to a number of keys
	if p.Width > mostWidth || max(n, m) > most || ceilDiv(n, rows) > math.MaxInt32/p.Heads {
		b.Refuse(fmt.Errorf("attention: %d heads of %d queries, %d keys and width %d (want a width of at most %d, and fewer than 2³⁰ of the others): %w",
			p.Heads, n, m, p.Width, mostWidth, kernels.ErrRefused))
		return
	}
	width := 64
	for width < p.Width {
		width *= 2
	}
	src := gpu.Source{Name: "attention.metal", Text: text}.Define("ROWS", rows).Define("WIDTH", width).
		Define("VECTOR", number(p.Width%4 == 0)).Define("CAUSAL", number(p.Causal))
	b.Dispatch(b.Kernel(src, "attention"), gpu.Size{X: p.Heads * ceilDiv(n, rows), Y: 1, Z: 1}, gpu.Size{X: 2 * rows, Y: 1, Z: 1},
		t[0], t[1], t[2], t[3], gpu.Values(p.Heads, p.Width, n, m, float32(1/math.Sqrt(float64(p.Width)))))
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}
