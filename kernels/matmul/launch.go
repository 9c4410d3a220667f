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

// Launch appends C = A·B to a plan, row-major float32 without gaps: A is m×k, C is m×n, and B is k×n, or n×k where it
// is to be taken transposed. C must not be A or B. Build fails where a dimension is above 2³¹−1.
func Launch(b *gpu.Builder, c, a, bm *gpu.Buffer, m, n, k int, transposed bool) {
	launchProduct(b, product{c, a, bm, nil, m, n, k, transposed})
}

// LaunchBias is Launch with a bias, n values that are added to every row of C.
func LaunchBias(b *gpu.Builder, c, a, bm, bias *gpu.Buffer, m, n, k int, transposed bool) {
	launchProduct(b, product{c, a, bm, bias, m, n, k, transposed})
}

// product is a matrix product in a launch plan.
type product struct {
	c, a, b    *gpu.Buffer
	bias       *gpu.Buffer // nil for none
	m, n, k    int
	transposed bool
}

func launchProduct(b *gpu.Builder, p product) {
	if most := max(p.m, p.n, p.k); most > math.MaxInt32 {
		b.Encode(func() (gpu.External, error) {
			return nil, fmt.Errorf("matmul: a matrix has %d rows or columns; want at most %d", most, math.MaxInt32)
		})
		return
	}
	t, parts := choose(p.m, p.n, p.k, b.Facts())
	p.launch(b, t, parts)
}

// launch appends the product in tiles. The sums over k are divided into so many parts, or fewer, each a matrix of its
// own, which a second kernel adds up.
func (p product) launch(b *gpu.Builder, t tile, parts int) {
	depth := t.depth(p.k, parts)
	parts = ceilDiv(p.k, depth)
	out := p.c
	if parts > 1 {
		out = b.Scratch(gpu.Float, parts*p.m*p.n)
	}
	bias := p.bias
	if bias == nil {
		bias = p.b // a kernel takes a buffer, and does not read this one
	}
	edge := p.edge(t)
	src := t.source(edge, p.transposed, p.bias != nil)
	b.Dispatch(b.Kernel(src, "matmul"), gpu.Size{X: t.count(p.m, p.n), Y: parts, Z: 1}, gpu.Size{X: t.threads(), Y: 1, Z: 1},
		out.As(gpu.Float), p.a.As(gpu.Float), p.b.As(gpu.Float), bias.As(gpu.Float), gpu.Values(p.m, p.n, p.k, depth))
	if parts == 1 {
		return
	}
	threads := p.m * p.n
	if edge != anySize {
		threads /= 4
	}
	b.Dispatch(b.Kernel(src, "add_parts"), gpu.Size{X: ceilDiv(threads, addThreads), Y: 1, Z: 1}, gpu.Size{X: addThreads, Y: 1, Z: 1},
		p.c.As(gpu.Float), out.As(gpu.Float), gpu.Values(parts), gpu.Values(p.m*p.n))
}

// addThreads is the width of a threadgroup of add_parts.
const addThreads = 256

// The values of the macro EDGE.
const (
	wholeTiles   = 0
	wholeVectors = 1
	anySize      = 2
)

// edge returns what a kernel has to expect at the borders of the matrices.
func (p product) edge(t tile) int {
	switch {
	case p.m%t.m == 0 && p.n%t.n == 0 && p.k%t.k == 0:
		return wholeTiles
	case p.n%4 == 0 && p.k%4 == 0:
		return wholeVectors
	}
	return anySize
}

// launch multiplies on a GPU, with our kernels or with a vendor's library.
type launch struct {
	device  *gpu.Device
	library gpu.GEMM // nil for our kernels
	plans   kernels.PlansBy[shape, *launchPlan]
}

// shape is what a launch plan is made for: A is m×k, B is k×n.
type shape struct{ m, k, n int }

// launchPlan is the launch plan of one shape.
type launchPlan struct {
	*gpu.Plan
	a, b, c *gpu.Buffer
}

func newLaunch(d *gpu.Device, _ Params) (engine, error) { return &launch{device: d}, nil }

func newLibrary(d *gpu.Device, library gpu.GEMM, _ Params) (engine, error) {
	return &launch{device: d, library: library}, nil
}

func (e *launch) plan(s shape) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{a: b.Input(gpu.Float, s.m*s.k), b: b.Input(gpu.Float, s.k*s.n), c: b.Output(gpu.Float, s.m*s.n)}
	if e.library == nil {
		Launch(b, p.c, p.a, p.b, s.m, s.n, s.k, false)
	} else {
		b.Encode(func() (gpu.External, error) {
			return e.library.NewGEMM(p.c.Region(), p.a.Region(), p.b.Region(), s.m, s.n, s.k, false, 1, 0)
		})
	}
	var err error
	p.Plan, err = b.Build()
	return p, err
}

func (e *launch) multiply(dst, a, b []float32, m, k, n int) error {
	p, err := e.plans.For(shape{m, k, n}, e.plan)
	if err != nil {
		return err
	}
	copy(p.a.Floats(), a)
	copy(p.b.Floats(), b)
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.c.Floats())
	return nil
}

// bind returns the call that multiplies a and b, which lie in the plan's own memory already.
func (e *launch) bind(a, b []float32, s shape) (kernels.Call, error) {
	p, err := e.plan(s)
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.a.Floats(), a)
	copy(p.b.Floats(), b)
	return kernels.PlanCall(p.Plan, p.c.Floats), nil
}
