package matmul

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/sbinet/npyio"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// readArray returns the values of a NumPy file, in row-major order.
func readArray[T float32 | float64](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var values []T
	if err := npyio.Read(f, &values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// newEngine skips the test where the implementation cannot run.
func newEngine(t testing.TB, i kernels.Implementation) engine {
	t.Helper()
	if err := i.Missing(); err != nil {
		t.Skip(err)
	}
	e, err := contenders.New(i.Name, Params{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPyTorch holds every engine and the reference against a product that PyTorch computed in float64.
func TestPyTorch(t *testing.T) {
	const m, k, n = 67, 129, 45
	a := readArray[float32](t, "testdata/gemm_a.npy")
	b := readArray[float32](t, "testdata/gemm_b.npy")
	want := readArray[float64](t, "testdata/gemm.npy")
	for i, got := range Reference(a, b, m, k, n) {
		if math.Abs(got-want[i]) > 1e-12*math.Sqrt(k) {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	for _, implementation := range contenders.Implementations() {
		t.Run(implementation.Name, func(t *testing.T) {
			e := newEngine(t, implementation)
			got := make([]float32, m*n)
			if err := e.multiply(got, a, b, m, k, n); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= Tolerance(k)) {
				t.Errorf("relative error %.2g, tolerance %.2g", e, Tolerance(k))
			}
		})
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

// TestCase runs the case as a sweep does: every implementation within tolerance, twice on the same buffers.
func TestCase(t *testing.T) {
	c := Cases()[0]
	for _, n := range []int{16, 20, 100, 256} {
		if got := c.Axis.Nearest(n); got != n {
			t.Errorf("Nearest(%d) = %d", n, got)
		}
		problem := c.Problem(n, kernels.Input{})
		want := problem.Reference()
		for _, implementation := range c.Implementations {
			t.Run(fmt.Sprintf("%s/n=%d", implementation.Name, n), func(t *testing.T) {
				if err := implementation.Missing(); err != nil {
					t.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				for range 2 {
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(n)) {
						t.Errorf("relative error %.2g, tolerance %.2g", e, c.Tolerance(n))
					}
				}
				if implementation.Probe != nil && emulator.Racing() {
					return
				}
				if allocations := testing.AllocsPerRun(5, func() { call.Run() }); allocations != 0 {
					t.Errorf("%g allocations a call, want 0", allocations)
				}
			})
		}
	}
	if _, err := c.Problem(16, kernels.Input{}).Bind("abacus"); err == nil {
		t.Error("Bind accepted an unknown implementation")
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
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
	if got := edge(67, 129, 45); got != 73 {
		t.Errorf("edge(67, 129, 45) = %d, want 73, the cube root of 388 935", got)
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

func BenchmarkMatmul(b *testing.B) {
	for _, n := range []int{16, 64, 128, 256, 512, 1024} {
		problem := newProblem(n)
		for _, implementation := range contenders.Implementations() {
			b.Run(fmt.Sprintf("impl=%s/n=%d", implementation.Name, n), func(b *testing.B) {
				if err := implementation.Missing(); err != nil {
					b.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					call.Run()
				}
			})
		}
	}
}
