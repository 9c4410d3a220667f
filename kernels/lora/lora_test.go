package lora

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// ops are both operations.
var ops = []*kernels.Op[Params]{&Op, &OnLayer}

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 2e-6

// with returns an operation with lines of some widths and ranks, the first of which are small.
func with(op *kernels.Op[Params], shapes ...[2]int) *kernels.Op[Params] {
	more := *op
	more.Tolerance = func(kernels.Shape) float64 { return allowed }
	more.Lines = nil
	for _, s := range shapes {
		more.Lines = append(more.Lines, kernels.Along(axes, "rows", kernels.Param{Name: "d", Value: s[0]}, kernels.Param{Name: "rank", Value: s[1]}))
	}
	return &more
}

// Numbers of rows are around tiles and blocks. Widths are whole vectors or not, and ranks fill their padding or not. A rank
// above 64 has no kernel of its own.
func TestOp(t *testing.T) {
	o := kerneltest.Options{Sizes: []int{1, 3, 4, 13, 33, 97}, Most: 60 << 10, Emulated: 4 << 10}
	t.Run("lora", func(t *testing.T) {
		kerneltest.Run(t, with(&Op, [2]int{36, 5}, [2]int{33, 4}, [2]int{130, 64}, [2]int{7, 70}), o)
	})
	t.Run("lora-linear", func(t *testing.T) { kerneltest.Run(t, with(&OnLayer, [2]int{20, 5}, [2]int{7, 70}), o) })
}

// forced returns an operation whose kernel text has a given layout.
func forced(op *kernels.Op[Params], l layout) *kernels.Op[Params] {
	only := with(op, [2]int{36, 5})
	only.By = []kernels.Makers[Params]{kernels.KernelTextFor("", func(d *gpu.Device, p Params) (kernels.Append[Params], error) {
		k, err := newAdapter(d, p)
		return func(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) { k.append(b, s, t, l) }, err
	})}
	return only
}

// TestLayouts has all kinds of layouts at shapes that need several steps along the width of x, several passes along that of
// y, and several threadgroups in both directions.
func TestLayouts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	b := kerneltest.Backends(t)
	if len(b.GPUs) == 0 {
		t.Skip("no emulated GPU")
	}
	for i, l := range []layout{{4, 256}, {4, 2048}, {32, 256}, {32, 1024}} {
		for k, s := range []kernels.Shape{{1030, 4, 3}, {1100, 9, 5}, {260, 30, 33}, {300, 64, 6}} {
			kerneltest.Shapes(t, forced(ops[(i+k+1)%2], l), b, kerneltest.GPUName, s)
		}
	}
}

func TestBarriers(t *testing.T) {
	for _, l := range []layout{{4, 256}, {32, 256}} {
		t.Run(fmt.Sprint(l.rows), func(t *testing.T) {
			kerneltest.Barriers(t, forced(&Op, l), kerneltest.GPUName, kernels.Shape{1100, 64, 4}, kernels.Shape{300, 8, 40})
		})
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		rows, out, cores int
		want             layout
	}{
		{1, 1024, 132, layout{4, 256}},
		{64, 1024, 132, layout{4, 256}},
		{512, 1024, 132, layout{4, 512}},
		{2048, 1024, 132, layout{32, 256}},
		{8192, 1024, 132, layout{32, 1024}},
		{8192, 1000, 8, layout{32, 1024}},
		{5, 100, 1, layout{32, 256}},
	} {
		if got := choose(test.rows, test.out, test.cores); got != test.want {
			t.Errorf("%d rows of %d columns on %d cores: %+v, want %+v", test.rows, test.out, test.cores, got, test.want)
		}
	}
}

// TestVendor checks the products of a vendor's library, alone and on a layer.
func TestVendor(t *testing.T) {
	b := kerneltest.WithGEMM(t)
	for _, op := range ops {
		kerneltest.Shapes(t, op, b, "mps", kernels.Shape{7, 3, 1}, kernels.Shape{20, 9, 33})
	}
}

func TestRefuses(t *testing.T) {
	p := noise(kernels.Shape{1, 1}, false)
	vendor, err := byVendor(nil, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := byText(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	for name, describe := range map[string]kernels.Append[Params]{"ours": ours, "vendor's": vendor} {
		b := emulator.Open(t).NewPlan()
		describe(b, p, kernels.Shape{1, 1, 1 << 31}, []*gpu.Buffer{b.Output(gpu.Float, 1), b.Input(gpu.Float, 1)})
		if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("%s: error %v, want one that refuses the shape", name, err)
		}
	}
}

// TestPyTorch compares with adapters that PyTorch computed in float64, 96×80, alone and added to a layer.
func TestPyTorch(t *testing.T) {
	read := func(name string) []float32 { return kerneltest.ReadArchived[float32](t, "testdata/nn.npz", name) }
	const in, out, count = 96, 80, 5
	x := read("linear_x")
	layer := kerneltest.ReadArchived[float64](t, "testdata/nn.npz", "linear")
	for _, k := range []int{4, 16, 64} {
		want := kerneltest.ReadArchived[float64](t, "testdata/nn.npz", fmt.Sprintf("lora_%d", k))
		p := Params{In: in, Out: out, Rank: k, A: read(fmt.Sprintf("lora_a_%d", k)), B: read(fmt.Sprintf("lora_b_%d", k)), Scale: 2}
		s := kernels.Shape{width: out, rank: k, rows: count}
		kerneltest.Against(t, &Op, p.prepared(), s, [][]float32{x}, want, allowed)
		p.Weights, p.Bias = read("linear_weight"), read("linear_bias")
		for i, v := range layer {
			want[i] += v
		}
		kerneltest.Against(t, &OnLayer, p.prepared(), s, [][]float32{x}, want, allowed)
	}
}

// TestSpecials has zeros beside one NaN or infinity in x, A or B. No product with 0 is skipped, and other rows and columns
// stay as they are.
func TestSpecials(t *testing.T) {
	const in, out, k, count, bad = 40, 37, 5, 35, 3
	for _, special := range []float64{math.NaN(), math.Inf(1)} {
		for where, at := range []string{"x", "A", "B"} {
			p := Params{In: in, Out: out, Rank: k, A: make([]float32, in*k), B: make([]float32, k*out), Scale: 1}
			x := make([]float32, count*in)
			[][]float32{x, p.A, p.B}[where][bad] = float32(special)
			want := Reference(p, x)
			for name, plan := range kerneltest.Plans(t, &Op, p.prepared()) {
				got := make([]float32, count*out)
				if err := plan.Run(kernels.Shape{out, k, count}, kernels.Args{got, x}); err != nil {
					t.Fatal(err)
				}
				for i, y := range got {
					if math.IsNaN(float64(y)) != math.IsNaN(want[i]) {
						t.Fatalf("%s, %g in %s: value %d is %g, want %g", name, special, at, i, y, want[i])
					}
				}
			}
		}
	}
}

func TestPlan(t *testing.T) {
	a, b := []float32{1, 0, 0, 1, 1, 1}, []float32{1, 10, 100, 1000} // 3×2 and 2×2
	weights, bias := []float32{1, 0, 0, 0, 0, 1}, []float32{0.5, 0.25}
	for _, test := range []struct {
		p    Params
		want [2]float32
	}{
		{Params{In: 3, Out: 2, Rank: 2, A: a, B: b, Scale: 2}, [2]float32{2 * (4 + 500), 2 * (40 + 5000)}},
		{Params{In: 3, Out: 2, Rank: 2, A: a, B: b, Scale: 2, Weights: weights, Bias: bias}, [2]float32{2*(4+500) + 1.5, 2*(40+5000) + 3.25}},
	} {
		p := test.p
		p.A, p.B = append([]float32(nil), a...), append([]float32(nil), b...)
		plan, err := New(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		clear(p.A) // the plan has copies
		clear(p.B)
		x, y := []float32{1, 2, 3}, make([]float32, 2)
		if err := plan.Forward(y, x); err != nil || [2]float32(y) != test.want {
			t.Errorf("%v, %v, want %v", y, err, test.want)
		}
		if err := plan.Forward(nil, nil); err != nil {
			t.Errorf("no rows: %v", err)
		}
		if allocations := testing.AllocsPerRun(10, func() { plan.Forward(y, x) }); allocations != 0 {
			t.Errorf("%g allocations a call, want 0", allocations)
		}
		for name, call := range map[string]func(){
			"half a row": func() { plan.Forward(y, x[:2]) },
			"short dst":  func() { plan.Forward(y[:1], x) },
		} {
			func() {
				defer func() {
					if message, _ := recover().(string); !strings.HasPrefix(message, "lora: x has ") ||
						!strings.Contains(message, "want as many rows in both, of in = ") {
						t.Errorf("%s: panic %q", name, message)
					}
				}()
				call()
			}()
		}
		plan.Close()
	}
}

func TestNewErrors(t *testing.T) {
	x, inf := make([]float32, 6), float32(math.Inf(1))
	for _, test := range []struct {
		name string
		p    Params
		want string
	}{
		{"no rank", Params{In: 3, Out: 2, Scale: 1}, "lora: in=3, out=2, rank=0: want at least 1"},
		{"short A", Params{In: 3, Out: 2, Rank: 2, A: x[:5], B: x[:4], Scale: 1}, "lora: A has 5 values, want in×rank = 3×2"},
		{"long B", Params{In: 3, Out: 2, Rank: 2, A: x, B: x[:5], Scale: 1}, "lora: B has 5 values, want rank×out = 2×2"},
		{"no scale", Params{In: 3, Out: 2, Rank: 2, A: x, B: x[:4]}, "lora: the scale is 0"},
		{"infinite scale", Params{In: 3, Out: 2, Rank: 2, A: x, B: x[:4], Scale: inf}, "lora: the scale is +Inf"},
		{"no weights", Params{In: 3, Out: 2, Rank: 2, A: x, B: x[:4], Scale: 1, Bias: x[:2]}, "lora: 0 weights, want out×in = 2×3"},
		{"an A that overflows", Params{In: 1 << 62, Out: 1, Rank: 4, B: x[:4], Scale: 1}, "lora: A has 0 values, want in×rank = 4611686018427387904×4"},
		{"a B that overflows", Params{In: 1, Out: 1 << 62, Rank: 4, A: x[:4], Scale: 1}, "lora: B has 0 values, want rank×out = 4×4611686018427387904"},
		{"no bias", Params{In: 3, Out: 2, Rank: 2, A: x, B: x[:4], Scale: 1, Weights: x}, "lora: 0 biases, want out = 2"},
	} {
		if _, err := New(nil, test.p); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestProgram(t *testing.T) {
	for _, op := range ops {
		kerneltest.Programs(t, op, Program, 5)
	}
}

func BenchmarkLora(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 4, 16, 64, 256, 1024) }

// A plan between widths that differ chooses as a square one with as many weights, or, without a layer, as many columns.
func TestSide(t *testing.T) {
	for _, test := range []struct {
		p    Params
		want int
	}{
		{Params{In: 256, Out: 2048}, 1152},
		{Params{In: 256, Out: 2048, Weights: []float32{0}}, 724},
		{Params{In: 2048, Out: 256, Weights: []float32{0}}, 724},
		{Params{In: 1024, Out: 1024}, 1024},
		{Params{In: 1024, Out: 1024, Weights: []float32{0}}, 1024},
		{Params{In: 1, Out: 2}, 2},
		{Params{In: 1, Out: 1, Weights: []float32{0}}, 1},
	} {
		if got := test.p.side(); got != test.want {
			t.Errorf("from %d to %d, layer %v: %d columns, want %d", test.p.In, test.p.Out, test.p.Weights != nil, got, test.want)
		}
	}
}

// A typed plan asks for the times of its square.
func TestPlanOfSquare(t *testing.T) {
	plan, err := New(nil, Params{In: 4, Out: 16, Rank: 1, A: make([]float32, 4), B: make([]float32, 16), Scale: 1,
		Weights: make([]float32, 64), Bias: make([]float32, 16)})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if _, shape := kernels.StepOfPlan(plan.SizedPlan); shape(3) != (kernels.Shape{width: 8, rank: 1, rows: 3}) {
		t.Errorf("shape %v, want 8 columns", shape(3))
	}
}
