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

// byText returns a function that appends an adapter by our kernels, after its layer if there is one.
func byText(d *gpu.Device, p Params) (kernels.Append[Params], error) {
	k, err := newAdapter(d, p)
	if err != nil {
		return nil, err
	}
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if fits(b, p, s[rows]) {
			k.append(b, s, t, choose(s[rows], p.Out, b.Facts().Cores))
		}
	}, nil
}

// adapter is parameters in the form in which all launch plans have them.
type adapter struct {
	Params
	layer  kernels.Append[linear.Params] // nil for an adapter alone
	rank   int                           // that the kernel computes with: a power of two
	stride int                           // of b
	a, b   []float32                     // A in rows of rank, and scale·B in rows of stride; nil if there is no kernel for the rank
}

func newAdapter(d *gpu.Device, p Params) (*adapter, error) {
	k := &adapter{Params: p, rank: 4, stride: ceilDiv(p.Out, 4) * 4}
	if p.layer != nil {
		var err error
		if k.layer, err = linear.ByText(d, *p.layer); err != nil {
			return nil, err
		}
	}
	if p.Rank <= mostRank {
		for k.rank < p.Rank {
			k.rank *= 2
		}
		k.a, k.b = padded(p.A, p.Rank, k.rank), padded(p.scaledB(), p.Out, k.stride)
	}
	return k, nil
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

func (k *adapter) append(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer, l layout) {
	n, y, x := s[rows], t[0], t[1]
	if k.Rank > mostRank {
		k.appendProducts(b, s, t)
		return
	}
	if k.layer != nil {
		k.layer(b, *k.Params.layer, k.layerShape(s), t)
	}
	src := gpu.Source{Name: "lora.metal", Text: text}.Define("ROWS", l.rows).Define("RANK", k.rank).
		Define("VECTOR_IN", number(k.In%4 == 0)).Define("VECTOR_OUT", number(k.Out%4 == 0)).Define("ADD", number(k.layer != nil))
	b.Dispatch(b.Kernel(src, "lora"), gpu.Size{X: ceilDiv(n, l.rows), Y: ceilDiv(k.Out, l.span), Z: 1}, gpu.Size{X: 256, Y: 1, Z: 1},
		y, x, b.Constant(gpu.Float4, k.a), b.Constant(gpu.Float, k.b), gpu.Values(n, k.In, k.Out, k.stride, k.Rank, l.span))
}

// appendProducts appends an adapter by two matrix products, for ranks that are large.
func (k *adapter) appendProducts(b *gpu.Builder, s kernels.Shape, t []*gpu.Buffer) {
	n := s[rows]
	between, before := b.Scratch(gpu.Float, n*k.Rank), (*gpu.Buffer)(nil)
	product := matmul.Params{Alpha: k.Scale}
	if k.layer != nil {
		before, product.Beta = b.Scratch(gpu.Float, n*k.Out), 1
		k.layer(b, *k.Params.layer, k.layerShape(s), []*gpu.Buffer{before, t[1]})
	}
	matmul.Launch(b, between, t[1], b.Constant(gpu.Float, k.A), n, k.Rank, k.In, false)
	matmul.LaunchScaled(b, product, t[0], between, b.Constant(gpu.Float, k.B), before, n, k.Out, k.Rank)
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
