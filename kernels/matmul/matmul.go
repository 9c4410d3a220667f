// Package matmul multiplies dense row-major float32 matrices: C = A·B, where C[i,j] = Σₗ A[i,l]·B[l,j]. In general it computes
// C = α·op(A)·op(B) + β·C, where op(X) is X or its transpose.
//
// The package does not take strided or batched operands. Programs make a [Plan] by [New], or by [NewScaled] for transposes
// and factors, and call Multiply. The case "matmul/square" is about square matrices, so that one number, the edge, is the
// size of a product. Cases have no transposes and factors. A plan with transposes or factors chooses as a plan without them:
// all kinds of products take about as long.
//
// Sources: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th edition, section 1.1; J. Dongarra et al., A set of level 3
// basic linear algebra subprograms, ACM TOMS 16(1), 1990, which has the transposes and factors as SGEMM.
package matmul

import (
	"errors"
	"fmt"
	"math"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
	"crossover/native/accelerate"
	"crossover/native/openblas"
	"crossover/pool"
)

// Params are the transposes and factors of a product. One plan multiplies matrices of every shape.
type Params struct {
	// TransposeA says that A is stored as its transpose, k×m. TransposeB says that B is stored as n×k.
	TransposeA, TransposeB bool

	// Alpha multiplies the product. It is 1 in a plain product. The zero value is refused, because it is more often a field
	// that was forgotten than a wish for a product of zeros. Some implementations multiply A by α
	// first: α·A·B must not overflow then, and loses digits where α·A underflows.
	Alpha float32

	// Beta multiplies the earlier values of C, which are added to the product. If it is 0, they are not read, so they may be
	// NaN.
	Beta float32
}

// plain is a product without transposes and factors.
var plain = Params{Alpha: 1}

// check returns the error with which NewScaled refuses parameters.
func check(p Params) error {
	switch {
	case p.Alpha == 0:
		return errors.New("matmul: alpha is 0 (want 1 for a plain product)")
	case p.Alpha-p.Alpha != 0 || p.Beta-p.Beta != 0:
		return fmt.Errorf("matmul: alpha=%g, beta=%g: want finite factors", p.Alpha, p.Beta)
	}
	return nil
}

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
	Params: func(kernels.Shape) Params { return plain },
	Check:  check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		all := []kernels.Tensor{
			{Name: "C", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], s[columns]}},
			{Name: "A", Role: kernels.In, Type: kernels.Float32, Dims: stored(p.TransposeA, s[rows], s[terms])},
			{Name: "B", Role: kernels.In, Type: kernels.Float32, Dims: stored(p.TransposeB, s[terms], s[columns])},
		}
		if p.Beta != 0 {
			all[0].InPlaceOf = "C before"
			all = append(all, kernels.Tensor{Name: "C before", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], s[columns]}})
		}
		return all
	},
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		kernels.Noise(a[2], 2)
		kernels.Noise(a[3], 3)
	},
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		return ScaledReference(p, a[1], a[2], a[3], s[rows], s[terms], s[columns])
	},
	Tolerance: func(s kernels.Shape) float64 { return Tolerance(s[terms]) },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		m, k, n := float64(s[rows]), float64(s[terms]), float64(s[columns])
		return kernels.Work{Bytes: 4 * (m*k + k*n + m*n), Flops: 2 * m * k * n, Pieces: max(m, n), Threads: m * n, Kind: kernels.Product}
	},
	Judged: func(_ Params, s kernels.Shape) (line, size int) { return 0, edge(s[rows], s[terms], s[columns]) },
	By: []kernels.Makers[Params]{
		// Kernels for thin products, deeper dot products, and then another division.
		kernels.RevisedAt(9, divides, kernels.RevisedAt(6, deep,
			kernels.RevisedAt(8, deep, kernels.RevisedAt(5, thin, kernels.RevisedAt(7, thin, kernels.Revised(4, kernels.InGo(
				func(p Params) kernels.Runner { return own{p, gemm.NewSerial()} },
				func(p Params, workers *pool.Pool) kernels.Runner { return own{p, gemm.NewParallel(workers)} },
			)), "go-parallel"), "go"), "go-parallel"), "go"), "go-parallel"),
		kernels.OpenBLAS(func(p Params, threads int) kernels.Runner { return library{p, threads} }),
		kernels.Framework("", func(p Params) (kernels.Runner, error) { return framework{p}, nil }),
		kernels.Revised(1, kernels.KernelText("", appendProduct)), // places are known when it is compiled
		kernels.VendorGEMM("", newVendor),
	},
})

func thin(s kernels.Shape) bool { return gemm.Thin(s[rows], s[columns]) }

func divides(s kernels.Shape) bool {
	return gemm.Divides(float64(s[rows]) * float64(s[terms]) * float64(s[columns]))
}

func deep(s kernels.Shape) bool { return gemm.Deep(s[rows], s[terms], s[columns]) }

// stored returns the dimensions of a rows×columns matrix as it lies in memory.
func stored(transposed bool, rows, columns int) []int {
	if transposed {
		return []int{columns, rows}
	}
	return []int{rows, columns}
}

// own multiplies by package gemm.
type own struct {
	params     Params
	multiplier *gemm.Multiplier
}

// Run computes a call.
func (o own) Run(s kernels.Shape, a *kernels.Args) error {
	p := &o.params
	o.multiplier.Compute(gemm.Product{
		C: a[0], A: a[1], B: a[2], M: s[rows], K: s[terms], N: s[columns],
		TransposeA: p.TransposeA, TransposeB: p.TransposeB, Alpha: p.Alpha, Beta: p.Beta, Before: a[3],
	})
	return nil
}

// library multiplies by OpenBLAS.
type library struct {
	params  Params
	threads int
}

// Run computes a call.
func (l library) Run(s kernels.Shape, a *kernels.Args) error {
	p := &l.params
	m, k, n := s[rows], s[terms], s[columns]
	lda, ldb := k, n
	if p.TransposeA {
		lda = m
	}
	if p.TransposeB {
		ldb = k
	}
	p.bring(a)
	openblas.Gemm(l.threads, p.TransposeA, p.TransposeB, m, n, k, p.Alpha, a[1], lda, a[2], ldb, p.Beta, a[0], n)
	return nil
}

// bring copies the earlier values of C to where a library adds the product to them. A program has them there already.
func (p *Params) bring(a *kernels.Args) {
	if p.Beta != 0 && &a[0][0] != &a[3][0] {
		copy(a[0], a[3])
	}
}

// framework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
type framework struct{ params Params }

// Run computes a call.
func (f framework) Run(s kernels.Shape, a *kernels.Args) error {
	p := &f.params
	p.bring(a)
	accelerate.Gemm(p.TransposeA, p.TransposeB, s[rows], s[columns], s[terms], p.Alpha, a[1], a[2], p.Beta, a[0])
	return nil
}

// Plan multiplies matrices by the implementation that is fastest at their size. Only one goroutine at a time may use a Plan.
type Plan struct {
	plan *kernels.Plan[Params]
	beta float32
}

// New returns a plan of plain products, C = A·B, that chooses by d, which may be nil: see [kernels.NewPlan].
func New(d *dispatch.Dispatcher) *Plan { return &Plan{plan: kernels.NewPlan(d, &Op, plain)} }

// NewScaled returns a plan of products with transposes and factors, C = α·op(A)·op(B) + β·C. It chooses by d, which may be
// nil: see [kernels.NewPlan]. It fails if p.Alpha is 0 or a factor is not finite.
func NewScaled(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := check(p); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p), p.Beta}, nil
}

// Multiply computes dst = α·op(A)·op(B) + β·dst, with the transposes and factors of the plan. op(A) is m×k, op(B) is k×n and
// dst is m×n, all row-major. A plan of [New] computes dst = A·B. If β is 0, what dst held is not read. dst must not overlap a
// or b. The times that the calibration predicts decide on the implementation. A calibration without predictions has products
// of squares alone. So the edge of the square product with as many multiplications, (m·k·n)^⅓ rounded, decides, and the
// crossovers of shapes far from square may be elsewhere. Multiply allocates nothing at a shape at which the implementation
// has run twice. An implementation on a GPU remembers only the last few shapes.
//
// Multiply panics if the length of a slice does not fit its matrix or a dimension is below 1. It fails only if every
// implementation fails.
func (p *Plan) Multiply(dst, a, b []float32, m, k, n int) error {
	kernels.Made(p.plan)
	if m < 1 || k < 1 || n < 1 {
		panic(fmt.Sprintf("matmul: m=%d, k=%d, n=%d: want at least 1 of each", m, k, n))
	}
	if !Holds(dst, m, n) || !Holds(a, m, k) || !Holds(b, k, n) {
		panic(fmt.Sprintf("matmul: dst has %d values, a %d and b %d, want m×n = %d×%d, m×k = %d×%d and k×n = %d×%d", len(dst), len(a), len(b),
			m, n, m, k, k, n))
	}
	args := kernels.Args{dst, a, b}
	if p.beta != 0 {
		args[3] = dst
	}
	return p.plan.Run(kernels.Shape{rows: m, terms: k, columns: n}, args)
}

// Holds reports whether x has as many values as a matrix, whose dimensions are at least 1. It does so by division, because
// their product may overflow to the length of x.
func Holds(x []float32, rows, columns int) bool { return len(x)%rows == 0 && len(x)/rows == columns }

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
	NewScaled,
	func(p *Plan, s kernels.Shape, a *kernels.Args) error {
		if p.beta != 0 {
			copy(a[0], a[3])
		}
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
