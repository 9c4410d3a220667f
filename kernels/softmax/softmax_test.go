package softmax

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/rowwise"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

func TestOp(t *testing.T) { kerneltest.Run(t, &Op) }

// A threadgroup must not read the results of its simdgroups before they are written.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{rows: 1, columns: 4096},
		kernels.Shape{rows: 1, columns: rowwise.ThreadgroupColumns + 4},
		kernels.Shape{rows: rowwise.FewRows + 1, columns: rowwise.ThreadgroupColumns + 4})
}

// plans returns a plan of every implementation for rows of the given number of columns, and one of the portable loops if go
// uses vector code.
func plans(t *testing.T, columns int) map[string]*kernels.Plan[Params] {
	t.Helper()
	all := kerneltest.Plans(t, &Op, Params{columns})
	plain := Op
	plain.By = []kernels.Makers[Params]{kernels.Named("plain-go", func(*kernels.Backends, Params) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(s kernels.Shape, a *kernels.Args) error {
			for row := range s[rows] {
				inGo.row(a[0][row*columns:(row+1)*columns], a[1][row*columns:(row+1)*columns])
			}
			return nil
		}), nil
	})}
	all["plain-go"] = kerneltest.Plans(t, &plain, Params{columns})["plain-go"]
	return all
}

func apply(t *testing.T, p *kernels.Plan[Params], dst, src []float32, n int) {
	t.Helper()
	if err := p.Run(kernels.Shape{rows: len(src) / n, columns: n}, kernels.Args{dst, src}); err != nil {
		t.Fatal(err)
	}
}

// TestPyTorch compares the reference and every implementation with rows that PyTorch computed in float64.
func TestPyTorch(t *testing.T) {
	const columns = 1000
	x, want := kerneltest.ReadArray[float32](t, "testdata/rows_x.npy"), kerneltest.ReadArray[float64](t, "testdata/softmax.npy")
	for i, got := range Reference(x, columns) {
		if math.Abs(got-want[i]) > 1e-14 {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	for name, p := range plans(t, columns) {
		got := make([]float32, len(x))
		apply(t, p, got, x, columns)
		if e := kernels.RelativeError(got, want); !(e <= allowed(name)) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// allowed is the greatest relative error of an implementation. Apple's framework adds a row up in float32.
func allowed(name string) float64 {
	if name == "accelerate" {
		return Op.Tolerance(kernels.Shape{})
	}
	return 3e-7
}

// TestEveryWidth has every remainder modulo vectors, unrolled vectors, blocks, simdgroups and chunks.
func TestEveryWidth(t *testing.T) {
	for _, columns := range []int{
		1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 32, 33, 41, 255, rowwise.SimdgroupColumns, rowwise.SimdgroupColumns + 1, 1024, 1023, 1025, 2050, 4099,
		rowwise.FewRowsWholeUpTo, rowwise.FewRowsWholeUpTo + 1, rowwise.ThreadgroupColumns - 1, rowwise.ThreadgroupColumns + 1, 50_257,
	} {
		for _, rows := range []int{1, rowwise.Simdgroups + 1} {
			x := make([]float32, rows*columns)
			kernels.Noise(x, uint64(columns))
			for i := range x {
				x[i] *= 20
			}
			want := Reference(x, columns)
			for name, p := range plans(t, columns) {
				if kerneltest.Emulated(name) && columns > 4096 && rows > 1 {
					continue // emulation is slow, and no threadgroup has more than one row
				}
				got := make([]float32, len(x))
				apply(t, p, got, x, columns)
				if e := kernels.RelativeError(got, want); !(e <= allowed(name)) {
					t.Errorf("%s, %d rows of %d columns: relative error %.2g", name, rows, columns, e)
				}
			}
		}
	}
}

var specialRows = []struct {
	name string
	x    []float32
	want []float32
}{
	{"equal", []float32{3, 3, 3, 3}, []float32{0.25, 0.25, 0.25, 0.25}},
	{"one column", []float32{-7}, []float32{1}},
	{"large", []float32{1e30, 1e30}, []float32{0.5, 0.5}},
	{"largest", []float32{math.MaxFloat32, -math.MaxFloat32}, []float32{1, 0}},
	{"very negative", []float32{-1e30, -1e30, -3e38}, []float32{0.5, 0.5, 0}},
	{"underflow", []float32{0, -87, -88, -1000}, []float32{1, 1.6458115e-38, 0, 0}},
	{"masked", []float32{0, -inf, 0, -inf}, []float32{0.5, 0, 0.5, 0}},
	{"all masked", []float32{-inf, -inf}, []float32{nan, nan}},
	{"no number", []float32{1, nan, 2}, []float32{nan, nan, nan}},
	{"infinite", []float32{1, inf, 2}, []float32{nan, nan, nan}},
}

func TestSpecialRows(t *testing.T) {
	for _, test := range specialRows {
		// Once in the rest of a row, and once in whole vectors.
		for _, repeat := range []int{1, 8} {
			x, want := []float32{}, []float32{}
			for range repeat {
				x = append(x, test.x...)
				for _, w := range test.want {
					want = append(want, w/float32(repeat))
				}
			}
			for name, p := range plans(t, len(x)) {
				got := make([]float32, len(x))
				apply(t, p, got, x, len(x))
				checkSpecial(t, fmt.Sprintf("%s, %s ×%d", name, test.name, repeat), got, want)
			}
		}
	}
}

// checkSpecial compares values one by one. A NaN equals a NaN, and denormals equal each other and 0.
func checkSpecial(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i := range want {
		switch {
		case math.IsNaN(float64(want[i])):
			if got[i] == got[i] {
				t.Errorf("%s: element %d is %g, want NaN", name, i, got[i])
			}
		case 0 <= got[i] && got[i] < 0x1p-126 && want[i] < 0x1p-126:
		case !(math.Abs(float64(got[i]-want[i])) <= 4e-7*float64(want[i])):
			t.Errorf("%s: element %d is %g, want %g", name, i, got[i], want[i])
		}
	}
}

func TestApply(t *testing.T) {
	plan, err := New(nil, Params{Columns: 11})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 3*11)
	kernels.Noise(x, 1)
	want := Reference(x, 11)
	if err := plan.Apply(x, x); err != nil { // in place
		t.Fatal(err)
	}
	if e := kernels.RelativeError(x, want); !(e <= 3e-7) {
		t.Errorf("relative error %.2g", e)
	}
	if err := plan.Apply(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	for _, test := range []struct {
		want     string
		dst, src int
	}{
		{"softmax: dst has 22 values, want as many as src, 11", 22, 11},
		{"softmax: 12 values, want a multiple of the number of columns, 11", 12, 12},
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
	for _, columns := range []int{0, -1} {
		if _, err := New(nil, Params{Columns: columns}); err == nil {
			t.Errorf("New accepts %d columns", columns)
		}
	}
}

// BenchmarkSoftmax times the implementations.
func BenchmarkSoftmax(b *testing.B) {
	line := kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})
	kerneltest.Benchmark(b, &Op, line, 1, 4, 16, 256, 8192)
}
