// Package matmul multiplies dense row-major float32 matrices: C = A·B, where C[i,j] = Σₗ A[i,l]·B[l,j].
//
// It does not take transposed, strided or batched operands; package openblas does. Programs make a [Plan] and call
// Multiply. The sweep takes [Cases] and square matrices, so that one number, the edge, says how large a product is.
//
// Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th edition, section 1.1.
package matmul

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

const caseName = "matmul/square"

// Params is what a plan is made for: nothing, since the same engines multiply matrices of every shape.
type Params struct{}

// Plan multiplies matrices with the implementation that is fastest at their size. It must not be used by two
// goroutines at once.
type Plan struct {
	engines *kernels.Engines[Params, engine]
}

// New returns a plan that chooses by d; d may be nil.
func New(d *dispatch.Dispatcher) (*Plan, error) {
	engines, err := kernels.NewEngines(d, caseName, contenders, Params{})
	if err != nil {
		return nil, err
	}
	return &Plan{engines}, nil
}

// Multiply computes dst = A·B. A is m×k, B is k×n, dst is m×n, all row-major; dst must not overlap A or B. The size
// that decides on the implementation is the edge of the square product with as many multiplications, (m·k·n)^⅓
// rounded: the measurements are of squares, and shapes far from square may have their crossover elsewhere. Multiply
// allocates nothing once an implementation has been used.
//
// It panics where a slice's length is not that of its matrix or a dimension is below 1. It fails where the chosen
// implementation does.
func (p *Plan) Multiply(dst, a, b []float32, m, k, n int) error {
	if m < 1 || k < 1 || n < 1 {
		panic("matmul: dimension below 1")
	}
	if len(dst) != m*n || len(a) != m*k || len(b) != k*n {
		panic("matmul: slice length is not that of its matrix")
	}
	engine, err := p.engines.For(edge(m, k, n))
	if err != nil {
		return err
	}
	return engine.multiply(dst, a, b, m, k, n)
}

// Explain says why Multiply takes the implementation that it takes for an m×k by k×n product.
func (p *Plan) Explain(m, k, n int) dispatch.Explanation { return p.engines.Explain(edge(m, k, n)) }

func edge(m, k, n int) int {
	return max(1, int(math.Round(math.Cbrt(float64(m)*float64(k)*float64(n)))))
}

// Tolerance is the relative L2 error that a product over k terms may have: 1e-5·√k/32, since the rounding errors of
// k float32 additions add up like a random walk, but at least 2e-6. The floor is 34 half-units of the last place of
// a float32; without it the shortest sums would leave no room for another order of summation or for operands that
// pass through a fused multiply-add.
func Tolerance(k int) float64 { return max(1e-5*math.Sqrt(float64(k))/32, 2e-6) }

// Cases returns the case of the family.
func Cases() []kernels.Case {
	return []kernels.Case{{
		Name:       caseName,
		Operation:  "matmul",
		Definition: "C[i,j] = Σₗ A[i,l]·B[l,j], A, B and C n×n, row-major",
		Source:     "Golub, Van Loan, Matrix Computations, 4th ed., 1.1",
		Axis: kernels.Axis{Name: "n", Unit: "rows", Min: 16, Max: 4096, Round: func(n int) int {
			return (n + 2) / 4 * 4
		}},
		Tolerance:       Tolerance,
		Bytes:           func(n int) float64 { return 12 * float64(n) * float64(n) },
		Implementations: contenders.Implementations(),
		Problem:         func(n int, _ kernels.Input) kernels.Problem { return newProblem(n) },
	}}
}

// problem is the product of two n×n matrices of seeded noise.
type problem struct {
	n    int
	a, b []float32
}

func newProblem(n int) *problem {
	p := &problem{n: n, a: make([]float32, n*n), b: make([]float32, n*n)}
	kernels.Noise(p.a, 1)
	kernels.Noise(p.b, 2)
	return p
}

func (p *problem) Reference() []float64 { return Reference(p.a, p.b, p.n, p.n, p.n) }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, Params{})
	if err != nil {
		return kernels.Call{}, fmt.Errorf("matmul: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.a, p.b, shape{p.n, p.n, p.n})
	}
	c := make([]float32, p.n*p.n)
	return kernels.Call{
		Run:    func() error { return engine.multiply(c, p.a, p.b, p.n, p.n, p.n) },
		Output: func() []float32 { return c },
	}, nil
}
