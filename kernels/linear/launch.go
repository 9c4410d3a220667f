package linear

import (
	_ "embed"
	"fmt"
	"math"
	"sync"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

//go:embed linear.metal
var text string

// ByText returns a function that appends a layer by our kernels. Each launch plan has the weights as constants. W is
// transposed once for all plans, when it is first needed. So a plan over another one finds the same slice there, and writes
// nothing again.
func ByText(_ *gpu.Device, layer Params) (kernels.Append[Params], error) {
	weights := sync.OnceValue(layer.weights)
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if !fits(b, p, s[rows]) {
			return
		}
		y, x, bias := t[0], t[1], b.Constant(gpu.Float, p.Bias)
		if s[rows] <= p.mostFewRows() {
			p.appendFewRows(b, y, x, b.Constant(gpu.Float, weights()), bias, s[rows])
		} else {
			matmul.LaunchBias(b, y, x, b.Constant(gpu.Float, p.Transposed), bias, s[rows], p.Out, p.In, false)
		}
	}, nil
}

// fits reports whether matrices are small enough for a GPU. It refuses larger ones.
func fits(b *gpu.Builder, p Params, n int) bool {
	most := max(n, p.In, p.Out)
	if most > math.MaxInt32 {
		b.Refuse(fmt.Errorf("linear: a matrix has %d rows or columns, too many for a GPU (want at most %d): %w", most, math.MaxInt32,
			kernels.ErrRefused))
	}
	return most <= math.MaxInt32
}

// libraryTransposedRows is the number of rows up to which cuBLAS is faster with W than with Wᵀ. At 1024×1024 on an H200, one
// row took 3.6 µs with W and 8.6 with Wᵀ, four rows 5.8 and 8.1, and eight rows 9.3 and 8.6.
const libraryTransposedRows = 4

// ByVendor returns a function that appends a layer by a vendor's library. The library adds the product to the bias. As for
// ByText, W is transposed once.
func ByVendor(_ *gpu.Device, library gpu.GEMM, layer Params) (kernels.Append[Params], error) {
	untransposed := sync.OnceValue(layer.weights)
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if !fits(b, p, s[rows]) {
			return
		}
		p.appendBias(b, t[0], s[rows])
		transposed, w := s[rows] <= libraryTransposedRows, p.Transposed
		if transposed {
			w = untransposed()
		}
		weights := b.Constant(gpu.Float, w)
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: t[0].Region(), A: t[1].Region(), B: weights.Region(),
				M: s[rows], N: p.Out, K: p.In, TransposeB: transposed, Alpha: 1, Beta: 1,
			})
		})
	}, nil
}

// appendBias writes the bias into every row of y.
func (p *Params) appendBias(b *gpu.Builder, y *gpu.Buffer, n int) {
	const threads = 256
	b.Dispatch(b.Kernel(chooseFew(1).source(p.In), "fill"),
		gpu.Size{X: n, Y: ceilDiv(p.Out, threads), Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, b.Constant(gpu.Float, p.Bias), gpu.Values(p.Out))
}

// few says how the kernel few_rows divides the work. The macros of linear.metal explain the fields.
type few struct{ rows, outputs, teams, split, unroll int }

// mostFewRows returns the number of rows up to which few_rows is faster than the matrix product. few_rows reads the weights
// again for every eight rows. On an H200 the two took, in µs: at 1024×1024, 6.9 and 8.1 for 24 rows, 7.8 and 8.0 for 32
// rows, and 10.4 and 10.1 for 48 rows; at 2048×2048, 11.4 and 18.2 for 16 rows, and 19.7 and 16.0 for 32 rows; at 4096×4096,
// 48 and 50 for 16 rows.
func (p *Params) mostFewRows() int {
	if p.In*p.Out <= 1<<20 {
		return 32
	}
	return 16
}

// chooseFew returns the division for a number of rows. The divisions are the fastest of 28 that were tried at 1024×1024 on
// an H200. There, one row took 3.5 µs, two and four rows 3.8, eight rows 4.7, and 16 rows 6.1. A copy of 4 MiB, as many
// bytes as the weights have, takes 3.6 µs. Both times are mostly that of a launch and of one trip to memory and back.
func chooseFew(rows int) few {
	switch {
	case rows == 1:
		return few{rows: 1, outputs: 4, teams: 1, split: 8, unroll: 1}
	case rows == 2:
		return few{rows: 2, outputs: 4, teams: 2, split: 4, unroll: 2}
	case rows <= 4:
		return few{rows: 4, outputs: 4, teams: 2, split: 4, unroll: 2}
	}
	return few{rows: 8, outputs: 2, teams: 4, split: 2, unroll: 1}
}

func (f few) source(in int) gpu.Source {
	vector := 0
	if in%4 == 0 {
		vector = 1
	}
	return gpu.Source{Name: "linear.metal", Text: text}.Define("ROWS", f.rows).Define("OUTPUTS", f.outputs).
		Define("TEAMS", f.teams).Define("SPLIT", f.split).Define("UNROLL", f.unroll).Define("VECTOR", vector)
}

// appendFewRows appends y = x·Wᵀ + b for n rows. weights is W, Out×In.
func (p *Params) appendFewRows(b *gpu.Builder, y, x, weights, bias *gpu.Buffer, n int) {
	f := chooseFew(n)
	b.Dispatch(b.Kernel(f.source(p.In), "few_rows"),
		gpu.Size{X: ceilDiv(p.Out, f.teams*f.outputs), Y: ceilDiv(n, f.rows), Z: 1},
		gpu.Size{X: 32 * f.teams * f.split, Y: 1, Z: 1}, y, x, weights, bias, gpu.Values(n, p.In, p.Out))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
