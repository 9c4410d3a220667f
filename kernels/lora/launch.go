package lora

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
)

//go:embed lora.metal
var text string

// mostRank is the greatest rank for which the kernel has threadgroup memory.
const mostRank = 64

// layout says how the kernel divides the work. The macros of lora.metal explain the fields.
type layout struct{ rows, span int }

// choose returns the division of a number of rows with out columns among the cores of a GPU. Threadgroups of many rows read A
// and B less often. Those of few rows are for calls that would leave cores without work. Columns are divided for the same
// reason, although x·A is then computed more than once. None of this was tuned by measurements.
func choose(rows, out, cores int) layout {
	const (
		many, few = 32, 4
		least     = 256 // columns: so many make the threads of a team store four each
	)
	across := ceilDiv(out, least)
	l := layout{rows: many}
	if ceilDiv(rows, many)*across < cores {
		l.rows = few
	}
	parts := min(across, max(1, 2*cores/ceilDiv(rows, l.rows)))
	l.span = ceilDiv(across, parts) * least
	return l
}

// appendAdapter appends an adapter by our kernels, after its layer if there is one.
func appendAdapter(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	if fits(b, p, s[rows]) {
		p.append(b, s, t, choose(s[rows], p.Out, b.Facts().Cores))
	}
}

// fits reports whether matrices are small enough for a GPU. It refuses larger ones.
func fits(b *gpu.Builder, p Params, n int) bool {
	most := max(n, p.In, p.Out, p.Rank)
	if most > math.MaxInt32 {
		b.Refuse(fmt.Errorf("lora: a matrix has %d rows or columns, too many for a GPU (want at most %d): %w", most, math.MaxInt32,
			kernels.ErrRefused))
	}
	return most <= math.MaxInt32
}

func (p *Params) append(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer, l layout) {
	n, y, x := s[rows], t[0], t[1]
	if p.Rank > mostRank {
		p.appendProducts(b, s, t)
		return
	}
	if p.layer != nil {
		linear.Append(b, *p.layer, p.layerShape(s), t)
	}
	rank := 4
	for rank < p.Rank {
		rank *= 2
	}
	stride := ceilDiv(p.Out, 4) * 4
	src := gpu.Source{Name: "lora.metal", Text: text}.Define("ROWS", l.rows).Define("RANK", rank).
		Define("VECTOR_IN", number(p.In%4 == 0)).Define("VECTOR_OUT", number(p.Out%4 == 0)).Define("ADD", number(p.layer != nil))
	b.Dispatch(b.Kernel(src, "lora"), gpu.Size{X: ceilDiv(n, l.rows), Y: ceilDiv(p.Out, l.span), Z: 1}, gpu.Size{X: 256, Y: 1, Z: 1},
		y, x, b.Constant(gpu.Float4, padded(p.A, p.Rank, rank)), b.Constant(gpu.Float, padded(p.scaledB(), p.Out, stride)),
		gpu.Values(n, p.In, p.Out, stride, p.Rank, l.span))
}

// appendProducts appends an adapter by two matrix products, for ranks that are large.
func (p *Params) appendProducts(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer) {
	n := s[rows]
	between, before := b.Scratch(gpu.Float, n*p.Rank), (*gpu.Buffer)(nil)
	product := matmul.Params{Alpha: p.Scale}
	if p.layer != nil {
		before, product.Beta = b.Scratch(gpu.Float, n*p.Out), 1
		linear.Append(b, *p.layer, p.layerShape(s), []*gpu.Buffer{before, t[1]})
	}
	matmul.Launch(b, between, t[1], b.Constant(gpu.Float, p.A), n, p.Rank, p.In, false)
	matmul.LaunchScaled(b, product, t[0], between, b.Constant(gpu.Float, p.B), before, n, p.Out, p.Rank)
}

// byVendor returns a function that appends an adapter by two products of a vendor's library.
func byVendor(d *gpu.Device, library gpu.GEMM, p Params) (kernels.Append[Params], error) {
	var layer kernels.Append[linear.Params]
	if p.layer != nil {
		var err error
		if layer, err = linear.ByVendor(d, library, *p.layer); err != nil {
			return nil, err
		}
	}
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if !fits(b, p, s[rows]) {
			return
		}
		beta := float32(0)
		if layer != nil {
			layer(b, *p.layer, p.layerShape(s), t)
			beta = 1
		}
		n, between := s[rows], b.Scratch(gpu.Float, s[rows]*p.Rank)
		down, up := b.Constant(gpu.Float, p.A), b.Constant(gpu.Float, p.B)
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: between.Region(), A: t[1].Region(), B: down.Region(),
				M: n, N: p.Rank, K: p.In, Alpha: 1,
			})
		})
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: t[0].Region(), A: between.Region(), B: up.Region(),
				M: n, N: p.Out, K: p.Rank, Alpha: p.Scale, Beta: beta,
			})
		})
	}, nil
}

// padded returns a matrix whose rows of the given number of columns are filled up with zeros to width.
func padded(x []float32, columns, width int) []float32 {
	if columns == width {
		return x
	}
	var y []float32
	for ; len(x) > 0; x = x[columns:] {
		y = append(append(y, x[:columns]...), make([]float32, width-columns)...)
	}
	return y
}

func number(set bool) int {
	if set {
		return 1
	}
	return 0
}
