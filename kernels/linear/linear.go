// Package linear applies a fully connected layer to a batch of rows: y = x·Wᵀ + b, in float32.
//
// The weights of a layer do not change. [New] copies and transposes them. The package does not train, and takes no sparse or
// quantised weights. Programs make a [Plan] and call Forward.
//
// Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html. Weights have the same layout as there,
// out×in.
package linear

import (
	"fmt"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul"
	"crossover/kernels/matmul/gemm"
)

// Params are a layer.
type Params struct {
	In, Out    int
	Transposed []float32 // Wᵀ: In×Out, row-major
	Bias       []float32 // Out values
}

// weights returns W, Out×In.
func (p *Params) weights() []float32 { return transpose(p.Transposed, p.In, p.Out) }

// The axes of the operation.
const (
	inputs = iota
	outputs
	rows
)

// widths are the widths of layers that are common.
var widths = []int{64, 80, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}

var axes = []kernels.Axis{
	{Name: "in", Unit: "columns", Min: 16, Max: 4096, Usual: widths},
	{Name: "out", Unit: "columns", Min: 16, Max: 4096, Usual: widths},
	{Name: "batch", Unit: "rows", Min: 1, Max: 1024},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "linear",
	Formula: "y[r,o] = Σᵢ x[r,i]·W[o,i] + b[o], x batch×in, W out×in, row-major",
	Source:  "https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html",
	Axes:    axes,
	// The weights, and the operations.
	Features: []surface.Feature{kernels.Power(1, 1, 0), kernels.Power(1, 1, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "batch", kernels.Param{Name: "in", Value: 1024}, kernels.Param{Name: "out", Value: 1024})},
	Params:   noise,
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], s[outputs]}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], s[inputs]}},
		}
	},
	Fill:      func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) { kernels.Noise(a[1], 1) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return reference(a[1], p) },
	Tolerance: func(s kernels.Shape) float64 { return matmul.Tolerance(s[inputs]) },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const simdgroup = 32 // threads that sum together
		in, out, n := float64(s[inputs]), float64(s[outputs]), float64(s[rows])
		return kernels.Work{
			Bytes:   4 * (in*out + out + n*(in+out)),
			Flops:   2 * n * in * out,
			Pieces:  out,
			Threads: max(n, simdgroup) * out, // several threads share a sum if there are few rows
			Kind:    kernels.Product,
		}
	},
	By: []kernels.Makers[Params]{
		// Narrow products are dot products, a single row has a kernel, and then workers divide the layer in another way.
		kernels.RevisedAt(7, divides, kernels.RevisedAt(6, oneRow,
			kernels.RevisedAt(4, oneRow, kernels.Revised(3, kernels.InGo(InGo, InParallel)), "go"), "go-parallel"), "go-parallel"),
		kernels.OpenBLAS(ByOpenBLAS),
		kernels.Framework("", func(p Params) (kernels.Runner, error) { return ByAccelerate(p), nil }),
		kernels.Revised(1, kernels.KernelTextFor("", ByText)), // faster products
		kernels.VendorGEMM("", ByVendor),
	},
})

// oneRow reports whether a layer has a single row, which package gemm computes by a kernel of its own.
func oneRow(s kernels.Shape) bool { return gemm.Lone(s[rows], s[outputs]) }

func divides(s kernels.Shape) bool {
	return gemm.Divides(float64(s[inputs]) * float64(s[outputs]) * float64(s[rows]))
}

// noise returns the layer with which a shape is measured.
func noise(s kernels.Shape) Params {
	weights, bias := make([]float32, s[outputs]*s[inputs]), make([]float32, s[outputs])
	kernels.Noise(weights, 2)
	kernels.Noise(bias, 3)
	return Params{s[inputs], s[outputs], transpose(weights, s[outputs], s[inputs]), bias}
}

// Plan applies one layer by the implementation that is fastest at the number of rows. Only one goroutine at a time may use a
// Plan.
type Plan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[Params]

	in, out int
}

// New returns the plan of a layer from in to out features. The plan chooses by d, which may be nil: see [kernels.NewPlan].
// weights is W, out×in and row-major, and bias has out values. New copies both. It fails if in or out is below 1 or a length
// does not fit.
func New(d *dispatch.Dispatcher, weights, bias []float32, in, out int) (*Plan, error) {
	switch {
	case in < 1 || out < 1:
		return nil, fmt.Errorf("linear: in=%d, out=%d: want at least 1 of each", in, out)
	case !matmul.Holds(weights, out, in):
		return nil, fmt.Errorf("linear: %d weights, want out×in = %d×%d", len(weights), out, in)
	case len(bias) != out:
		return nil, fmt.Errorf("linear: %d biases, want out = %d", len(bias), out)
	}
	p := Params{in, out, transpose(weights, out, in), slices.Clone(bias)}
	return &Plan{kernels.NewPlan(d, &Op, p).Along(rows, kernels.Shape{inputs: in, outputs: out}), in, out}, nil
}

// Forward computes dst[r,o] = Σᵢ x[r,i]·W[o,i] + b[o]. x is rows×in and dst is rows×out, both row-major. The number of rows
// decides on the implementation. dst must not overlap x. Forward allocates nothing at a number of rows at which the
// implementation has run twice. An implementation on a GPU remembers only the last few numbers of rows.
//
// Forward panics if len(x) is not a multiple of in or dst has another number of rows. It fails only if every
// implementation fails.
func (p *Plan) Forward(dst, x []float32) error {
	kernels.Made(p.SizedPlan)
	n := len(x) / p.in
	if len(x) != n*p.in || len(dst) != n*p.out {
		panic(fmt.Sprintf("linear: x has %d values and dst %d, want as many rows in both, of in = %d and out = %d", len(x), len(dst), p.in, p.out))
	}
	return kernels.RunSized(p.SizedPlan, n, &kernels.Args{dst, x})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p Params) (*Plan, error) { return New(d, p.weights(), p.Bias, p.In, p.Out) },
	func(p *Plan, _ kernels.Shape, a *kernels.Args) error { return p.Forward(a[0], a[1]) })

// Reference returns x·Wᵀ + b in float64. x is rows×in, weights is out×in, bias has out values and the result is rows×out,
// all row-major. The product is that of [matmul.Reference].
func Reference(x, weights, bias []float32, in, out int) []float64 {
	return reference(x, Params{in, out, transpose(weights, out, in), bias})
}

func reference(x []float32, p Params) []float64 {
	n := len(x) / p.In
	y := matmul.Reference(x, p.Transposed, n, p.In, p.Out)
	for r := range n {
		for o, b := range p.Bias {
			y[r*p.Out+o] += float64(b)
		}
	}
	return y
}

// transpose returns the columns×rows transpose of a rows×columns matrix. It goes through squares whose lines of the cache stay
// in the first level.
func transpose(x []float32, rows, columns int) []float32 {
	const side = 32
	y := make([]float32, len(x))
	for top := 0; top < rows; top += side {
		bottom := min(top+side, rows)
		for left := 0; left < columns; left += side {
			for j := left; j < min(left+side, columns); j++ {
				to, from := y[j*rows+top:j*rows+bottom], x[top*columns+j:]
				for i := range to {
					to[i] = from[i*columns]
				}
			}
		}
	}
	return y
}
