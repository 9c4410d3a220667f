package kernels_test

import (
	"errors"
	"slices"
	"testing"

	"crossover/kernels"
)

// adder declares y[n] = y[n−1] + x[n] on each channel. A call whose first sample is negative fails after it wrote everything.
var adder = kernels.Op[struct{}]{
	Name:  "adder",
	Axes:  []kernels.Axis{{Name: "channels", Min: 1, Max: 100}, {Name: "n", Min: 1, Max: 100}},
	Lines: []kernels.Line{kernels.Along([]kernels.Axis{{Name: "channels"}, {Name: "n"}}, "n", kernels.Param{Name: "channels", Value: 1})},
	IO: func(_ struct{}, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[0], s[1]}},
			{Name: "after", Role: kernels.Out, Type: kernels.Float64, Dims: []int{s[0]}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[0], s[1]}},
			{Name: "before", Role: kernels.In, Type: kernels.Float64, Dims: []int{s[0]}},
		}
	},
	By: []kernels.Makers[struct{}]{kernels.Named("go", func(*kernels.Backends, struct{}) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
			fails := a[2][0] < 0
			for c, sum := range kernels.Float64s(a[3]) {
				for i := c * s[1]; i < (c+1)*s[1]; i++ {
					sum += float64(a[2][i])
					a[0][i] = float32(sum)
				}
				kernels.Float64s(a[1])[c] = sum
			}
			if fails {
				return errors.Join(kernels.ErrRefused)
			}
			return nil
		}), nil
	})},
}

// A state carries over, also past a call that fails, until Reset or Close.
func TestStatePlan(t *testing.T) {
	plan, err := kernels.NewStatePlan(nil, &adder, struct{}{}, 1, 0, kernels.Shape{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	process := func(want error, x, y []float32) {
		t.Helper()
		got := make([]float32, len(x))
		if err := plan.Process(got, x); !errors.Is(err, want) || err == nil && !slices.Equal(got, y) {
			t.Errorf("%v becomes %v, %v; want %v, %v", x, got, err, y, want)
		}
	}
	process(nil, []float32{1, 2, 10, 20}, []float32{1, 3, 10, 30})
	process(kernels.ErrRefused, []float32{-1, 2, 3, 4}, nil)
	process(nil, []float32{1, 10}, []float32{4, 40})
	process(nil, nil, []float32{})
	plan.Reset()
	process(nil, []float32{1, 10}, []float32{1, 10})
	plan.Close()
	plan.Reset()
	process(nil, []float32{1, 10}, []float32{1, 10})
}
