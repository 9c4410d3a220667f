package softmax

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sbinet/npyio"

	"crossover/kernels"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// here returns the implementations that can run on this machine.
func here(all []kernels.Implementation) []kernels.Implementation {
	return slices.DeleteFunc(slices.Clone(all), func(i kernels.Implementation) bool { return i.Missing() != nil })
}

// engines returns every contender, and the loops in Go where the contenders use vector code.
func engines(t *testing.T, columns int) map[string]engine {
	t.Helper()
	all := map[string]engine{"plain-go": &serial{columns: columns, loops: inGo}}
	for _, implementation := range here(contenders.Implementations()) {
		e, err := contenders.New(implementation.Name, Params{columns})
		if err != nil {
			t.Fatal(err)
		}
		all[implementation.Name] = e
	}
	return all
}

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

// TestPyTorch holds the reference and every engine against rows that PyTorch computed in float64.
func TestPyTorch(t *testing.T) {
	const columns = 1000
	x, want := readArray[float32](t, "testdata/rows_x.npy"), readArray[float64](t, "testdata/softmax.npy")
	for i, got := range Reference(x, columns) {
		if math.Abs(got-want[i]) > 1e-14 {
			t.Fatalf("Reference: element %d is %.17g, want %.17g", i, got, want[i])
		}
	}
	for name, e := range engines(t, columns) {
		got := make([]float32, len(x))
		if err := e.apply(got, x); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= 3e-7) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// TestEveryWidth has every remainder modulo the vectors, the unrolled vectors and the blocks.
func TestEveryWidth(t *testing.T) {
	for _, columns := range []int{1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 41, 255, 1024, 1023, 1025, 2050, 50_257} {
		x := make([]float32, 5*columns)
		kernels.Noise(x, uint64(columns))
		for i := range x {
			x[i] *= 20
		}
		want := Reference(x, columns)
		for name, e := range engines(t, columns) {
			got := make([]float32, len(x))
			if err := e.apply(got, x); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= 3e-7) {
				t.Errorf("%s, %d columns: relative error %.2g", name, columns, e)
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
		// Once as it is, in the rest of a row, and once in whole vectors.
		for _, repeat := range []int{1, 8} {
			x, want := []float32{}, []float32{}
			for range repeat {
				x = append(x, test.x...)
				for _, w := range test.want {
					want = append(want, w/float32(repeat))
				}
			}
			for name, e := range engines(t, len(x)) {
				got := make([]float32, len(x))
				if err := e.apply(got, x); err != nil {
					t.Fatal(err)
				}
				checkSpecial(t, fmt.Sprintf("%s, %s ×%d", name, test.name, repeat), got, want)
			}
		}
	}
}

// checkSpecial compares values one by one, NaN being equal to NaN. A processor may make 0 of a denormal.
func checkSpecial(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i := range want {
		switch {
		case math.IsNaN(float64(want[i])):
			if got[i] == got[i] {
				t.Errorf("%s: element %d is %g, want NaN", name, i, got[i])
			}
		case got[i] == 0 && want[i] < 0x1p-126:
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
		{"softmax: dst and src differ in length", 22, 11},
		{"softmax: length is not a multiple of the number of columns", 12, 12},
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

func TestCase(t *testing.T) {
	c := Cases()[0]
	for _, rows := range []int{1, 2, 3, 64} {
		p := c.Problem(rows, kernels.Input{})
		want := p.Reference()
		for _, implementation := range here(c.Implementations) {
			call, err := p.Bind(implementation.Name)
			if err != nil {
				t.Fatal(err)
			}
			if got := testing.AllocsPerRun(10, func() { _ = call.Run() }); got != 0 {
				t.Errorf("%s: %v allocations per call", implementation.Name, got)
			}
			if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(rows)) {
				t.Errorf("%s, %d rows: relative error %.2g", implementation.Name, rows, e)
			}
			call.Release()
		}
	}
	if _, err := c.Problem(1, kernels.Input{}).Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkSoftmax times the contenders, and under the name plain-go the loops without vector code.
func BenchmarkSoftmax(b *testing.B) {
	const columns = 1024
	for _, rows := range []int{1, 4, 16, 256, 8192} {
		p := newProblem(rows, Params{columns})
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("impl=%s/rows=%d", name, rows), func(b *testing.B) {
				b.SetBytes(8 * columns * int64(rows))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		plain, y := &serial{columns: columns, loops: inGo}, make([]float32, len(p.x))
		run("plain-go", func() error { return plain.apply(y, p.x) })
		for _, implementation := range here(contenders.Implementations()) {
			call, err := p.Bind(implementation.Name)
			if err != nil {
				b.Fatal(err)
			}
			run(implementation.Name, call.Run)
		}
	}
}
