package linear

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

//go:embed linear.metal
var text string

// appendLayer appends a layer by our kernels. The weights go to the device with every launch plan, and so once for every
// number of rows.
func appendLayer(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	if !fits(b, p, s[rows]) {
		return
	}
	y, x, bias := t[0], t[1], b.Constant(gpu.Float, p.Bias)
	if s[rows] <= p.mostFewRows() {
		p.appendFewRows(b, y, x, b.Constant(gpu.Float, p.weights()), bias, s[rows])
	} else {
		matmul.LaunchBias(b, y, x, b.Constant(gpu.Float, p.Transposed), bias, s[rows], p.Out, p.In, false)
	}
}

// fits reports whether matrices are not too large for a GPU, and refuses them where they are.
func fits(b *gpu.Builder, p Params, n int) bool {
	most := max(n, p.In, p.Out)
	if most > math.MaxInt32 {
		b.Refuse(fmt.Errorf("linear: a matrix has %d rows or columns, too many for a GPU (want at most %d): %w", most, math.MaxInt32,
			kernels.ErrRefused))
	}
	return most <= math.MaxInt32
}

// libraryTransposedRows is the number of rows up to which cuBLAS is faster with W than with Wᵀ: at 1024×1024 on an H200,
// 3.6 µs against 8.6 for one row, 5.8 against 8.1 for four, 9.3 against 8.6 for eight.
const libraryTransposedRows = 4

// newVendor returns what appends a layer by a vendor's library, which adds its product to the bias.
func newVendor(_ *gpu.Device, library gpu.GEMM, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if !fits(b, p, s[rows]) {
			return
		}
		p.appendBias(b, t[0], s[rows])
		transposed, w := s[rows] <= libraryTransposedRows, p.Transposed
		if transposed {
			w = p.weights()
		}
		weights := b.Constant(gpu.Float, w)
		b.Encode(func() (gpu.External, error) {
			return library.NewGEMM(t[0].Region(), t[1].Region(), weights.Region(), s[rows], p.Out, p.In, transposed, 1, 1)
		})
	}, nil
}

// appendBias writes the bias into every row of y.
func (p *Params) appendBias(b *gpu.Builder, y *gpu.Buffer, n int) {
	const threads = 256
	b.Dispatch(b.Kernel(chooseFew(1).source(p.In), "fill"),
		gpu.Size{X: n, Y: ceilDiv(p.Out, threads), Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, b.Constant(gpu.Float, p.Bias), gpu.Values(p.Out))
}

// few says how the kernel few_rows divides the work; its macros explain the fields.
type few struct{ rows, outputs, teams, split, unroll int }

// mostFewRows returns the number of rows up to which few_rows, which reads the weights again for every eight rows, is
// faster than the matrix product. On an H200, at 1024×1024, 24 rows took 6.9 µs against 8.1, 32 rows 7.8 against 8.0, and
// 48 rows 10.4 against 10.1; at 2048×2048, 16 rows took 11.4 against 18.2 and 32 rows 19.7 against 16.0; at 4096×4096,
// 16 rows 48 against 50.
func (p *Params) mostFewRows() int {
	if p.In*p.Out <= 1<<20 {
		return 32
	}
	return 16
}

// chooseFew returns the division for a number of rows, of 28 that were tried at 1024×1024 on an H200. One row took
// 3.5 µs, two and four 3.8, eight 4.7 and 16 6.1; a copy of as many bytes as the weights have, 4 MiB, takes 3.6 µs there,
// and what bounds both is the launch and one way to memory and back.
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

// appendFewRows appends y = x·Wᵀ + b of n rows, with weights W, Out×In.
func (p *Params) appendFewRows(b *gpu.Builder, y, x, weights, bias *gpu.Buffer, n int) {
	f := chooseFew(n)
	b.Dispatch(b.Kernel(f.source(p.In), "few_rows"),
		gpu.Size{X: ceilDiv(p.Out, f.teams*f.outputs), Y: ceilDiv(n, f.rows), Z: 1},
		gpu.Size{X: 32 * f.teams * f.split, Y: 1, Z: 1}, y, x, weights, bias, gpu.Values(n, p.In, p.Out))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
