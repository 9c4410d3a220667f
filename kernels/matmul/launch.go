package matmul

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

var (
	//go:embed matmul.metal
	text string
	//go:embed simdgroup.metal
	simdgroupText string
)

// Launch appends C = A·B to a launch plan, for row-major float32 matrices without gaps. A is m×k, C is m×n, and B is k×n. If
// transposed is set, B is n×k, and Launch appends C = A·Bᵀ. C must not be A or B. If a dimension is above 2³¹−1, Build fails
// with an error that wraps [kernels.ErrRefused].
func Launch(b *gpu.Builder, c, a, bm *gpu.Buffer, m, n, k int, transposed bool) {
	launchProduct(b, product{c: c, a: a, b: bm, m: m, n: n, k: k, params: Params{TransposeB: transposed, Alpha: 1}})
}

// LaunchBias is [Launch] with a bias: n values that are added to every row of C.
func LaunchBias(b *gpu.Builder, c, a, bm, bias *gpu.Buffer, m, n, k int, transposed bool) {
	launchProduct(b, product{c: c, a: a, b: bm, bias: bias, m: m, n: n, k: k, params: Params{TransposeB: transposed, Alpha: 1}})
}

// LaunchScaled appends C = α·op(A)·op(B) + β·before with the factors and transposes of p. before is m×n. It is another buffer
// than C, and may be nil if β is 0.
func LaunchScaled(b *gpu.Builder, p Params, c, a, bm, before *gpu.Buffer, m, n, k int) {
	launchProduct(b, product{c: c, a: a, b: bm, before: before, m: m, n: n, k: k, params: p})
}

// product is a matrix product in a launch plan.
type product struct {
	c, a, b *gpu.Buffer
	bias    *gpu.Buffer // nil for none; only without scaling
	before  *gpu.Buffer // nil if beta is 0
	m, n, k int
	params  Params
}

func launchProduct(b *gpu.Builder, p product) {
	if fits(b, p.m, p.n, p.k) {
		t, parts := choose(p.m, p.n, p.k, b.Facts())
		p.launch(b, t, parts)
	}
}

// fits reports whether matrices are small enough for a GPU. It refuses larger ones.
func fits(b *gpu.Builder, m, n, k int) bool {
	most := max(m, n, k)
	if most > math.MaxInt32 {
		b.Refuse(fmt.Errorf("matmul: a matrix has %d rows or columns, too many for a GPU (want at most %d): %w", most, math.MaxInt32,
			kernels.ErrRefused))
	}
	return most <= math.MaxInt32
}

// launch appends the product in tiles. The sums over k are divided into at most the given number of parts. Each part is a
// matrix of its own, and a second kernel adds the parts up.
func (p product) launch(b *gpu.Builder, t tile, parts int) {
	depth := t.depth(p.k, parts)
	parts = ceilDiv(p.k, depth)
	out := p.c
	if parts > 1 {
		out = b.Scratch(gpu.Float, parts*p.m*p.n)
	}
	bias, before := p.bias, p.before
	if bias == nil {
		bias = p.b // the kernel needs some buffer, and does not read it
	}
	if before == nil {
		before = p.b
	}
	alpha, beta := p.params.Alpha, p.params.Beta
	edge := p.edge(t)
	src := t.source(edge, p.params, p.bias != nil)
	b.Dispatch(b.Kernel(src, "matmul"), gpu.Size{X: t.count(p.m, p.n), Y: parts, Z: 1}, gpu.Size{X: t.threads(), Y: 1, Z: 1},
		out.As(gpu.Float), p.a.As(gpu.Float), p.b.As(gpu.Float), bias.As(gpu.Float), before.As(gpu.Float),
		gpu.Values(p.m, p.n, p.k, depth, alpha, beta))
	if parts == 1 {
		return
	}
	threads := p.m * p.n
	if edge != anySize {
		threads /= 4
	}
	b.Dispatch(b.Kernel(src, "add_parts"), gpu.Size{X: ceilDiv(threads, addThreads), Y: 1, Z: 1}, gpu.Size{X: addThreads, Y: 1, Z: 1},
		p.c.As(gpu.Float), out.As(gpu.Float), before.As(gpu.Float), gpu.Values(parts, p.m*p.n, alpha, beta))
}

// addThreads is the width of a threadgroup of add_parts.
const addThreads = 256

// The values of the macro EDGE.
const (
	wholeTiles   = 0
	wholeVectors = 1
	anySize      = 2
)

// edge returns the value of EDGE: how the matrices end at the borders of tiles.
func (p product) edge(t tile) int {
	switch {
	case p.m%t.m == 0 && p.n%t.n == 0 && p.k%t.k == 0:
		return wholeTiles
	case p.n%4 == 0 && p.rowA()%4 == 0 && (!p.params.TransposeB || p.k%4 == 0):
		return wholeVectors
	}
	return anySize
}

// rowA returns the length of the rows of A as it is stored.
func (p product) rowA() int {
	if p.params.TransposeA {
		return p.m
	}
	return p.k
}

// appendProduct appends the product of a call by our kernels.
func appendProduct(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	LaunchScaled(b, p, t[0], t[1], t[2], p.beforeOf(t), s[rows], s[columns], s[terms])
}

// beforeOf returns the tensor of a call that holds C before, or nil if the product does not read it.
func (p Params) beforeOf(t []*gpu.Buffer) *gpu.Buffer {
	if p.Beta == 0 {
		return nil
	}
	return t[3]
}

// newVendor returns a function that appends the product of a call by a vendor's library.
func newVendor(_ *gpu.Device, library gpu.GEMM, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		if !fits(b, s[rows], s[columns], s[terms]) {
			return
		}
		if before := p.beforeOf(t); before != nil {
			b.Copy(t[0], before)
		}
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: t[0].Region(), A: t[1].Region(), B: t[2].Region(), M: s[rows], N: s[columns], K: s[terms],
				TransposeA: p.TransposeA, TransposeB: p.TransposeB, Alpha: p.Alpha, Beta: p.Beta,
			})
		})
	}, nil
}
