// Package lora applies a low-rank adapter to a batch of rows, alone or on the layer that it adapts:
//
//	y = scale·(x·A)·B              (lora)
//	y = x·Wᵀ + b + scale·(x·A)·B   (lora-linear)
//
// x is rows×in, A is in×rank, B is rank×out and y is rows×out, all row-major in float32. W and b are those of package linear.
// The scale is usually alpha/rank.
//
// The matrices do not change between calls. [New] copies them. The package does not train, and it does not merge an adapter
// into its layer: a merged adapter is a plain layer, for package linear. Programs make a [Plan] and call Forward.
//
// Source: E. Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, ICLR 2022, section 4.1. There A and B are named
// by the order in which they are applied too, but stored as their transposes.
package lora

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
	"crossover/kernels/matmul/gemm"
)

// Params are an adapter, and perhaps its layer.
type Params struct {
	In, Out, Rank int       // at least 1
	A             []float32 // In×Rank
	B             []float32 // Rank×Out

	// Scale multiplies the adapter. It is usually alpha/rank. The zero value is refused, because it is more often a field that
	// was forgotten than an adapter that does nothing. Some implementations multiply B by the scale first: Scale·B must not
	// overflow then, and the adapter loses digits where Scale·B underflows.
	Scale float32

	// Weights, Out×In, and Bias, Out values, are the layer. Both are nil for an adapter alone.
	Weights, Bias []float32

	layer *linear.Params // of Weights and Bias
}

// check returns the error with which New refuses parameters.
func (p Params) check() error {
	switch {
	case p.In < 1 || p.Out < 1 || p.Rank < 1:
		return fmt.Errorf("lora: in=%d, out=%d, rank=%d: want at least 1 of each", p.In, p.Out, p.Rank)
	case !matmul.Holds(p.A, p.In, p.Rank):
		return fmt.Errorf("lora: A has %d values, want in×rank = %d×%d", len(p.A), p.In, p.Rank)
	case !matmul.Holds(p.B, p.Rank, p.Out):
		return fmt.Errorf("lora: B has %d values, want rank×out = %d×%d", len(p.B), p.Rank, p.Out)
	case p.Scale == 0:
		return errors.New("lora: the scale is 0 (want alpha/rank, or 1)")
	case p.Scale-p.Scale != 0:
		return fmt.Errorf("lora: the scale is %g (want a finite one)", p.Scale)
	case p.Weights == nil && p.Bias == nil:
		return nil
	case !matmul.Holds(p.Weights, p.Out, p.In):
		return fmt.Errorf("lora: %d weights, want out×in = %d×%d, or none and no bias", len(p.Weights), p.Out, p.In)
	case len(p.Bias) != p.Out:
		return fmt.Errorf("lora: %d biases, want out = %d, or none and no weights", len(p.Bias), p.Out)
	}
	return nil
}

// prepared returns parameters with copies of the matrices, and with the layer.
func (p Params) prepared() Params {
	p.A, p.B = slices.Clone(p.A), slices.Clone(p.B)
	if p.Weights != nil {
		p.Weights, p.Bias = slices.Clone(p.Weights), slices.Clone(p.Bias)
		p.layer = &linear.Params{In: p.In, Out: p.Out, Transposed: make([]float32, p.In*p.Out), Bias: p.Bias}
		for o := range p.Out {
			for i, w := range p.Weights[o*p.In : (o+1)*p.In] {
				p.layer.Transposed[i*p.Out+o] = w
			}
		}
	}
	return p
}

// scaledB returns scale·B.
func (p *Params) scaledB() []float32 {
	b := make([]float32, len(p.B))
	for i, v := range p.B {
		b[i] = p.Scale * v
	}
	return b
}

// The axes of the operations. width is the number of columns of x and of y.
const (
	width = iota
	rank
	rows
)

var axes = []kernels.Axis{
	{Name: "d", Unit: "columns", Min: 64, Max: 4096, Usual: []int{256, 384, 512, 768, 1024, 1536, 2048, 4096}},
	{Name: "rank", Unit: "columns", Min: 4, Max: 64, Usual: []int{4, 8, 16, 32, 64}},
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
}

// Op declares an adapter alone.
var Op = kernels.Declare(declared("lora", "y[r,o] = scale·Σₖ (Σᵢ x[r,i]·A[i,k])·B[k,o], x rows×d, A d×rank, B rank×d, row-major",
	func(s kernels.Shape) Params { return noise(s, false) },
	// The matrices, x or y, and the operations.
	[]surface.Feature{kernels.Power(1, 1, 0), kernels.Power(1, 0, 1), kernels.Power(1, 1, 1)},
	kernels.Revised(4, kernels.InGo(inGo, inParallel)))) // products with A are dot products, those with B take fewer calls

// OnLayer declares an adapter on its layer.
var OnLayer = kernels.Declare(declared("lora-linear",
	"y[r,o] = Σᵢ x[r,i]·W[o,i] + b[o] + scale·Σₖ (Σᵢ x[r,i]·A[i,k])·B[k,o], x rows×d, W d×d, A d×rank, B rank×d, row-major",
	func(s kernels.Shape) Params { return noise(s, true) },
	// The weights, the operations of the layer, and those of the adapter.
	[]surface.Feature{kernels.Power(2, 0, 0), kernels.Power(2, 0, 1), kernels.Power(1, 1, 1)},
	// Products with A are dot products, those with B take fewer calls, a layer of one row has a kernel, and then workers divide the layer
	// in another way.
	kernels.RevisedAt(8, dividesLayer, kernels.RevisedAt(7, oneRow,
		kernels.RevisedAt(5, oneRow, kernels.Revised(4, kernels.InGo(inGo, inParallel)), "go"), "go-parallel"), "go-parallel")))

func dividesLayer(s kernels.Shape) bool {
	return gemm.Divides(float64(s[width]) * float64(s[width]) * float64(s[rows]))
}

// oneRow reports whether a call has a single row, which package gemm computes by a kernel of its own.
func oneRow(s kernels.Shape) bool { return gemm.Lone(s[rows], s[width]) }

func declared(
	name, formula string, params func(s kernels.Shape) Params, features []surface.Feature, own kernels.Makers[Params],
) kernels.Op[Params] {
	return kernels.Op[Params]{
		Name:     name,
		Formula:  formula,
		Source:   "Hu et al., ICLR 2022, section 4.1",
		Axes:     axes,
		Features: features,
		Lines:    []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "d", Value: 1024}, kernels.Param{Name: "rank", Value: 8})},
		Params:   params,
		IO: func(p Params, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], p.Out}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], p.In}},
			}
		},
		Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p, a[1]) },
		Tolerance: func(kernels.Shape) float64 { return 1e-5 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			d, k, n := float64(s[width]), float64(s[rank]), float64(s[rows])
			w := kernels.Work{Bytes: 4 * (2*d*k + 2*n*d), Flops: 4 * n * d * k, Pieces: n, Threads: n * d / 4}
			if name == "lora-linear" {
				w.Bytes += 4 * (d*d + d)
				w.Flops += 2 * n * d * d
				w.Pieces, w.Threads, w.Launches, w.Kind = d, n*d, 2, kernels.Product
			}
			return w
		},
		By: []kernels.Makers[Params]{
			own,
			kernels.OpenBLAS(byOpenBLAS),
			kernels.Framework("", byAccelerate),
			kernels.Revised(1, kernels.KernelTextFor("", byText)), // faster products
			kernels.VendorGEMM("", byVendor),
		},
	}
}

// noise returns the adapter with which a shape is measured.
func noise(s kernels.Shape, layer bool) Params {
	d, k := s[width], s[rank]
	p := Params{In: d, Out: d, Rank: k, A: make([]float32, d*k), B: make([]float32, k*d), Scale: 2}
	kernels.Noise(p.A, 2)
	kernels.Noise(p.B, 3)
	if layer {
		p.Weights, p.Bias = make([]float32, d*d), make([]float32, d)
		kernels.Noise(p.Weights, 4)
		kernels.Noise(p.Bias, 5)
	}
	return p.prepared()
}

// Plan applies one adapter by the implementation that is fastest at the number of rows. Only one goroutine at a time may use
// a Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	in, out int
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It copies the matrices. It fails if a
// dimension is below 1, a length does not fit, or the scale is 0 or not finite. If in and out differ, the plan chooses as one
// of as many columns on either side as have the same work: their geometric mean with a layer, their mean without.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := &Op
	if p.Weights != nil {
		op = &OnLayer
	}
	return &Plan{kernels.NewPlan(d, op, p.prepared()).Along(rows, kernels.Shape{width: p.side(), rank: p.Rank}), p.In, p.Out}, nil
}

// side returns the columns on either side of a plan with as much work.
func (p *Params) side() int {
	if p.Weights != nil {
		return int(math.Round(math.Sqrt(float64(p.In) * float64(p.Out))))
	}
	return (p.In + p.Out + 1) / 2
}

// Forward computes dst = scale·(x·A)·B, and adds the layer if the plan has one. x is rows×in and dst is rows×out, both
// row-major. dst must not overlap x. The number of rows decides on the implementation. A NaN in x makes its row of dst NaN,
// and so does an infinity that meets a 0 or an infinity of the other sign. No product with 0 is skipped. Forward allocates
// nothing at a number of rows at which the implementation has run twice. An implementation on a GPU remembers only the last
// few numbers of rows.
//
// Forward panics if len(x) is not a multiple of in or dst has another number of rows. It fails only if every implementation
// fails.
func (p *Plan) Forward(dst, x []float32) error {
	kernels.Made(p.SizedPlan)
	n := len(x) / p.in
	if len(x) != n*p.in || len(dst) != n*p.out {
		panic(fmt.Sprintf("lora: x has %d values and dst %d, want as many rows in both, of in = %d and out = %d", len(x), len(dst), p.in, p.out))
	}
	return kernels.RunSized(p.SizedPlan, n, &kernels.Args{dst, x})
}

// Program is the [kernels.Program] of both operations.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error { return p.Forward(a[0], a[1]) })

// Reference returns scale·(x·A)·B in float64, and adds the layer if p has one. x is rows×in and the result is rows×out, both
// row-major. Products with x are those of [matmul.Reference].
func Reference(p Params, x []float32) []float64 {
	n := len(x) / p.In
	y := make([]float64, n*p.Out)
	if p.Weights != nil {
		y = linear.Reference(x, p.Weights, p.Bias, p.In, p.Out)
	}
	for i, t := range matmul.Reference(x, p.A, n, p.In, p.Rank) {
		row, k := y[i/p.Rank*p.Out:][:p.Out], i%p.Rank
		for o, b := range p.B[k*p.Out : (k+1)*p.Out] {
			row[o] += float64(p.Scale) * t * float64(b)
		}
	}
	return y
}
