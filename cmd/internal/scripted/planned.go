package scripted

import (
	"maps"
	"slices"
	"strings"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// axis is the axis of every scripted case.
var axis = kernels.Axis{Name: "n", Unit: "samples", Min: 64, Max: 1 << 20}

// AddPlanned adds a case like Add, of a declared operation with a typed plan. A call of the program takes extra in addition
// to the cost of its implementation. If extra is nil, it takes nothing more.
func (m *Machine) AddPlanned(name string, costs map[string]Cost, extra Cost) {
	operation, line, _ := strings.Cut(name, "/")
	over := map[string]func(shape []int) float64{}
	for implementation, cost := range costs {
		over[implementation] = func(shape []int) float64 { return cost(float64(shape[0])) }
	}
	op := m.declared(operation, over)
	op.Axes = []kernels.Axis{axis}
	op.Lines = []kernels.Line{{Name: line, Axis: axis, At: func(size int) kernels.Shape { return kernels.Shape{size} }}}
	b := &kernels.Backends{Pool: pool.Shared()}
	program := func(d *dispatch.Dispatcher, _ struct{}) (func(kernels.Shape, *kernels.Args) error, func(), error) {
		plan := kernels.NewPlanOn(b, d, op, struct{}{})
		return func(s kernels.Shape, a *kernels.Args) error {
			if extra != nil {
				m.spend(extra(float64(s[0])))
			}
			return plan.Run(s, *a)
		}, plan.Close, nil
	}
	m.cases = append(m.cases, kernels.Listed(op, program).Cases(b)...)
}

// declared returns an operation without axes whose implementations have the given costs.
func (m *Machine) declared(operation string, costs map[string]func(shape []int) float64) *kernels.Op[struct{}] {
	op := &kernels.Op[struct{}]{
		Name: operation, Formula: "y = x", Source: "a script",
		Params: func(kernels.Shape) struct{} { return struct{}{} },
		IO: func(struct{}, kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{1}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{1}},
			}
		},
		Reference: func(_ struct{}, _ kernels.Shape, a *kernels.Args) []float64 { return []float64{float64(a[1][0])} },
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work:      func(kernels.Shape, string) kernels.Work { return kernels.Work{Bytes: 8} },
	}
	for _, implementation := range slices.Sorted(maps.Keys(costs)) {
		cost := costs[implementation]
		op.By = append(op.By, kernels.Revised(m.Revisions[implementation], kernels.Named(implementation, func(*kernels.Backends, struct{}) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
				m.spend(cost(s[:]))
				copy(a[0], a[1])
				return nil
			}), nil
		})))
	}
	return op
}
