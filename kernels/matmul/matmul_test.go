package matmul

import (
	"math"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// shapeOf returns the shape of an m×k by k×n product.
func shapeOf(m, k, n int) kernels.Shape { return kernels.Shape{rows: m, terms: k, columns: n} }

// oblong returns the operation with lines of products that are not square. Their sizes need not be multiples of 4.
func oblong() *kernels.Op[Params] {
	op := Op
	op.Lines = slices.Clone(Op.Lines)
	for _, line := range []struct {
		running    string
		one, other kernels.Param
	}{
		{"m", kernels.Param{Name: "k", Value: 37}, kernels.Param{Name: "n", Value: 19}},
		{"k", kernels.Param{Name: "m", Value: 5}, kernels.Param{Name: "n", Value: 50}},
		{"n", kernels.Param{Name: "m", Value: 70}, kernels.Param{Name: "k", Value: 3}},
	} {
		l := kernels.Along(axes, line.running, line.one, line.other)
		l.Axis.Min, l.Axis.Round = 1, nil
		op.Lines = append(op.Lines, l)
	}
	return &op
}

func TestOp(t *testing.T) {
	kerneltest.Run(t, oblong(), kerneltest.Options{Sizes: []int{1, 2, 7, 16, 33, 64, 100, 129, 256, 509}, Most: 300 << 10, Emulated: 16 << 10})
}

// TestPyTorch compares every implementation and the reference with a product that PyTorch computed in float64.
func TestPyTorch(t *testing.T) {
	const m, k, n = 67, 129, 45
	a := kerneltest.ReadArray[float32](t, "testdata/gemm_a.npy")
	b := kerneltest.ReadArray[float32](t, "testdata/gemm_b.npy")
	want := kerneltest.ReadArray[float64](t, "testdata/gemm.npy")
	for i, got := range Reference(a, b, m, k, n) {
		if math.Abs(got-want[i]) > 1e-12*math.Sqrt(k) {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	for name, p := range kerneltest.Plans(t, &Op, Params{}) {
		got := make([]float32, m*n)
		if err := p.Run(shapeOf(m, k, n), kernels.Args{got, a, b}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= Tolerance(k)) {
			t.Errorf("%s: relative error %.2g, tolerance %.2g", name, e, Tolerance(k))
		}
	}
}

func TestReferencesAgree(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {5, 300, 7}, {130, 70, 200}} {
		m, k, n := shape[0], shape[1], shape[2]
		a, b := make([]float32, m*k), make([]float32, k*n)
		kernels.Noise(a, 1)
		kernels.Noise(b, 2)
		want := plainReference(a, b, m, k, n)
		for i, got := range gonumReference(a, b, m, k, n) {
			if math.Abs(got-want[i]) > 1e-12*math.Sqrt(float64(k)) {
				t.Fatalf("%v: element %d is %.17g, want %.17g", shape, i, got, want[i])
			}
		}
	}
}

func TestPlan(t *testing.T) {
	plan := New(nil)
	a, b, dst := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 2, 3}, make([]float32, 2)
	if err := plan.Multiply(dst, a, b, 2, 3, 1); err != nil {
		t.Fatal(err)
	}
	if dst[0] != 14 || dst[1] != 32 {
		t.Errorf("A·b = %v, want [14 32]", dst)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Multiply(dst, a, b, 2, 3, 1) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	if line, size := Op.Judged(Params{}, shapeOf(67, 129, 45)); line != 0 || size != 73 {
		t.Errorf("67×129×45 goes by size %d of line %d, want 73, the cube root of 388 935, of line 0", size, line)
	}
	const dimension, length = "matmul: dimension below 1", "matmul: slice length is not that of its matrix"
	for _, test := range []struct {
		name, want string
		call       func()
	}{
		{"no rows", dimension, func() { plan.Multiply(nil, nil, b, 0, 3, 1) }},
		{"short dst", length, func() { plan.Multiply(dst[:1], a, b, 2, 3, 1) }},
		{"long dst", length, func() { plan.Multiply(dst, a[:3], b, 1, 3, 1) }},
		{"long a", length, func() { plan.Multiply(dst[:1], a, b, 1, 3, 1) }},
		{"short b", length, func() { plan.Multiply(dst, a, b[:2], 2, 3, 1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			test.call()
		})
	}
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 36) }

func BenchmarkMatmul(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 16, 64, 128, 256, 512, 1024)
}

// A product has the same bits with any number of workers.
func TestParallelIsSerial(t *testing.T) {
	s := kernels.Shape{rows: 70, terms: 300, columns: 90}
	var want []float32
	for _, workers := range []int{1, 2, 3, 8} {
		b := &kernels.Backends{Pool: pool.New(workers)}
		for _, name := range []string{"go", "go-parallel"} {
			call, err := Op.Problem(b, s, kernels.Caller, kernels.Input{}).Bind(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = call.Output()
			}
			if !slices.Equal(call.Output(), want) {
				t.Errorf("%s with %d workers computes other bits", name, workers)
			}
			call.Release()
		}
	}
}
