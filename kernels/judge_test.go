package kernels

import "testing"

// Each output is compared with its own part of the reference, where a complex value is two numbers and a float64 is one.
func TestJudgeOutputs(t *testing.T) {
	tensors := []Tensor{
		{Role: Out, Type: Float64, Dims: []int{2}}, {Role: In, Type: Float32, Dims: []int{9}},
		{Role: Out, Type: Complex64, Dims: []int{1}}, {Role: Out, Type: Float32, Dims: []int{2}},
	}
	a := &Args{Float64Words([]float64{1, 2}), nil, {3, 4}, {5, 6}}
	if off := judge(AbsoluteError, tensors, a, []float64{1, 2, 3, 4, 5, 6}); off != 0 {
		t.Errorf("equal outputs differ by %v", off)
	}
	for i := range 6 {
		want := []float64{1, 2, 3, 4, 5, 6}
		want[i]++
		if off := judge(AbsoluteError, tensors, a, want); off != 1 {
			t.Errorf("number %d is off by 1, and the outputs by %v", i, off)
		}
	}
	if off := judge(AbsoluteError, tensors, a, make([]float64, 7)); off <= 6 {
		t.Errorf("a reference of seven numbers for six: %v", off)
	}
}
