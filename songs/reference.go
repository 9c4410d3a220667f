package songs

import (
	"math"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
)

// NewReference returns a pipeline that computes each stage by the float64 reference of its operation. Between stages values
// have the elements of the tensors, mostly float32. Such a pipeline is slow. The results of other pipelines are compared with
// its results.
func NewReference(g *Graph) (*Pipeline, error) {
	p, err := New(nil, g)
	if err == nil {
		p.reference, p.parts = true, nil
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

// RunTimed is Run, because no GPU computes a reference.
func (r referencePlan) RunTimed(s kernels.Shape, a kernels.Args, t *gpu.CallTimes) error {
	*t = gpu.CallTimes{}
	return r.Run(s, a)
}

func (r referencePlan) Explain(kernels.Shape) dispatch.Explanation {
	return dispatch.Explanation{Case: r.Operation(), Implementation: "reference", Answer: dispatch.Unknown}
}

func (referencePlan) Ran() string { return "reference" }

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

// Numbers returns all outputs of the last call as numbers of a reference, one output after the other, in the order of
// [Graph].Outputs. A complex value is two numbers.
func (p *Pipeline) Numbers() (all []float64) {
	for i, name := range p.w.Outputs {
		for k, word := range p.Floats(name) {
			switch p.w.tensors[p.w.outputs[i]].element {
			case kernels.Float64:
				if k%2 == 0 {
					all = append(all, kernels.Float64s(p.Floats(name))[k/2])
				}
			case kernels.Uint32:
				all = append(all, float64(math.Float32bits(word)))
			case kernels.Int32:
				all = append(all, float64(int32(math.Float32bits(word))))
			default:
				all = append(all, float64(word))
			}
		}
	}
	return all
}

// ErrorAgainst returns how far the outputs of the last call are from numbers that Numbers of another pipeline has returned: the
// greatest relative error of an output. Integers are right or wrong: their error is 0 or +Inf.
func (p *Pipeline) ErrorAgainst(want []float64) (most float64) {
	all := p.Numbers()
	if len(all) != len(want) {
		return math.Inf(1)
	}
	for i, name := range p.w.Outputs {
		n := len(p.Floats(name))
		e := p.w.tensors[p.w.outputs[i]].element
		if e == kernels.Float64 {
			n /= 2
		}
		got := make([]float32, n)
		for k, v := range all[:n] {
			got[k] = float32(v)
			if (e == kernels.Uint32 || e == kernels.Int32) && v != want[k] {
				return math.Inf(1)
			}
		}
		most = max(most, kernels.RelativeError(got, want[:n]))
		all, want = all[n:], want[n:]
	}
	return most
}
