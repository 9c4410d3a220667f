// Package matmul multiplies dense row-major float32 matrices: C = A·B, where C[i,j] = Σₗ A[i,l]·B[l,j].
//
// The package does not take transposed, strided or batched operands. Programs make a [Plan] and call Multiply. The case
// "matmul/square" is about square matrices, so that one number, the edge, is the size of a product.
//
// Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th edition, section 1.1.
package matmul

import (
	"math"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// Params is empty, because one plan multiplies matrices of every shape.
type Params struct{}

// The axes of the operation: A is m×k, B is k×n, C is m×n.
const (
	rows = iota
	terms
	columns
)

var axes = []kernels.Axis{
	{Name: "m", Unit: "rows", Min: 1, Max: 4096},
	{Name: "k", Unit: "columns", Min: 16, Max: 4096, Round: roundEdge},
	{Name: "n", Unit: "columns", Min: 16, Max: 4096, Round: roundEdge},
}

// roundEdge returns the multiple of 4 nearest to n, and of two the greater.
func roundEdge(n int) int { return (n + 2) / 4 * 4 }

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "matmul",
	Formula: "C[i,j] = Σₗ A[i,l]·B[l,j], A m×k, B k×n and C m×n, row-major",
	Source:  "Golub, Van Loan, Matrix Computations, 4th ed., 1.1",
	Axes:    axes,
	// The output, and the operations.
	Features: []surface.Feature{kernels.Power(1, 0, 1), kernels.Power(1, 1, 1)},
	Lines: []kernels.Line{{
		Name: "square",
		Axis: kernels.Axis{Name: "n", Unit: "rows", Min: 16, Max: 4096, Round: roundEdge},
		At:   func(n int) kernels.Shape { return kernels.Shape{rows: n, terms: n, columns: n} },
	}},
	Params: func(kernels.Shape) Params { return Params{} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "C", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], s[columns]}},
			{Name: "A", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], s[terms]}},
			{Name: "B", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[terms], s[columns]}},
		}
	},
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		kernels.Noise(a[2], 2)
	},
	Reference: func(_ Params, s kernels.Shape, a *kernels.Args) []float64 {
		return Reference(a[1], a[2], s[rows], s[terms], s[columns])
	},
	Tolerance: func(s kernels.Shape) float64 { return Tolerance(s[terms]) },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		m, k, n := float64(s[rows]), float64(s[terms]), float64(s[columns])
		return kernels.Work{Bytes: 4 * (m*k + k*n + m*n), Flops: 2 * m * k * n, Pieces: max(m, n), Threads: m * n, Kind: kernels.Product}
	},
	Judged: func(_ Params, s kernels.Shape) (line, size int) { return 0, edge(s[rows], s[terms], s[columns]) },
	By: []kernels.Makers[Params]{
		kernels.InGo(
			func(Params) kernels.Runner { return own{gemm.NewSerial()} },
			func(_ Params, workers *pool.Pool) kernels.Runner { return own{gemm.NewParallel(workers)} }),
		kernels.OpenBLAS(func(_ Params, threads int) kernels.Runner { return library{threads} }),
		kernels.Framework("", func(Params) (kernels.Runner, error) { return kernels.RunnerFunc(framework), nil }),
		kernels.KernelText("", appendProduct),
		kernels.VendorGEMM("", newVendor),
	},
})

// own multiplies by package gemm.
type own struct{ *gemm.Multiplier }

// Run computes a call.
func (o own) Run(s kernels.Shape, a *kernels.Args) error {
	o.Multiply(a[0], a[1], a[2], s[rows], s[terms], s[columns], false)
	return nil
}

// library multiplies by OpenBLAS.
type library struct{ threads int }

// Run computes a call.
func (l library) Run(s kernels.Shape, a *kernels.Args) error {
	m, k, n := s[rows], s[terms], s[columns]
	openblas.Gemm(l.threads, false, false, m, n, k, 1, a[1], k, a[2], n, 0, a[0], n)
	return nil
}

// framework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
func framework(s kernels.Shape, a *kernels.Args) error {
	accelerate.Gemm(false, false, s[rows], s[columns], s[terms], 1, a[1], a[2], 0, a[0])
	return nil
}

// Plan multiplies matrices by the implementation that is fastest at their size. Only one goroutine at a time may use a Plan.
type Plan struct{ plan *kernels.Plan[Params] }

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan].
func New(d *dispatch.Dispatcher) *Plan { return &Plan{kernels.NewPlan(d, &Op, Params{})} }

// Multiply computes dst = A·B. A is m×k, B is k×n, dst is m×n, all row-major. dst must not overlap A or B. The times that
// the calibration predicts decide on the implementation. A calibration without predictions has products of squares alone. So
// the edge of the square product with as many multiplications, (m·k·n)^⅓ rounded, decides, and the crossovers of shapes far
// from square may be elsewhere. Multiply allocates nothing at a shape at which
// the implementation has run twice. An implementation on a GPU remembers only the last few shapes.
//
// Multiply panics if the length of a slice does not fit its matrix or a dimension is below 1. It fails only if every
// implementation fails.
func (p *Plan) Multiply(dst, a, b []float32, m, k, n int) error {
	if m < 1 || k < 1 || n < 1 {
		panic("matmul: dimension below 1")
	}
	if len(dst) != m*n || len(a) != m*k || len(b) != k*n {
		panic("matmul: slice length is not that of its matrix")
	}
	return p.plan.Run(kernels.Shape{rows: m, terms: k, columns: n}, kernels.Args{dst, a, b})
}

// Explain says which implementation computes a product of an m×k and a k×n matrix, and why. It assumes the placement of the
// last call.
func (p *Plan) Explain(m, k, n int) dispatch.Explanation {
	return p.plan.Explain(kernels.Shape{rows: m, terms: k, columns: n})
}

// SetMaxError sets the greatest error that calls accept: see [kernels.Plan.SetMaxError].
func (p *Plan) SetMaxError(most float64) error { return p.plan.SetMaxError(most) }

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
func (p *Plan) Close() { p.plan.Close() }

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(
	func(d *dispatch.Dispatcher, _ Params) (*Plan, error) { return New(d), nil },
	func(p *Plan, s kernels.Shape, a *kernels.Args) error {
		return p.Multiply(a[0], a[1], a[2], s[rows], s[terms], s[columns])
	})

// edge returns the edge of the square product with as many multiplications.
func edge(m, k, n int) int {
	return max(1, int(math.Round(math.Cbrt(float64(m)*float64(k)*float64(n)))))
}

// Tolerance returns the greatest relative L2 error of a product whose sums have k terms: 1e-5·√k/32, but at least 2e-6. The
// rounding errors of k float32 additions add up like a random walk, hence √k. The floor is 34 half-units of the last place
// of a float32. Short sums need the floor, because another order of summation or a fused multiply-add changes their last
// places.
func Tolerance(k int) float64 { return max(1e-5*math.Sqrt(float64(k))/32, 2e-6) }
