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
	p.append(b, s, t, rowsFor(p.Heads, s[steps], b.Facts().Cores), nil)
}

// appendGrowing appends the attention of a call whose keys and values grow: see [kernels.Growing]. They have room for s[keys]
// rows a head.
func appendGrowing(b *gpu.Builder, p Params, s kernels.Shape, t, rows []*gpu.Buffer, length *gpu.Buffer) {
	const threads = 256
	// The positions of all threads must be uints.
	if most := math.MaxInt32; p.Heads > most/p.Width || s[keys] > most {
		b.Refuse(fmt.Errorf("attention: room for %d keys of %d heads of width %d, too many for a GPU: %w", s[keys], p.Heads, p.Width, kernels.ErrRefused))
		return
	}
	together := rowsFor(p.Heads, s[steps], b.Facts().Cores)
	k := b.Kernel(p.source(together), "append_row")
	for _, at := range []int{2, 3} {
		b.Dispatch(k, gpu.Size{X: ceilDiv(p.Heads*p.Width, threads), Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
			t[at], rows[at], length, gpu.Values(p.Heads, p.Width, s[keys]))
	}
	p.append(b, s, t, together, length)
}

// append appends the attention of a call. If length is not nil, it has the number of keys, for which s has the room.
func (p Params) append(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer, rows int, length *gpu.Buffer) {
	n, m := s[steps], s[keys]
	most := math.MaxInt32 / 2 // the kernel adds to a number of keys
	if p.Width > mostWidth || max(n, m) > most || ceilDiv(n, rows) > math.MaxInt32/p.Heads {
		b.Refuse(fmt.Errorf("attention: %d heads of %d queries, %d keys and width %d (want a width of at most %d, and fewer than 2³⁰ of the others): %w",
			p.Heads, n, m, p.Width, mostWidth, kernels.ErrRefused))
		return
	}
	grows := length != nil
	present := t[1].As(gpu.Uint) // which is not read
	if grows {
		present = length.At(0)
	}
	b.Dispatch(b.Kernel(p.source(rows), "attention"), gpu.Size{X: p.Heads * ceilDiv(n, rows), Y: 1, Z: 1}, gpu.Size{X: 2 * rows, Y: 1, Z: 1},
		t[0], t[1], t[2], t[3], present, gpu.Values(p.Heads, p.Width, n, m, number(grows), float32(1/math.Sqrt(float64(p.Width)))))
}

func (p Params) source(rows int) gpu.Source {
	width := 64
	for width < p.Width {
		width *= 2
	}
	return gpu.Source{Name: "attention.metal", Text: text}.Define("ROWS", rows).Define("WIDTH", width).
		Define("VECTOR", number(p.Width%4 == 0)).Define("CAUSAL", number(p.Causal))
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}
