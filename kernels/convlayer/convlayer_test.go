package convlayer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// line1D returns a line of sequences.
func line1D(in, out, kernel, stride int) kernels.Line {
	return kernels.Along(axes1D, "length", params("in", in, "out", out, "kernel", kernel, "stride", stride)...)
}

// line2D returns a line of images.
func line2D(in, out, kernel, stride, height int) kernels.Line {
	return kernels.Along(axes2D, "width", params("in", in, "out", out, "kernel", kernel, "stride", stride, "height", height)...)
}

func TestConv1D(t *testing.T) {
	op := Conv1D
	op.Lines = slices.Concat([]kernels.Line{line1D(6, 40, 3, 1)}, Conv1D.Lines)
	kerneltest.Run(t, &op, kerneltest.Options{
		Sizes: []int{1, 3, 34, 100}, Emulated: 2 << 10,
		Lines: []kernels.Line{line1D(1, 1, 1, 1), line1D(3, 5, 4, 3), line1D(7, 33, 2, 5), line1D(2, 3, 2, 1<<26), line1D(70, 19, 1, 1), line1D(2, 65, 16, 8)},
	})
}

func TestConv2D(t *testing.T) {
	op := Conv2D
	op.Lines = slices.Concat([]kernels.Line{line2D(3, 35, 3, 1, 6)}, Conv2D.Lines)
	kerneltest.Run(t, &op, kerneltest.Options{
		Sizes: []int{1, 3, 8, 17, 18}, Emulated: 5200,
		Lines: []kernels.Line{line2D(1, 1, 1, 1, 1), line2D(3, 4, 3, 1, 5), line2D(2, 5, 4, 3, 7), line2D(3, 7, 2, 3, 9), line2D(4, 6, 7, 2, 2)},
	})
}

// The first shape takes small tiles, which have all barriers.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Conv1D, kerneltest.GPUName, line1D(20, 8, 3, 1).At(20))
}

// Both tiles take a layer of several tiles in each direction, which do not fit.
func TestTiles(t *testing.T) {
	for name, by := range map[string]tile{"large": large, "small": small} {
		t.Run(name, func(t *testing.T) {
			op := Conv2D
			op.By = []kernels.Makers[Params]{kernels.KernelText(name, appendIn(by))}
			kerneltest.Shapes(t, &op, kerneltest.Backends(t), kerneltest.GPUName+"/"+name,
				line2D(6, 70, 3, 2, 17).At(18), line2D(33, 2, 1, 1, 2).At(3), line2D(1, 65, 2, 1, 8).At(9))
		})
	}
}

func TestVendor(t *testing.T) {
	b := kerneltest.WithGEMM(t)
	kerneltest.Shapes(t, &Conv1D, b, "mps", line1D(3, 5, 4, 2).At(300), line1D(1, 40, 1, 1).At(5))
	kerneltest.Shapes(t, &Conv2D, b, "mps", line2D(3, 5, 3, 2, 7).At(9), line2D(1, 40, 2, 1, 3).At(5))
}

// archive is the output of torch.nn.functional.conv1d and conv2d.
const archive = "testdata/torch.npz"

// TestPyTorch compares the reference and every implementation with layers that PyTorch computed in float64.
func TestPyTorch(t *testing.T) {
	read := func(name string) []float32 { return kerneltest.ReadArchived[float32](t, archive, name) }
	x, bias := read("conv1d_x"), read("conv1d_bias")
	for name, l := range map[string]Layer{
		"conv1d_stride1_pad3": {In: 16, Out: 24, Kernel: 7, Stride: 1, Padding: 3, Batch: 2, Weights: read("conv1d_weight"), Bias: bias},
		"conv1d_stride4_pad2": {In: 16, Out: 24, Kernel: 7, Stride: 4, Padding: 2, Batch: 2, Weights: read("conv1d_weight"), Bias: bias},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newParams(l.images(), 1)
			if err != nil {
				t.Fatal(err)
			}
			const n = 300
			s := kernels.Shape{inputs: l.In, channels: l.Out, kernel: l.Kernel, stride: l.Stride, length: n}
			kerneltest.Against(t, &Conv1D, p, s, [][]float32{x}, kerneltest.ReadArchived[float64](t, archive, name), 1e-6)
		})
	}
	t.Run("conv2d_pad1", func(t *testing.T) {
		p, err := newParams(ImageLayer{In: 4, Out: 6, Kernel: Both(3), Stride: Both(1), Padding: Both(1), Weights: read("conv2d_weight")}, 2)
		if err != nil {
			t.Fatal(err)
		}
		s := kernels.Shape{inputs: 4, channels: 6, kernel: 3, stride: 1, height: 33, width: 20}
		kerneltest.Against(t, &Conv2D, p, s, [][]float32{read("conv2d_x")}, kerneltest.ReadArchived[float64](t, archive, "conv2d_pad1"), 1e-6)
	})
}

func TestReferencesAgree(t *testing.T) {
	for _, test := range []struct {
		dimensions, height, width      int
		in, out, kernel, stride, extra int // padding
	}{
		{1, 1, 90, 3, 4, 5, 2, 1}, {1, 1, 40000, 9, 2, 1, 1, 0}, {2, 9, 14, 3, 5, 3, 2, 2}, {2, 400, 90, 2, 3, 4, 1, 3}, {2, 2, 3, 1, 1, 5, 4, 3},
	} {
		s := kernels.Shape{inputs: test.in, channels: test.out, kernel: test.kernel, stride: test.stride, length: test.width}
		if test.dimensions == 2 {
			s[height], s[width] = test.height, test.width
		}
		l := measured(s, test.dimensions)
		l.Padding.Width = test.extra
		if test.dimensions == 2 {
			l.Padding.Height = test.extra
		}
		if test.in%3 == 0 && test.out%2 == 0 {
			l.In, l.Groups, l.Batch, l.Dilation = 2*test.in, 2, 2, Both(2)
		}
		p := noise(l, test.dimensions)
		g := p.geometry(test.height, test.width)
		x := make([]float32, p.Batch*p.In*g.height*g.width)
		kernels.Noise(x, 1)
		want := plainReference(&p, g, x)
		for i, got := range productReference(&p, g, x) {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Fatalf("%+v: value %d is %v, want %v", test, i, got, want[i])
			}
		}
	}
}

// A NaN, an infinite weight, and the zeros of the padding that it meets. The values of x are 1, so no sum becomes NaN but for
// the padding.
func TestSpecials(t *testing.T) {
	inf := float32(math.Inf(1))
	l := Layer{In: 2, Out: 3, Kernel: 3, Stride: 1, Padding: 1, Weights: make([]float32, 18), Bias: []float32{1, 2, inf}}
	l.Weights[0] = inf                   // channel 0 meets padding at the first position
	l.Weights[6+4] = float32(math.NaN()) // channel 1 is NaN
	l.Weights[12+3] = -float32(math.SmallestNonzeroFloat32)
	p, err := newParams(l.images(), 1)
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	s := kernels.Shape{inputs: 2, channels: 3, kernel: 3, stride: 1, length: n}
	x := slices.Repeat([]float32{1}, 2*n)
	for i, want := range plainReference(&p, p.at(s), x) {
		isNaN, isInf := i == 0 || i/n == 1, i > 0 && i/n != 1
		if math.IsNaN(want) != isNaN || math.IsInf(want, 1) != isInf {
			t.Errorf("the reference's value %d is %v", i, want)
		}
	}
	for name, plan := range kerneltest.Plans(t, &Conv1D, p) {
		y := make([]float32, 3*n)
		if err := plan.Run(s, kernels.Args{y, x}); err != nil {
			t.Fatal(err)
		}
		for i, want := range plainReference(&p, p.at(s), x) {
			if got := float64(y[i]); math.IsNaN(got) != math.IsNaN(want) || math.IsInf(got, 1) != math.IsInf(want, 1) {
				t.Errorf("%s: value %d is %v, want %v", name, i, got, want)
			}
		}
	}
}

// Libraries multiply in several blocks, and at lengths and strides of which the last block is short.
func TestBlocks(t *testing.T) {
	b := kerneltest.Backends(t)
	for _, i := range Conv1D.CaseOf(b, Conv1D.Lines[0]).Implementations {
		if i.Processor == kernels.CPU && i.Missing() == nil {
			kerneltest.Shapes(t, &Conv1D, b, i.Name, line1D(64, 3, 8, 2).At(2500))
			kerneltest.Shapes(t, &Conv2D, b, i.Name, line2D(64, 3, 3, 1, 11).At(101))
		}
	}
}

func TestArrange(t *testing.T) {
	params := func(kernel, stride, padding int) *Params {
		l := ImageLayer{In: 1, Out: 1, Groups: 1, Batch: 1, Kernel: Both(kernel), Stride: Both(stride), Padding: Both(padding), Dilation: Both(1)}
		return &Params{ImageLayer: l, dimensions: 2}
	}
	var a arranged
	a.arrange(params(2, 3, 2).geometry(1, 5), false, []float32{1, 2, 3, 4, 5}, nil)
	// The padded row is 0 0 1 2 3 4 5 0 0. No weight reaches its third value and those that are a stride apart from it.
	row := []float32{0, 2, 5, 0, 3, 0}
	want := slices.Concat(make([]float32, 12), row, make([]float32, 12))
	if values := a.values[:len(want)]; !slices.Equal(values, want) {
		t.Errorf("arranged: %v, want %v", values, want)
	}
	a.arrange(params(2, 3, 2).geometry(1, 5), true, []float32{1, 2, 3, 4, 5}, nil)
	want = slices.Concat(make([]float32, 18), []float32{0, 0, 1, 2, 3, 4, 5, 0, 0}, make([]float32, 18))
	if values := a.values[:len(want)]; !slices.Equal(values, want) {
		t.Errorf("arranged: %v, want a padded row in its order, %v", values, want)
	}
	x := []float32{1, 2, 3}
	for stride := 1; stride < 4; stride++ {
		narrow := stride > 1
		if a.arrange(params(1, stride, 0).geometry(1, 3), narrow, x, nil); &a.values[0] != &x[0] {
			t.Errorf("x was copied without need with a stride of %d", stride)
		}
	}
	for _, test := range []struct {
		to, first, stride int
		want              []float32
	}{
		{3, 0, 1, []float32{1, 2, 3}}, {3, -1, 1, []float32{0, 1, 2}}, {3, 2, 1, []float32{3, 0, 0}}, {2, -5, 1, []float32{0, 0}},
		{2, 5, 1, []float32{0, 0}}, {4, -3, 2, []float32{0, 0, 2, 0}}, {2, -9, 2, []float32{0, 0}}, {2, 0, 2, []float32{1, 3}},
	} {
		to := slices.Repeat([]float32{9}, test.to)
		if scatter(to, x, test.first, test.stride); !slices.Equal(to, test.want) {
			t.Errorf("from %d in steps of %d: %v, want %v", test.first, test.stride, to, test.want)
		}
	}
}

// A call has the same bits with any number of workers.
func TestParallelIsSerial(t *testing.T) {
	s := line2D(9, 20, 3, 2, 40).At(300)
	var want []float32
	for _, workers := range []int{1, 3} {
		b := &kernels.Backends{Pool: pool.New(workers)}
		for _, name := range []string{"go", "go-parallel"} {
			call, err := Conv2D.Problem(b, s, kernels.Caller, kernels.Input{}).Bind(name)
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
		b.Pool.Close()
	}
}

func TestPlan1D(t *testing.T) {
	weights, bias := []float32{1, 2, 3, 10, 20, 30}, []float32{0.5, -0.5}
	plan, err := New1D(nil, Layer{In: 1, Out: 2, Kernel: 3, Stride: 2, Padding: 1, Weights: weights, Bias: bias})
	if err != nil {
		t.Fatal(err)
	}
	clear(weights) // the plan has copies
	clear(bias)
	x, y := []float32{1, 2, 3, 4}, make([]float32, 4)
	if plan.Outputs(4) != 2 {
		t.Fatalf("%d outputs of 4 values, want 2", plan.Outputs(4))
	}
	if err := plan.Run(y, x); err != nil {
		t.Fatal(err)
	}
	if want := []float32{8.5, 20.5, 79.5, 199.5}; !slices.Equal(y, want) {
		t.Errorf("y = %v, want %v", y, want)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Run(y, x) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	if err := plan.Run(nil, nil); err != nil {
		t.Errorf("no values: %v", err)
	}
	wide, err := New1D(nil, Layer{In: 2, Out: 1, Kernel: 5, Stride: 1, Padding: 1, Weights: make([]float32, 10)})
	if err != nil {
		t.Fatal(err)
	}
	if err := wide.Run(nil, make([]float32, 4)); !errors.Is(err, ErrTooSmall) || err.Error() !=
		"convlayer: Kernel is 5, and the input has 2 values: the kernel is larger than the padded input" {
		t.Errorf("a kernel of 5 in 2 values with a padding of 1: %v", err)
	}
	if err := wide.Run(make([]float32, 1), make([]float32, 6)); err != nil {
		t.Errorf("a kernel of 5 in 3 values with a padding of 1: %v", err)
	}
	checkPanics(t, map[string]func(){
		"convlayer: x has 5 values, want a multiple of batch×in = 1×2": func() { wide.Run(nil, make([]float32, 5)) },
		"convlayer: y has 3 values, want batch×out×outputs = 1×2×2":    func() { plan.Run(y[:3], x) },
	})
}

func TestPlan2D(t *testing.T) {
	layer := ImageLayer{In: 1, Out: 1, Kernel: Both(2), Stride: Both(1), Weights: []float32{1, 10, 100, 1000}}
	plan, err := New2D(nil, layer)
	if err != nil {
		t.Fatal(err)
	}
	x, y := []float32{1, 2, 3, 4, 5, 6}, make([]float32, 2)
	if h, w := plan.Outputs(2, 3); h != 1 || w != 2 {
		t.Fatalf("%d×%d outputs of 2×3 values, want 1×2", h, w)
	}
	if err := plan.Run(y, x, 2, 3); err != nil {
		t.Fatal(err)
	}
	if want := []float32{5421, 6532}; !slices.Equal(y, want) {
		t.Errorf("y = %v, want %v", y, want)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Run(y, x, 2, 3) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	if err := plan.Run(nil, x[:3], 1, 3); !errors.Is(err, ErrTooSmall) {
		t.Errorf("a kernel of 2×2 in 1×3 values: %v", err)
	}
	if h, w := plan.Outputs(1, 3); h != 0 || w != 0 {
		t.Errorf("%d×%d outputs of 1×3 values, want none", h, w)
	}
	if e := plan.Explain(2, 3); e.Case != "conv2d-layer/in=1,out=1,kernel=2,stride=1,height=2" || e.Size != 3 {
		t.Errorf("the case of 2×3 values is %s at %d", e.Case, e.Size)
	}
	checkPanics(t, map[string]func(){
		"convlayer: height=0, width=3: want at least 1 of each":           func() { plan.Run(nil, nil, 0, 3) },
		"convlayer: x has 6 values, want batch×in×height×width = 1×1×3×3": func() { plan.Run(y, x, 3, 3) },
		"convlayer: y has 1 values, want batch×out×outputs = 1×1×2×1":     func() { plan.Run(y[:1], x, 3, 2) },
		"convlayer: x has 5 values, want batch×in×height×width = 1×1×2×3": func() { Reference2D(layer, x[:5], 2, 3) },
	})
}

// The number of outputs is right, or at its limit, where a sum or a product with it overflows.
func TestOutputsAtTheLimit(t *testing.T) {
	const most, padding = math.MaxInt, mostPadding
	for _, test := range []struct{ length, kernel, stride, padding, dilation, want int }{
		{most, 1, 1, 0, 1, most}, {most, 1, 1, padding, 1, most}, {most, 1, 2, padding, 1, most/2 + padding + 1}, {most, 3, 1, 1, 1, most},
		{most, 3, 1, 0, 1, most - 2}, {5, 1 << 30, 1, padding, 1 << 30, 0}, {0, 1, 1, 3, 1, 0}, {-5, 1, 1, 3, 1, 0},
	} {
		if got := outputs(test.length, test.kernel, test.stride, test.padding, test.dilation); got != test.want {
			t.Errorf("%+v: %d outputs", test, got)
		}
	}
	plan, err := New2D(nil, ImageLayer{In: 1, Out: 1, Kernel: Both(1), Stride: Both(1), Weights: []float32{1}})
	if err != nil {
		t.Fatal(err)
	}
	if h, w := plan.Outputs(1<<32, 1<<32); h != 1<<32 || w != 1<<32 {
		t.Errorf("%d×%d outputs, want as many as values", h, w)
	}
}

func checkPanics(t *testing.T, calls map[string]func()) {
	t.Helper()
	for want, call := range calls {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			call()
		}()
	}
}

// square2D returns the layer of images with the same numbers in both directions.
func square2D(l Layer) ImageLayer {
	return ImageLayer{
		In: l.In, Out: l.Out, Groups: l.Groups, Batch: l.Batch, Weights: l.Weights, Bias: l.Bias,
		Kernel: Both(l.Kernel), Stride: Both(l.Stride), Padding: Both(l.Padding), Dilation: Both(l.Dilation),
	}
}

func TestNewErrors(t *testing.T) {
	x := make([]float32, 64)
	for _, test := range []struct {
		name string
		l    Layer
		want string
	}{
		{"no inputs", Layer{Out: 1, Kernel: 1, Stride: 1}, "convlayer: In is 0: want 1 to 2147483647"},
		{"no outputs", Layer{In: 1, Kernel: 1, Stride: 1}, "convlayer: Out is 0"},
		{"no kernel", Layer{In: 1, Out: 1, Stride: 1}, "convlayer: Kernel is 0"},
		{"no stride", Layer{In: 1, Out: 1, Kernel: 1}, "convlayer: Stride is 0"},
		{"negative padding", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Padding: -1}, "convlayer: Padding is -1: want 0 to 67108864"},
		{"huge padding", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Padding: 1<<26 + 1}, "convlayer: Padding is 67108865"},
		{"huge layer", Layer{In: 1 << 30, Out: 1 << 30, Kernel: 1 << 30, Stride: 1}, "convlayer: 0 weights, want"},
		{"long bias", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Weights: x[:1], Bias: x[:2]}, "convlayer: 2 biases, want out = 1"},
		{"groups of inputs", Layer{In: 3, Out: 4, Groups: 2, Kernel: 1, Stride: 1}, "convlayer: Groups is 2: want a divisor of In and Out, 3 and 4"},
		{"groups of outputs", Layer{In: 4, Out: 3, Groups: 2, Kernel: 1, Stride: 1}, "convlayer: Groups is 2: want a divisor"},
		{"no groups", Layer{In: 4, Out: 4, Groups: -1, Kernel: 1, Stride: 1}, "convlayer: Groups is -1: want 1 to 2147483647"},
		{"more groups", Layer{In: 2, Out: 2, Groups: 4, Kernel: 1, Stride: 1}, "convlayer: Groups is 4: want a divisor"},
		{"no batch", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Batch: -1}, "convlayer: Batch is -1: want 1 to 1048576"},
		{"huge batch", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Batch: 1<<20 + 1}, "convlayer: Batch is 1048577"},
		{"backward dilation", Layer{In: 1, Out: 1, Kernel: 1, Stride: 1, Dilation: -1}, "convlayer: Dilation is -1: want 1 to 2147483647"},
		{"weights of one group", Layer{In: 2, Out: 2, Groups: 2, Kernel: 4, Stride: 1, Weights: x[:16]}, "convlayer: 16 weights, want out×(in/groups)×kernel = 8"},
		{"short weights", Layer{In: 2, Out: 3, Kernel: 4, Stride: 1, Weights: x[:23]}, "convlayer: 23 weights, want out×in×kernel"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New1D(nil, test.l)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if _, err := New2D(nil, square2D(test.l)); err == nil {
				t.Error("the layer of images took it")
			}
		})
	}
}

func TestPrograms(t *testing.T) {
	kerneltest.Programs(t, &Conv1D, Program1D, 50)
	kerneltest.Programs(t, &Conv2D, Program2D, 20)
}

// A drawn shape has outputs, and no stride beyond its kernel.
func TestDraw(t *testing.T) {
	for _, at := range [][]float64{{0, 0, 0, 0, 0, 0}, {0.9, 0.9, 0, 0.99, 0.99, 0}, {0.5, 0.5, 0.99, 0.99, 0.5, 0.5}} {
		for _, dimensions := range []int{1, 2} {
			op := map[int]*kernels.Op[Params]{1: &Conv1D, 2: &Conv2D}[dimensions]
			s := op.Draw(at)
			p := op.Params(s)
			if g := p.at(s); g.positions() < 1 || s[stride] > s[kernel] {
				t.Errorf("%s at %v: %v", op.Name, at, s)
			}
		}
	}
}

func BenchmarkConv1D(b *testing.B) {
	for _, l := range [][4]int{{32, 32, 3, 1}, {64, 64, 3, 1}, {48, 96, 8, 4}, {128, 256, 3, 1}} {
		b.Run(fmt.Sprintf("in=%d/out=%d/kernel=%d/stride=%d", l[0], l[1], l[2], l[3]), func(b *testing.B) {
			kerneltest.Benchmark(b, &Conv1D, line1D(l[0], l[1], l[2], l[3]), 64, 1024, 16384)
		})
	}
}

func BenchmarkConv2D(b *testing.B) {
	for _, l := range [][4]int{{32, 32, 3, 1}, {64, 64, 3, 2}, {128, 256, 3, 1}} {
		b.Run(fmt.Sprintf("in=%d/out=%d/kernel=%d/stride=%d", l[0], l[1], l[2], l[3]), func(b *testing.B) {
			kerneltest.Benchmark(b, &Conv2D, line2D(l[0], l[1], l[2], l[3], 32), 16, 128)
		})
	}
}

// A call that panicked leaves a copy behind, which a later call does not take for its own.
func TestCopiesOfAnotherCall(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	l := ImageLayer{In: 4, Out: 2, Groups: 1, Batch: 1, Kernel: Pair{1, 5}, Stride: Both(1), Padding: Pair{0, 2}, Weights: make([]float32, 40)}
	kernels.Noise(l.Weights, 1)
	p, err := newParams(l, 1)
	if err != nil {
		t.Fatal(err)
	}
	parallel := newOwnParallel(p, workers).(*own)
	parallel.copies.x = make([]float32, 4<<17)
	var s kernels.Shape
	s[length] = 1 << 17 // too long for copies
	x := make([]float32, 4*s[length])
	kernels.Noise(x, 2)
	var got [2][]float32
	for i, o := range []kernels.Runner{newOwn(p), parallel} {
		got[i] = make([]float32, 2*s[length])
		if err := o.Run(s, &kernels.Args{got[i], x}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got[0], got[1]) {
		t.Error("another output than on one core")
	}
}
