package scripted

import (
	"maps"
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// AddSpace adds an operation of rows and columns over all its shapes, such as softmax. Costs are by the number of values.
func (m *Machine) AddSpace(operation string, costs map[string]Cost) {
	b := &kernels.Backends{Pool: pool.Shared()}
	axes := []kernels.Axis{
		{Name: "rows", Unit: "rows", Min: 1, Max: 4096},
		{Name: "columns", Unit: "values", Min: 16, Max: 4096},
	}
	op := &kernels.Op[struct{}]{
		Name: operation, Formula: "y = x", Source: "a script", Axes: axes,
		Lines:  []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})},
		Params: func(kernels.Shape) struct{} { return struct{}{} },
		IO: func(struct{}, kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{1}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{1}},
			}
		},
		Reference: func(_ struct{}, _ kernels.Shape, a *kernels.Args) []float64 { return []float64{float64(a[1][0])} },
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			return kernels.Work{Bytes: 8 * float64(s[0]) * float64(s[1])}
		},
	}
	for _, implementation := range slices.Sorted(maps.Keys(costs)) {
		cost := costs[implementation]
		by := kernels.Named(implementation, func(*kernels.Backends, struct{}) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
				m.spend(cost(float64(s[0]) * float64(s[1])))
				copy(a[0], a[1])
				return nil
			}), nil
		})
		revision, concerns := m.Revisions[implementation], m.Concerns[implementation]
		if concerns == nil {
			op.By = append(op.By, kernels.Revised(revision, by))
			continue
		}
		op.By = append(op.By, kernels.RevisedAt(revision, concerns, kernels.Revised(revision-1, by)))
	}
	m.cases = append(m.cases, op.Cases(b)...)
	m.spaces = append(m.spaces, func() *kernels.Space { return op.Space(b, kernels.Caller) })
}
