package kernels_test

import (
	"testing"

	"crossover/kernels"
)

// Each output is compared with its own part of the reference, where a complex value is two numbers and a float64 is one.
func TestJudgeOutputs(t *testing.T) {
	op := kernels.Op[params]{Judge: kernels.AbsoluteError}
	tensors := []kernels.Tensor{
		{Role: kernels.Out, Type: kernels.Float64, Dims: []int{2}}, {Role: kernels.In, Type: kernels.Float32, Dims: []int{9}},
		{Role: kernels.Out, Type: kernels.Complex64, Dims: []int{1}}, {Role: kernels.Out, Type: kernels.Float32, Dims: []int{2}},
	}
	a := &kernels.Args{kernels.Float64Words([]float64{1, 2}), nil, {3, 4}, {5, 6}}
	if off := op.Error(tensors, a, []float64{1, 2, 3, 4, 5, 6}); off != 0 {
		t.Errorf("equal outputs differ by %v", off)
	}
	for i := range 6 {
		want := []float64{1, 2, 3, 4, 5, 6}
		want[i]++
		if off := op.Error(tensors, a, want); off != 1 {
			t.Errorf("number %d is off by 1, and the outputs by %v", i, off)
		}
	}
	if off := op.Error(tensors, a, make([]float64, 7)); off <= 6 {
		t.Errorf("a reference of seven numbers for six: %v", off)
	}
}

// The error of a small state is absolute. That of a small output is relative.
func TestWithState(t *testing.T) {
	for _, test := range []struct {
		element   kernels.Element
		got, want float64
		off       float64
	}{
		{kernels.Float32, 0.001, 0.002, 0.5}, {kernels.Float64, 0.001, 0.002, 0.001}, {kernels.Float64, 3, 2, 0.5}, {kernels.Float64, 0.25, 0, 0.25},
	} {
		if off := kernels.WithState(test.element, []float32{float32(test.got)}, []float64{test.want}); !(off > 0.99*test.off && off < 1.01*test.off) {
			t.Errorf("%s: %g for %g is off by %g, want %g", test.element, test.got, test.want, off, test.off)
		}
	}
}
