package kernels_test

import (
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/pool"
)

// scored declares an operation of three axes. Its implementation appends the shape of each call to shapes.
func scored(shapes *[]kernels.Shape) *kernels.Op[params] {
	axes := []kernels.Axis{{Name: "a", Min: 1, Max: 100}, {Name: "b", Min: 1, Max: 100}, {Name: "c", Min: 1, Max: 100}}
	return &kernels.Op[params]{
		Name: "scored", Axes: axes,
		Lines: []kernels.Line{kernels.Along(axes, "b", kernels.Param{Name: "a", Value: 7}, kernels.Param{Name: "c", Value: 9})},
		IO:    func(params, kernels.Shape) []kernels.Tensor { return nil },
		By: []kernels.Makers[params]{kernels.InGo(
			func(params) kernels.Runner {
				return kernels.RunnerFunc(func(s kernels.Shape, _ *kernels.Args) error {
					*shapes = append(*shapes, s)
					return nil
				})
			},
			func(params, *pool.Pool) kernels.Runner { return nil })},
	}
}

func TestSizedPlan(t *testing.T) {
	var shapes []kernels.Shape
	plan := kernels.NewPlan(nil, scored(&shapes), params{}).Along(1, kernels.Shape{7, 0, 9})
	defer plan.Close()
	for _, size := range []int{3, 5} {
		if err := kernels.RunSized(plan, size, &kernels.Args{make([]float32, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := kernels.RunSized(plan, 4, &kernels.Args{nil, make([]float32, 1)}); err != nil { // computes nothing
		t.Fatal(err)
	}
	if len(shapes) != 2 || shapes[0] != (kernels.Shape{7, 3, 9}) || shapes[1] != (kernels.Shape{7, 5, 9}) {
		t.Errorf("calls at %v, want [7 3 9] and [7 5 9]", shapes)
	}
	if e := plan.Explain(5); e.Case != "scored/a=7,c=9" || e.Size != 5 {
		t.Errorf("size %d of %q explained, want 5 of scored/a=7,c=9", e.Size, e.Case)
	}
}

// TestNoImplementation checks the error of a call if the operation has no implementation.
func TestNoImplementation(t *testing.T) {
	op := adding(nil)
	op.By = nil
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, nil, op, params{})
	if err := run(t, plan, 4); err == nil || !strings.Contains(err.Error(), "add: no implementation can run here") {
		t.Errorf("a call: %v", err)
	}
}
