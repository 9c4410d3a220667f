package glu

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Lines: []kernels.Line{
		kernels.Along(axes, "columns", kernels.Param{Name: "rows", Value: 3}),
	}})
}

// TestPyTorch compares with rows that PyTorch computed.
func TestPyTorch(t *testing.T) {
	x, want := kerneltest.ReadArray[float32](t, "testdata/x.npy"), kerneltest.ReadArray[float64](t, "testdata/y.npy")
	kerneltest.Against(t, &Op, Params{500}, kernels.Shape{2, 500}, [][]float32{x}, want, 3e-7)
}

// The loops in Go and in vector code compute the same up to rounding, whatever the number of values, and touch nothing else.
func TestLoops(t *testing.T) {
	for n := 1; n <= 40; n++ {
		a, _ := kerneltest.Guarded(t, n)
		b, _ := kerneltest.Guarded(t, n)
		dst, more := kerneltest.Guarded(t, n)
		kernels.Noise(a, 1)
		kernels.Noise(b, 2)
		gate(dst, a, b)
		gateGo(more, a, b)
		for i := range dst {
			if !(math.Abs(float64(dst[i]-more[i])) <= 3e-7*math.Abs(float64(more[i]))) {
				t.Fatalf("value %d of %d is %g, in Go %g", i, n, dst[i], more[i])
			}
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	pairs := []struct{ a, b, want float32 }{
		{3, inf, 3}, {3, -inf, 0}, {inf, 1, inf}, {-inf, inf, -inf}, {inf, -inf, nan}, {nan, 1, nan}, {1, nan, nan}, {0, 5, 0},
		{2, 0, 1}, {math.MaxFloat32, 100, math.MaxFloat32}, {1, -200, 0}, {1e30, -80, 1.8048513e-05}, {1e-40, 30, 1e-40},
	}
	var x []float32
	for _, p := range pairs {
		x = append(x, p.a)
	}
	for _, p := range pairs {
		x = append(x, p.b)
	}
	y := make([]float32, len(pairs))
	for name, plan := range kerneltest.Plans(t, &Op, Params{len(pairs)}) {
		if err := plan.Run(kernels.Shape{1, len(pairs)}, kernels.Args{y, x}); err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			near := math.Abs(float64(y[i]-p.want)) <= 2e-6*math.Abs(float64(p.want))
			if y[i] != p.want && !near && !(y[i] != y[i] && p.want != p.want) {
				t.Errorf("%s: %g gated by %g is %g, want %g", name, p.a, p.b, y[i], p.want)
			}
		}
	}
}

func TestNew(t *testing.T) {
	for columns, want := range map[int]string{0: "glu: columns is 0, want 1 to ", 1 << 62: "glu: columns is 4611686018427387904, want 1 to "} {
		if _, err := New(nil, Params{Columns: columns}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
	plan, err := New(nil, Params{2})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	for _, lengths := range [][2]int{{2, 2}, {3, 6}} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "glu: 2 columns got src of") {
					t.Errorf("panic(%v)", got)
				}
			}()
			_ = plan.Apply(make([]float32, lengths[0]), make([]float32, lengths[1]))
		}()
	}
	kerneltest.Programs(t, &Op, Program, 7)
}

func BenchmarkGLU(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 64, 4096) }
