package linear

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/matmul"
)

// layerOf returns a layer of seeded noise, rows for it, and y in float64.
func layerOf(t *testing.T, rows, in, out int) (l layer, x []float32, want []float64) {
	t.Helper()
	p := newProblem(rows, in, out)
	l, err := newLayer(p.weights, p.bias, in, out)
	if err != nil {
		t.Fatal(err)
	}
	return l, p.x, p.Reference()
}

func TestLaunch(t *testing.T) {
	d := emulator.Open(t)
	for _, layer := range [][2]int{{1, 1}, {3, 7}, {100, 33}, {129, 127}, {1028, 20}} {
		in, out := layer[0], layer[1]
		l, _, _ := layerOf(t, 1, in, out)
		e, err := newLaunch(d, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int{1, 2, 3, 5, 32, 33, 65} {
			t.Run(fmt.Sprintf("%dx%dx%d", rows, in, out), func(t *testing.T) {
				_, x, want := layerOf(t, rows, in, out)
				got := make([]float32, rows*out)
				for range 2 {
					if err := e.forward(got, x, rows); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(got, want); !(e <= matmul.Tolerance(in)) {
						t.Errorf("relative error %.2g, tolerance %.2g", e, matmul.Tolerance(in))
					}
				}
			})
		}
	}
}

func TestWarmEngine(t *testing.T) {
	const in, out = 8, 4
	l, _, _ := layerOf(t, 1, in, out)
	e, err := newLaunch(emulator.Open(t), l)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float32, 33*in), make([]float32, 33*out)
	for _, rows := range []int{1, 33} {
		run := func() { err = e.forward(y[:rows*out], x[:rows*in], rows) }
		if allocations := testing.AllocsPerRun(5, run); err != nil || allocations != 0 && !emulator.Racing() {
			t.Errorf("%d rows: %g allocations a call, want 0; error %v", rows, allocations, err)
		}
	}
}

func TestFewRows(t *testing.T) {
	for _, test := range []struct{ in, out, want int }{{512, 512, 32}, {1024, 1024, 32}, {1024, 1025, 16}, {4096, 4096, 16}} {
		if got := (&layer{in: test.in, out: test.out}).mostFewRows(); got != test.want {
			t.Errorf("%d×%d: few rows are up to %d, want %d", test.in, test.out, got, test.want)
		}
	}
}

// TestMissingBarrier removes the barrier of few_rows; the emulator must notice.
func TestMissingBarrier(t *testing.T) {
	d := emulator.Open(t)
	whole := text
	defer func() { text = whole }()
	text = strings.Replace(whole, "threadgroup_barrier(mem_flags::mem_threadgroup);", ";", 1)
	if text == whole {
		t.Fatal("there is no barrier to remove")
	}
	l, x, want := layerOf(t, 1, 512, 64)
	e, err := newLaunch(d, l)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 64)
	if err := e.forward(got, x, 1); err == nil && kernels.RelativeError(got, want) <= matmul.Tolerance(512) {
		t.Error("nothing fails without the barrier")
	}
}

func TestFill(t *testing.T) {
	const rows, in, out = 5, 1, 300
	d := emulator.Open(t)
	l, _, _ := layerOf(t, rows, in, out)
	e := &launch{layer: l, device: d}
	b := d.NewPlan()
	y := b.Output(gpu.Float, rows*out)
	e.fill(b, y, b.Constant(gpu.Float, l.bias), rows)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat(l.bias, rows); !slices.Equal(y.Floats(), want) {
		t.Errorf("y = %v, want %v", y.Floats(), want)
	}
}

// questioned is a vendor's library that only keeps what it was asked for.
type questioned struct {
	gpu.GEMM
	m, n, k     int
	transposed  bool
	alpha, beta float32
}

var errQuestioned = errors.New("no library")

func (q *questioned) NewGEMM(_, _, _ gpu.Region, m, n, k int, transposed bool, alpha, beta float32) (gpu.External, error) {
	*q = questioned{m: m, n: n, k: k, transposed: transposed, alpha: alpha, beta: beta}
	return nil, errQuestioned
}

// TestLibrary asks for the product that is added to what fill wrote; the emulator has no library to compute it with.
func TestLibrary(t *testing.T) {
	const in, out = 7, 300
	q := &questioned{}
	for _, rows := range []int{libraryTransposedRows, libraryTransposedRows + 1} {
		l, x, _ := layerOf(t, rows, in, out)
		e, err := newLibrary(emulator.Open(t), q, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.forward(make([]float32, rows*out), x, rows); !errors.Is(err, errQuestioned) {
			t.Fatalf("error %v, want the library's", err)
		}
		want := questioned{m: rows, n: out, k: in, transposed: rows == libraryTransposedRows, alpha: 1, beta: 1}
		if *q != want {
			t.Errorf("asked for %+v, want %+v", *q, want)
		}
	}
}
