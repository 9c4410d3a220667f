package kernels_test

import (
	"strings"
	"testing"

	"crossover/dispatch"
	"crossover/kernels"
)

// doubled declares y = 2x, row by row.
func doubled() *kernels.Op[int] {
	axes := []kernels.Axis{{Name: "rows", Min: 1, Max: 100}, {Name: "columns", Min: 1, Max: 100}}
	return &kernels.Op[int]{
		Name: "doubled", Axes: axes, IO: kernels.RowIO[int],
		Lines: []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 3})},
		By: []kernels.Makers[int]{kernels.OverRows(func(columns, _ int) (kernels.Loop, error) {
			return kernels.RowLoop(columns, 4, func(dst, src []float32) {
				for i, v := range src {
					dst[i] = 2 * v
				}
			}), nil
		})},
	}
}

func TestRowPlan(t *testing.T) {
	op := doubled()
	plan, err := kernels.NewRowPlan(nil, op, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	for _, rows := range []int{0, 1, 5} {
		x := make([]float32, 3*rows)
		kernels.Noise(x, 1)
		y := make([]float32, len(x))
		if err := plan.Apply(y, x); err != nil {
			t.Fatal(err)
		}
		for i := range y {
			if y[i] != 2*x[i] {
				t.Fatalf("%d rows: element %d of %g is %g", rows, i, x[i], y[i])
			}
		}
	}
	if e := plan.Explain(5); e.Implementation != "go" || e.Answer != dispatch.Unknown {
		t.Errorf("%s computes, want go: %s", e.Implementation, e.Reason)
	}
	for _, test := range []struct {
		want     string
		dst, src int
	}{
		{"doubled: dst has 6 values, want as many as src, 3", 6, 3},
		{"doubled: 4 values, want a multiple of the number of columns, 3", 4, 4},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic(%v), want %q", got, test.want)
				}
			}()
			_ = plan.Apply(make([]float32, test.dst), make([]float32, test.src))
		}()
	}
	if _, err := kernels.NewRowPlan(nil, op, 0, 0); err == nil || !strings.Contains(err.Error(), "doubled: columns is 0") {
		t.Errorf("no columns: %v", err)
	}
}
