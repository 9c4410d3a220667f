package convlayer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/matmul/gemm"
	"crossover/pool"
)

// with returns an operation whose layers are changed.
func with(op kernels.Op[Params], dimensions int, change func(l *ImageLayer)) *kernels.Op[Params] {
	op.Params = func(s kernels.Shape) Params {
		l := measured(s, dimensions)
		change(&l)
		return noise(l, dimensions)
	}
	return &op
}

// variants are layers with parameters that no axis has. The shapes are of few values, for the emulator.
var variants = []struct {
	name       string
	dimensions int
	shape      kernels.Shape
	change     func(l *ImageLayer)
}{
	{"batch", 1, kernels.Shape{3, 5, 3, 1, 40}, func(l *ImageLayer) { l.Batch = 3 }},
	{"batch of images", 2, kernels.Shape{3, 5, 3, 2, 7, 9}, func(l *ImageLayer) { l.Batch = 4 }},
	{"groups", 1, kernels.Shape{6, 9, 3, 2, 50}, func(l *ImageLayer) { l.Groups = 3 }},
	{"wide groups", 1, kernels.Shape{4, 70, 1, 1, 35}, func(l *ImageLayer) { l.Groups, l.Batch = 2, 2 }},
	{"dilation", 1, kernels.Shape{2, 3, 4, 1, 37}, func(l *ImageLayer) { l.Dilation, l.Padding = Pair{1, 3}, Pair{0, 5} }},
	{"dilation and stride", 1, kernels.Shape{2, 3, 5, 4, 61}, func(l *ImageLayer) { l.Dilation, l.Padding = Pair{1, 6}, Pair{0, 1} }},
	{"dilation across the image", 2, kernels.Shape{2, 3, 3, 1, 9, 11}, func(l *ImageLayer) { l.Dilation, l.Padding = Pair{4, 5}, Pair{} }},
	{"dilation of many terms", 2, kernels.Shape{9, 3, 3, 1, 8, 7}, func(l *ImageLayer) { l.Dilation, l.Padding = Pair{3, 2}, Pair{1, 2} }},
	{"padding apart", 2, kernels.Shape{2, 3, 3, 1, 6, 8}, func(l *ImageLayer) { l.Padding = Pair{3, 0} }},
	{"all apart", 2, kernels.Shape{4, 6, 0, 0, 10, 21}, func(l *ImageLayer) {
		l.Kernel, l.Stride, l.Padding, l.Dilation = Pair{2, 5}, Pair{3, 2}, Pair{0, 4}, Pair{2, 3}
		l.Groups, l.Batch = 2, 3
	}},
	{"depthwise", 1, kernels.Shape{7, 7, 5, 1, 53}, func(l *ImageLayer) { l.Groups, l.Batch = 7, 2 }},
	{"depthwise of even strides", 1, kernels.Shape{4, 4, 7, 4, 90}, func(l *ImageLayer) { l.Groups, l.Dilation = 4, Pair{1, 6} }},
	{"depthwise of odd strides", 1, kernels.Shape{3, 3, 8, 3, 77}, func(l *ImageLayer) { l.Groups, l.Dilation = 3, Pair{1, 2} }},
	{"depthwise without padding", 1, kernels.Shape{5, 5, 3, 1, 21}, func(l *ImageLayer) { l.Groups, l.Padding = 5, Pair{} }},
	{"depthwise images", 2, kernels.Shape{5, 5, 3, 1, 6, 19}, func(l *ImageLayer) { l.Groups, l.Padding, l.Batch = 5, Pair{2, 1}, 2 }},
	{"depthwise images of a dilation", 2, kernels.Shape{4, 4, 3, 1, 9, 19}, func(l *ImageLayer) { l.Groups, l.Dilation = 4, Pair{3, 2} }},
	{"depthwise of two", 2, kernels.Shape{3, 6, 3, 2, 7, 9}, func(l *ImageLayer) { l.Groups = 3 }},
	{"one output of two", 1, kernels.Shape{6, 3, 3, 1, 40}, func(l *ImageLayer) { l.Groups = 3 }},
	{"one value", 1, kernels.Shape{2, 2, 1, 1, 1}, func(l *ImageLayer) { l.Groups, l.Batch = 2, 3 }},
}

// declared returns the operation of so many dimensions.
func declared(dimensions int) kernels.Op[Params] {
	return map[int]kernels.Op[Params]{1: Conv1D, 2: Conv2D}[dimensions]
}

// The reference is compared with layers of one group, one input, a stride of 1, no padding and no dilation: PyTorch tests those.
// Weights with zeros between them stand for a dilation, and weights of zero for the channels of other groups.
func TestReferenceOfParameters(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			p := with(declared(v.dimensions), v.dimensions, v.change).Params(v.shape)
			g := p.at(v.shape)
			x := make([]float32, p.Batch*p.In*g.height*g.width)
			kernels.Noise(x, 1)
			want := expanded(t, &p, g, x)
			for name, of := range map[string][]float64{"the definition": plainReference(&p, g, x), "products": productReference(&p, g, x)} {
				if len(of) != len(want) {
					t.Fatalf("%s: %d values, want %d", name, len(of), len(want))
				}
				for i, got := range of {
					if !(math.Abs(got-want[i]) <= 1e-12) {
						t.Fatalf("%s: value %d is %v, want %v", name, i, got, want[i])
					}
				}
			}
		})
	}
}

// expanded computes a layer by one without any parameters.
func expanded(t *testing.T, p *Params, g geometry, x []float32) (y []float64) {
	t.Helper()
	high, wide := (p.Kernel.Height-1)*p.Dilation.Height+1, (p.Kernel.Width-1)*p.Dilation.Width+1
	rows, columns := g.height+2*p.Padding.Height, g.width+2*p.Padding.Width
	plain := ImageLayer{
		In: p.In, Out: p.Out, Kernel: Pair{high, wide}, Stride: Both(1), Bias: p.Bias, Weights: make([]float32, p.Out*p.In*high*wide),
	}
	weights := p.Weights
	for o := range p.Out {
		group := o / (p.Out / p.Groups)
		for c := range p.In / p.Groups {
			for k := range p.Kernel.Height {
				for l := range p.Kernel.Width {
					at := ((o*p.In+group*(p.In/p.Groups)+c)*high+k*p.Dilation.Height)*wide + l*p.Dilation.Width
					plain.Weights[at], weights = weights[0], weights[1:]
				}
			}
		}
	}
	for range p.Batch {
		padded := make([]float32, p.In*rows*columns)
		for c := range p.In {
			for i := range g.height {
				copy(padded[(c*rows+i+p.Padding.Height)*columns+p.Padding.Width:], x[(c*g.height+i)*g.width:][:g.width])
			}
		}
		x = x[p.In*g.height*g.width:]
		of := Reference2D(plain, padded, rows, columns)
		down, across := rows-high+1, columns-wide+1
		for o := range p.Out {
			for i := 0; i < down; i += p.Stride.Height {
				for j := 0; j < across; j += p.Stride.Width {
					y = append(y, of[(o*down+i)*across+j])
				}
			}
		}
	}
	return y
}

// Every implementation, on the processor, by our kernel text and by the vendor's library.
func TestParameters(t *testing.T) {
	plain, vendor := kerneltest.Backends(t), kerneltest.WithGEMM(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			op := with(declared(v.dimensions), v.dimensions, v.change)
			for _, i := range op.CaseOf(plain, op.Lines[0]).Implementations {
				if i.Missing() == nil {
					kerneltest.Shapes(t, op, plain, i.Name, v.shape)
				}
			}
			kerneltest.Shapes(t, op, vendor, "mps", v.shape)
		})
	}
}

// Strange values, memory and lengths of layers with all parameters. Other channels than those of the lines may have fewer groups.
func TestRunWithParameters(t *testing.T) {
	grouped := with(Conv1D, 1, func(l *ImageLayer) { l.Groups, l.Batch, l.Dilation = gcd(3, gcd(l.In, l.Out)), 2, Pair{1, 2} })
	grouped.Lines = []kernels.Line{line1D(6, 9, 3, 2)}
	kerneltest.Run(t, grouped, kerneltest.Options{Sizes: []int{60}, Emulated: 2 << 10})
	depthwise := with(Conv2D, 2, func(l *ImageLayer) { l.Groups, l.Batch = gcd(l.In, l.Out), 2; l.Padding.Height++ })
	depthwise.Lines = []kernels.Line{line2D(3, 3, 3, 1, 5)}
	kerneltest.Run(t, depthwise, kerneltest.Options{Sizes: []int{18}, Emulated: 2 << 10})
}

// Large parts, which several workers compute at the same time or one after the other, have the bits of a call by one worker. A
// batch has the bits of its inputs alone, and a group those of a layer of its own.
func TestPartsAlone(t *testing.T) {
	b := kerneltest.Backends(t)
	b.Pool = pool.New(3)
	defer b.Pool.Close()
	for _, l := range []Layer{
		{In: 6, Out: 4, Kernel: 3, Stride: 1, Padding: 1, Batch: 3},
		{In: 8, Out: 6, Kernel: 4, Stride: 2, Dilation: 2, Groups: 2, Batch: 2},
		{In: 20, Out: 20, Kernel: 5, Stride: 1, Padding: 2, Groups: 20},
		{In: 4, Out: 6, Kernel: 5, Stride: 1, Padding: 2, Groups: 2},
		// Few outputs, at first of values that end with those that the last one reads.
		{In: 4, Out: 128, Kernel: 9, Stride: 1, Groups: 2, Batch: 2},
		{In: 40, Out: 128, Kernel: 3, Stride: 1, Padding: 1, Groups: 2, Batch: 4},
	} {
		n := 2100
		if l.Out == 128 {
			n = 18
		}
		p := noise(l.images(), 1)
		s := kernels.Shape{inputs: l.In, channels: l.Out, kernel: l.Kernel, stride: l.Stride, length: n}
		g := p.at(s)
		x := make([]float32, g.parts()*g.in*n)
		kernels.Noise(x, 4)
		var serial []float32
		for _, i := range Conv1D.CaseOf(b, Conv1D.Lines[0]).Implementations {
			if i.Missing() != nil || i.Name == kerneltest.GPUName {
				continue
			}
			y := runBy(t, b, i.Name, p, s, x)
			if i.Name == "go" {
				serial = y
			} else if i.Name == "go-parallel" && !slices.Equal(y, serial) {
				t.Errorf("%+v: several workers compute other bits", g)
			}
			for part := range g.parts() {
				alone := Layer{In: g.in, Out: g.out, Kernel: l.Kernel, Stride: l.Stride, Padding: l.Padding, Dilation: l.Dilation,
					Weights: p.weightsOf(part % g.groups), Bias: p.biasesOf(part % g.groups)}
				of, err := newParams(alone.images(), 1)
				if err != nil {
					t.Fatal(err)
				}
				got, want := g.written(y, part), runBy(t, b, i.Name, of, s, g.read(x, part))
				for j := range got {
					// A group of one output is not multiplied as the layer alone is.
					if off := math.Abs(float64(got[j] - want[j])); off > 0 && (!g.slides() || off > 1e-5) {
						t.Fatalf("%s, %+v: value %d of part %d is %v, and %v alone", i.Name, g, j, part, got[j], want[j])
					}
				}
			}
		}
	}
}

// Layers of few outputs slide where a row of outputs is long enough. Some of the rows have several strips.
func TestSliding(t *testing.T) {
	b := kerneltest.Backends(t)
	b.Pool = pool.New(3)
	defer b.Pool.Close()
	dilated := func(l *ImageLayer) { l.Dilation = Pair{1, 2} }
	for _, v := range []struct {
		op    *kernels.Op[Params]
		shape kernels.Shape
	}{
		{&Conv1D, line1D(3, 2, 5, 1).At(2*stripColumns + 50)},
		{&Conv1D, line1D(1, 1, 9, 1).At(5*stripColumns + 16)},
		{&Conv1D, line1D(2, 4, 9, 2).At(3000)},
		{&Conv1D, line1D(5, 3, 8, 4).At(400)},
		{with(Conv1D, 1, dilated), line1D(5, 3, 6, 4).At(400)},
		{with(Conv1D, 1, dilated), line1D(4, 4, 3, 1).At(2000)},
		{&Conv2D, line2D(2, 3, 3, 1, 40).At(70)},
		{&Conv2D, line2D(1, 2, 3, 2, 7).At(2*stripColumns + 300)},
		{&Conv2D, line2D(7, 4, 5, 1, 6).At(45)},
		{&Conv1D, line1D(3, gemm.SliderRows(), 5, 1).At(2*stripColumns + 50)},
		{&Conv2D, line2D(2, gemm.SliderRows()-1, 3, 2, 9).At(500)},
	} {
		for _, name := range []string{"go", "go-parallel"} {
			o := newOwnParallel(v.op.Params(v.shape), b.Pool).(*own)
			if o.geometry = o.at(v.shape); !o.sliding() {
				t.Errorf("%v does not slide", v.shape)
			}
			kerneltest.Shapes(t, v.op, b, name, v.shape)
		}
	}
	for _, s := range []kernels.Shape{
		line1D(3, gemm.SliderRows()+1, 5, 1).At(2000), line1D(3, 4, 5, 1).At(38), line1D(3, 4, 1, 1).At(191), line1D(3, 6, 1, 1).At(287),
	} {
		o := newOwn(Conv1D.Params(s)).(*own)
		if o.geometry = o.at(s); o.sliding() {
			t.Errorf("%v slides", s)
		}
	}
}

func runBy(t *testing.T, b *kernels.Backends, name string, p Params, s kernels.Shape, x []float32) []float32 {
	t.Helper()
	plan, err := kernels.NewPlanOf(b, &Conv1D, p, name)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	y := make([]float32, Conv1D.IO(p, s)[0].Len())
	if err := plan.Run(s, kernels.Args{y, x}); err != nil {
		t.Fatal(err)
	}
	return y
}

// A NaN stays in its input and its group, and an infinite weight makes a NaN only where it meets padding.
func TestSpecialsOfParts(t *testing.T) {
	const n = 40
	l := Layer{In: 2, Out: 2, Kernel: 3, Stride: 1, Padding: 2, Dilation: 2, Groups: 2, Batch: 2, Weights: []float32{float32(math.Inf(1)), 1, 1, 1, 1, 1}}
	p, err := newParams(l.images(), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := kernels.Shape{inputs: 2, channels: 2, kernel: 3, stride: 1, length: n}
	x := slices.Repeat([]float32{1}, 4*n)
	x[3*n+7] = float32(math.NaN()) // of the second input's second channel
	nan := map[int]bool{0: true, 1: true, 2 * n: true, 2*n + 1: true, 3*n + 5: true, 3*n + 7: true, 3*n + 9: true}
	for name, plan := range kerneltest.Plans(t, &Conv1D, p) {
		y := make([]float32, 4*n)
		if err := plan.Run(s, kernels.Args{y, x}); err != nil {
			t.Fatal(err)
		}
		for i, v := range y {
			if isNaN := v != v; isNaN != nan[i] || math.IsInf(float64(v), 1) != (i/n%2 == 0 && !nan[i]) {
				t.Errorf("%s: value %d is %v", name, i, v)
			}
		}
	}
}

func TestPlansOfParts(t *testing.T) {
	depthwise := Layer{In: 2, Out: 2, Groups: 2, Kernel: 2, Stride: 1, Dilation: 2, Batch: 2, Weights: []float32{1, 10, 1, 100}}
	plan, err := New1D(nil, depthwise)
	if err != nil {
		t.Fatal(err)
	}
	x, y := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, make([]float32, 4)
	if plan.Outputs(3) != 1 {
		t.Fatalf("%d outputs of 3 values, want 1", plan.Outputs(3))
	}
	if err := plan.Run(y, x); err != nil {
		t.Fatal(err)
	}
	if want := []float32{31, 604, 97, 301}; !slices.Equal(y, want) {
		t.Errorf("y = %v, want %v", y, want)
	}
	if err := plan.Run(nil, x[:8]); err == nil || err.Error() !=
		"convlayer: Kernel is 2 with a dilation of 2, and the input has 2 values: the kernel is larger than the padded input" {
		t.Errorf("2 values: %v", err)
	}
	checkPanics(t, map[string]func(){
		"convlayer: x has 10 values, want a multiple of batch×in = 2×2": func() { plan.Run(y, x[:10]) },
		"convlayer: y has 2 values, want batch×out×outputs = 2×2×1":     func() { plan.Run(y[:2], x) },
	})
	images, err := New2D(nil, ImageLayer{
		In: 1, Out: 1, Kernel: Pair{1, 2}, Stride: Pair{2, 1}, Padding: Pair{1, 0}, Batch: 2, Weights: []float32{1, 10}, Bias: []float32{0.5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if h, w := images.Outputs(1, 3); h != 2 || w != 2 {
		t.Fatalf("%d×%d outputs of 1×3 values, want 2×2", h, w)
	}
	y = make([]float32, 8)
	if err := images.Run(y, x[:6], 1, 3); err != nil {
		t.Fatal(err)
	}
	if want := []float32{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}; !slices.Equal(y, want) { // the rows of padding
		t.Errorf("y = %v, want %v", y, want)
	}
	if err := images.Run(nil, x[:4], 2, 1); err == nil || err.Error() !=
		"convlayer: Kernel is 1×2, and the input has 2×1 values: the kernel is larger than the padded input" {
		t.Errorf("2×1 values: %v", err)
	}
}

// The dispatcher is asked for a layer of one group and one input with as much work. A layer without parameters is asked for as it
// is, with any padding.
func TestAlike(t *testing.T) {
	for _, test := range []struct {
		l    ImageLayer
		want string
		size int
	}{
		{ImageLayer{In: 8, Out: 12, Kernel: Both(3), Stride: Both(2), Padding: Pair{1, 0}, Dilation: Both(2)}, "in=8,out=12,kernel=3,stride=2,height=10", 50},
		{ImageLayer{In: 8, Out: 12, Kernel: Both(3), Stride: Both(2), Groups: 4}, "in=2,out=3,kernel=3,stride=2,height=40", 50},
		{ImageLayer{In: 8, Out: 12, Kernel: Both(3), Stride: Both(2), Groups: 4, Batch: 3}, "in=2,out=3,kernel=3,stride=2,height=120", 50},
		{ImageLayer{In: 8, Out: 8, Kernel: Pair{3, 12}, Stride: Pair{1, 4}, Groups: 8}, "in=1,out=1,kernel=6,stride=2,height=80", 50},
		{ImageLayer{In: 1, Out: 1, Kernel: Pair{1, 2}, Stride: Pair{1, 1}, Batch: 1 << 20}, "in=1,out=1,kernel=1,stride=1,height=10485760", 50},
	} {
		test.l.Weights = make([]float32, test.l.Out*(test.l.In/max(1, test.l.Groups))*test.l.Kernel.Height*test.l.Kernel.Width)
		plan, err := New2D(nil, test.l)
		if err != nil {
			t.Fatal(err)
		}
		if e := plan.Explain(10, 50); e.Case != "conv2d-layer/"+test.want || e.Size != test.size {
			t.Errorf("%+v is judged by %s at %d, want %s", test.l, e.Case, e.Size, test.want)
		}
	}
	plan, err := New1D(nil, Layer{In: 6, Out: 6, Kernel: 3, Stride: 1, Groups: 6, Batch: 4, Weights: make([]float32, 18)})
	if err != nil {
		t.Fatal(err)
	}
	if e := plan.Explain(100); e.Case != "conv1d-layer/in=1,out=1,kernel=3,stride=1" || e.Size != 2400 {
		t.Errorf("a depthwise layer of 6 channels is judged by %s at %d", e.Case, e.Size)
	}
	if e := plan.Explain(math.MaxInt); e.Size != math.MaxInt32 {
		t.Errorf("an endless sequence is judged at %d", e.Size)
	}
	for _, v := range variants {
		p := with(declared(v.dimensions), v.dimensions, v.change).Params(v.shape)
		if v.name == "all apart" || p.Dilation != Both(1) {
			continue // the kernel is another one, or the padding of a sweep makes other outputs
		}
		g, op := p.at(v.shape), declared(v.dimensions)
		s := alike(p, v.shape)
		got, want := op.Work(s, "").Flops, 2*float64(g.parts()*g.out*g.terms()*g.positions())
		if ratio := got / want; ratio < 0.5 || ratio > 2 { // padding counts at the borders
			t.Errorf("%s: %v has %g times the operations of the layer", v.name, s, ratio)
		}
	}
}

func BenchmarkGroups(b *testing.B) {
	for _, v := range []struct {
		channels, groups, batch int
	}{{64, 1, 8}, {64, 4, 1}, {256, 256, 1}} {
		op := with(Conv1D, 1, func(l *ImageLayer) { l.Groups, l.Batch = v.groups, v.batch })
		b.Run(fmt.Sprintf("channels=%d/groups=%d/batch=%d", v.channels, v.groups, v.batch), func(b *testing.B) {
			kerneltest.Benchmark(b, op, line1D(v.channels, v.channels, 5, 1), 64, 1024, 16384)
		})
	}
}
