package songs

import (
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// NewReference returns a pipeline that computes each stage by the float64 reference of its operation. Between stages values
// have the elements of the tensors, mostly float32. Such a pipeline is slow. The results of other pipelines are compared with
// its results.
func NewReference(g *Graph) (*Pipeline, error) {
	p, err := New(nil, g)
	if err == nil {
		p.reference = true
	}
	return p, err
}

// referencePlan computes a step by its reference.
type referencePlan struct{ kernels.Step }

func (r referencePlan) Run(s kernels.Shape, a kernels.Args) error {
	numbers := r.Reference(s, &a)
	for i, t := range r.Tensors(s) {
		if t.Role == kernels.Out {
			store(t.Type, a[i][:t.Len()], numbers[:t.Numbers()])
			numbers = numbers[t.Numbers():]
		}
	}
	return nil
}

func (r referencePlan) Explain(kernels.Shape) dispatch.Explanation {
	return dispatch.Explanation{Case: r.Operation(), Implementation: "reference", Answer: dispatch.Unknown}
}

func (referencePlan) Close() {}

// store writes the numbers of a reference to the words of a tensor. A complex value is two numbers.
func store(e kernels.Element, words []float32, numbers []float64) {
	for i, v := range numbers {
		switch e {
		case kernels.Float64:
			kernels.Float64s(words)[i] = v
		case kernels.Uint32:
			words[i] = math.Float32frombits(uint32(v))
		case kernels.Int32:
			words[i] = math.Float32frombits(uint32(int32(v)))
		default:
			words[i] = float32(v)
		}
	}
}
