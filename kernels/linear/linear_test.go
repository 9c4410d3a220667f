package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/matmul"
)

// layers returns the operation with lines of other layers, whose sizes are in×out.
func layers(sizes ...[2]int) *kernels.Op[Params] {
	op := Op
	op.Lines = nil
	for _, l := range sizes {
		op.Lines = append(op.Lines, kernels.Along(axes, "batch", kernels.Param{Name: "in", Value: l[0]}, kernels.Param{Name: "out", Value: l[1]}))
	}
	op.Lines = slices.Concat(op.Lines, Op.Lines)
	return &op
}

// Some layers are whole vectors of four. Numbers of rows are above and below every choice between kernels.
func TestOp(t *testing.T) {
	op := layers([2]int{100, 33}, [2]int{1, 1}, [2]int{3, 7}, [2]int{16, 12}, [2]int{129, 127}, [2]int{256, 200}, [2]int{1028, 20})
	kerneltest.Run(t, op, kerneltest.Options{Sizes: []int{1, 2, 3, 4, 5, 32, 33, 65}, Most: 70 << 10, Emulated: 2100})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{inputs: 512, outputs: 64, rows: 1})
}

// forward applies a layer to n rows.
func forward(t *testing.T, p *kernels.Plan[Params], of Params, dst, x []float32, n int) {
	t.Helper()
	if err := p.Run(kernels.Shape{inputs: of.In, outputs: of.Out, rows: n}, kernels.Args{dst, x}); err != nil {
		t.Fatal(err)
	}
}

// TestPyTorch compares every implementation and the reference with a layer that PyTorch computed in float64. OpenBLAS
// multiplies its five rows as a matrix, and its first row alone as a vector.
func TestPyTorch(t *testing.T) {
	const rows, in, out = 5, 96, 80
	x := kerneltest.ReadArray[float32](t, "testdata/linear_x.npy")
	weights := kerneltest.ReadArray[float32](t, "testdata/linear_weight.npy")
	bias := kerneltest.ReadArray[float32](t, "testdata/linear_bias.npy")
	want := kerneltest.ReadArray[float64](t, "testdata/linear.npy")
	for i, got := range Reference(x, weights, bias, in, out) {
		if math.Abs(got-want[i]) > 1e-12*math.Sqrt(in) {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	l := Params{in, out, transpose(weights, out, in), bias}
	for name, p := range kerneltest.Plans(t, &Op, l) {
		for _, rows := range []int{1, rows} {
			t.Run(fmt.Sprintf("%s/rows=%d", name, rows), func(t *testing.T) {
				got := make([]float32, rows*out)
				forward(t, p, l, got, x[:rows*in], rows)
				if e := kernels.RelativeError(got, want[:rows*out]); !(e <= matmul.Tolerance(in)) {
					t.Errorf("relative error %.2g, tolerance %.2g", e, matmul.Tolerance(in))
				}
			})
		}
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
	for want, call := range map[string]func(){
		"linear: x has 4 values and dst 2, want as many rows in both, of in = 3 and out = 2": func() { plan.Forward(dst[:2], x[:4]) },
		"linear: x has 6 values and dst 3, want as many rows in both, of in = 3 and out = 2": func() { plan.Forward(dst[:3], x) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != want {
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
		{"short weights", x[:5], x[:2], 3, 2, "linear: 5 weights, want out×in = 2×3"},
		{"a product that overflows to 0", nil, x[:4], 1 << 62, 4, "linear: 0 weights, want out×in = 4×4611686018427387904"},
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

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 5) }

func BenchmarkLinear(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 4, 16, 64) }
