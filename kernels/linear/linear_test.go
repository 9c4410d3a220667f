package linear

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/sbinet/npyio"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/matmul"
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

// TestPyTorch holds every engine and the reference against a layer that PyTorch computed in float64. Its five rows go
// through OpenBLAS as a matrix, its first row alone as a vector.
func TestPyTorch(t *testing.T) {
	const rows, in, out = 5, 96, 80
	x := readArray[float32](t, "testdata/linear_x.npy")
	weights := readArray[float32](t, "testdata/linear_weight.npy")
	bias := readArray[float32](t, "testdata/linear_bias.npy")
	want := readArray[float64](t, "testdata/linear.npy")
	for i, got := range Reference(x, weights, bias, in, out) {
		if math.Abs(got-want[i]) > 1e-12*math.Sqrt(in) {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	l, err := newLayer(weights, bias, in, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, implementation := range contenders.Implementations() {
		for _, rows := range []int{1, rows} {
			t.Run(fmt.Sprintf("%s/rows=%d", implementation.Name, rows), func(t *testing.T) {
				if err := implementation.Missing(); err != nil {
					t.Skip(err)
				}
				e, err := contenders.New(implementation.Name, l)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]float32, rows*out)
				if err := e.forward(got, x[:rows*in], rows); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want[:rows*out]); !(e <= matmul.Tolerance(in)) {
					t.Errorf("relative error %.2g, tolerance %.2g", e, matmul.Tolerance(in))
				}
			})
		}
	}
}

// TestCase runs the case as a sweep does: every implementation within tolerance, twice on the same buffers.
func TestCase(t *testing.T) {
	if c := Cases()[0]; c.Name != "linear/in=1024,out=1024" || c.Tolerance(1) != 1e-5 {
		t.Errorf("%s with tolerance %g", c.Name, c.Tolerance(1))
	}
	c := newCase(256, 200)
	for _, batch := range []int{1, 2, 4, 5, 33} {
		problem := c.Problem(batch, kernels.Input{})
		want := problem.Reference()
		for _, implementation := range c.Implementations {
			t.Run(fmt.Sprintf("%s/batch=%d", implementation.Name, batch), func(t *testing.T) {
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
					if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(batch)) {
						t.Errorf("relative error %.2g, tolerance %.2g", e, c.Tolerance(batch))
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
	if _, err := c.Problem(1, kernels.Input{}).Bind("abacus"); err == nil {
		t.Error("Bind accepted an unknown implementation")
	}
}

func TestPlan(t *testing.T) {
	weights, bias := []float32{1, 2, 3, 4, 5, 6}, []float32{10, 20}
	plan, err := New(nil, weights, bias, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	clear(weights) // the plan has copies
	clear(bias)
	x, dst := []float32{1, 1, 1, 0, 0, 1}, make([]float32, 4)
	if err := plan.Forward(dst, x); err != nil {
		t.Fatal(err)
	}
	if want := [4]float32{16, 35, 13, 26}; [4]float32(dst) != want {
		t.Errorf("y = %v, want %v", dst, want)
	}
	if err := plan.Forward(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Forward(dst, x) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	for name, call := range map[string]func(){
		"half a row": func() { plan.Forward(dst[:2], x[:4]) },
		"short dst":  func() { plan.Forward(dst[:3], x) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, want := recover(), "linear: slice length is not that of its matrix"; got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			call()
		})
	}
}

func TestNewErrors(t *testing.T) {
	x := make([]float32, 6)
	for _, test := range []struct {
		name          string
		weights, bias []float32
		in, out       int
		want          string
	}{
		{"no inputs", nil, nil, 0, 2, "linear: in=0, out=2: want at least 1"},
		{"short weights", x[:5], x[:2], 3, 2, "linear: 5 weights, want out×in = 2×3 = 6"},
		{"long bias", x, x[:3], 3, 2, "linear: 3 biases, want out = 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(nil, test.weights, test.bias, test.in, test.out)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func BenchmarkLinear(b *testing.B) {
	for _, batch := range []int{1, 4, 16, 64} {
		problem := newProblem(batch, 1024, 1024)
		for _, implementation := range contenders.Implementations() {
			b.Run(fmt.Sprintf("impl=%s/batch=%d", implementation.Name, batch), func(b *testing.B) {
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
