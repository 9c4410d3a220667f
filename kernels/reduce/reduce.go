package reduce

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

const caseName = "sum"

// Plan sums slices with the implementation that is fastest at their length. It must not be used by two goroutines at
// once.
type Plan struct {
	engines *kernels.Engines[params, engine]
}

// NewSum returns a plan that chooses by d; d may be nil.
func NewSum(d *dispatch.Dispatcher) (*Plan, error) {
	engines, err := kernels.NewEngines(d, caseName, contenders, params{})
	if err != nil {
		return nil, err
	}
	return &Plan{engines}, nil
}

// Sum returns the sum of x, and 0 for an empty slice. Its error is a few units of the last place of Σ|x[i]|, whatever
// the length; where the values nearly cancel, that is a large part of the sum. A partial sum beyond the range of
// float32 is infinite. Sum allocates nothing once an implementation has seen a slice as long; a GPU's remembers a few
// lengths. It fails where the chosen implementation does.
func (p *Plan) Sum(x []float32) (float32, error) {
	if len(x) == 0 {
		return 0, nil
	}
	engine, err := p.engines.For(len(x))
	if err != nil {
		return 0, err
	}
	return engine.sum(x)
}

// Explain says why Sum takes the implementation that it takes for n values.
func (p *Plan) Explain(n int) dispatch.Explanation { return p.engines.Explain(n) }

// Reference returns the sum of x, added one after the other in float64.
func Reference(x []float32) float64 {
	var total float64
	for _, v := range x {
		total += float64(v)
	}
	return total
}

// Cases returns the case of the family.
func Cases() []kernels.Case {
	return []kernels.Case{{
		Name:            caseName,
		Operation:       "sum",
		Definition:      "Σ x[i]",
		Source:          "N. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), 783–799",
		Axis:            kernels.Axis{Name: "n", Unit: "elements", Min: 1 << 10, Max: 1 << 24},
		Tolerance:       func(int) float64 { return 1e-5 },
		Bytes:           func(n int) float64 { return 4 * float64(n) },
		Implementations: contenders.Implementations(),
		Problem:         func(n int, _ kernels.Input) kernels.Problem { return newProblem(n) },
	}}
}

// problem is the sum of seeded noise around 1, in [0, 2). Around 0 the values would cancel, and the relative error of
// what is left would say more about the noise than about the summation.
type problem struct{ x []float32 }

func newProblem(n int) *problem {
	p := &problem{make([]float32, n)}
	kernels.Noise(p.x, 1)
	for i := range p.x {
		p.x[i]++
	}
	return p
}

func (p *problem) Reference() []float64 { return []float64{Reference(p.x)} }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	engine, err := contenders.New(implementation, params{})
	if err != nil {
		return kernels.Call{}, fmt.Errorf("sum: %w", err)
	}
	if e, ok := engine.(*launch); ok {
		return e.bind(p.x)
	}
	result := make([]float32, 1)
	return kernels.Call{
		Run: func() error {
			result[0], err = engine.sum(p.x)
			return err
		},
		Output: func() []float32 { return result },
	}, nil
}
