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
	for name, p := range kerneltest.Plans(t, &Op, plain) {
		got := make([]float32, m*n)
		if err := p.Run(shapeOf(m, k, n), kernels.Args{got, a, b}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= Tolerance(k)) {
			t.Errorf("%s: relative error %.2g, tolerance %.2g", name, e, Tolerance(k))
		}
	}
}

// scales are factors of every kind.
var scales = []struct{ alpha, beta float32 }{{1, 0}, {-0.5, 0}, {1, 1}, {3, -0.25}}

// TestScaled compares every implementation with the definition for all transposes and kinds of factors. If β is 0, the
// earlier values of C are NaN and must not be read. A program passes them in C itself, and a sweep in other memory.
func TestScaled(t *testing.T) {
	b := kerneltest.Backends(t)
	for i, s := range []kernels.Shape{shapeOf(1, 1, 1), shapeOf(5, 12, 8), shapeOf(7, 33, 2), shapeOf(66, 20, 37), shapeOf(36, 68, 64), shapeOf(1, 400, 21)} {
		for turns := range 4 {
			for k, scale := range scales {
				if testing.Short() && (i+turns+k)%4 != 0 {
					continue
				}
				checkScaled(t, b, Params{turns&1 != 0, turns&2 != 0, scale.alpha, scale.beta}, s)
			}
		}
	}
}

// checkScaled compares every implementation on given backends with the definition.
func checkScaled(t *testing.T, b *kernels.Backends, p Params, s kernels.Shape) {
	t.Helper()
	m, k, n := s[rows], s[terms], s[columns]
	x, y, before := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
	kernels.Noise(x, 1)
	kernels.Noise(y, 2)
	kernels.Noise(before, 3)
	want := ScaledReference(p, x, y, before, m, k, n)
	for _, implementation := range Op.CaseOf(b, Op.Lines[0]).Implementations {
		if implementation.Missing() != nil {
			continue
		}
		plan, err := kernels.NewPlanOf(b, &Op, p, implementation.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, inPlace := range []bool{false, true} {
			got := make([]float32, m*n)
			for i := range got {
				got[i] = float32(math.NaN())
			}
			args := kernels.Args{got, x, y}
			switch {
			case p.Beta != 0 && inPlace:
				copy(got, before)
				args[3] = got
			case p.Beta != 0:
				args[3] = before
			}
			if err := plan.Run(s, args); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= 2*Tolerance(k)) {
				t.Errorf("%s, %+v, %v, in place %t: relative error %.2g, tolerance %.2g", implementation.Name, p, s, inPlace, e, Tolerance(k))
			}
		}
		plan.Close()
	}
}

// The definition of a product with transposes and factors, at a size that can be computed by hand.
func TestScaledReference(t *testing.T) {
	a, b, before := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 10, 100, 1000, 10000, 100000}, []float32{1, 2, 3, 4}
	for _, test := range []struct {
		p    Params
		want [4]float64
	}{
		{Params{false, false, 1, 0}, [4]float64{30201, 302010, 60504, 605040}},
		{Params{true, false, 1, 0}, [4]float64{50301, 503010, 60402, 604020}},
		{Params{false, true, 1, 0}, [4]float64{321, 321000, 654, 654000}},
		{Params{true, true, -2, 10}, [4]float64{-2*531 + 10, -2*531000 + 20, -2*642 + 30, -2*642000 + 40}},
	} {
		if got := [4]float64(ScaledReference(test.p, a, b, before, 2, 3, 2)); got != test.want {
			t.Errorf("%+v: %v, want %v", test.p, got, test.want)
		}
	}
}

func TestNewScaled(t *testing.T) {
	for _, test := range []struct {
		p    Params
		want string
	}{
		{Params{TransposeA: true, Beta: 1}, "matmul: alpha is 0 (want 1 for a plain product)"},
		{Params{Alpha: float32(math.NaN())}, "matmul: alpha=NaN, beta=0: want finite factors"},
		{Params{Alpha: 1, Beta: float32(math.Inf(-1))}, "matmul: alpha=1, beta=-Inf: want finite factors"},
	} {
		if _, err := NewScaled(nil, test.p); err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v, want %q", test.p, err, test.want)
		}
	}
	plan, err := NewScaled(nil, Params{TransposeA: true, Alpha: 2, Beta: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	a, b, dst := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 2, 3}, []float32{1, 2} // a is 3×2
	if err := plan.Multiply(dst, a, b, 2, 3, 1); err != nil {
		t.Fatal(err)
	}
	if want := [2]float32{54, 76}; [2]float32(dst) != want {
		t.Errorf("%v, want %v", dst, want)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Multiply(dst, a, b, 2, 3, 1) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
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
	if line, size := Op.Judged(plain, shapeOf(67, 129, 45)); line != 0 || size != 73 {
		t.Errorf("67×129×45 goes by size %d of line %d, want 73, the cube root of 388 935, of line 0", size, line)
	}
	for _, test := range []struct {
		name, want string
		call       func()
	}{
		{"no rows", "matmul: m=0, k=3, n=1: want at least 1 of each", func() { plan.Multiply(nil, nil, b, 0, 3, 1) }},
		{"short dst", "matmul: dst has 1 values, a 6 and b 3, want m×n = 2×1, m×k = 2×3 and k×n = 3×1", func() { plan.Multiply(dst[:1], a, b, 2, 3, 1) }},
		{"long dst", "matmul: dst has 2 values, a 3 and b 3, want m×n = 1×1, m×k = 1×3 and k×n = 3×1", func() { plan.Multiply(dst, a[:3], b, 1, 3, 1) }},
		{"long a", "matmul: dst has 1 values, a 6 and b 3, want m×n = 1×1, m×k = 1×3 and k×n = 3×1", func() { plan.Multiply(dst[:1], a, b, 1, 3, 1) }},
		{"short b", "matmul: dst has 2 values, a 6 and b 2, want m×n = 2×1, m×k = 2×3 and k×n = 3×1", func() { plan.Multiply(dst, a, b[:2], 2, 3, 1) }},
		{"products that overflow to 0", "matmul: dst has 0 values, a 0 and b 0, want m×n = 4294967296×4294967296, " +
			"m×k = 4294967296×4294967296 and k×n = 4294967296×4294967296", func() { plan.Multiply(nil, nil, nil, 1<<32, 1<<32, 1<<32) }},
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
