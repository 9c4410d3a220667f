package convlayer

import (
	"math"

	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
)

// The axes of the two operations. The last ones are those of x.
const (
	inputs = iota
	channels
	kernel
	stride
	length = 4 // of sequences
	height = 4 // of images
	width  = 5
)

// widths are numbers of channels that are common.
var widths = []int{16, 32, 48, 64, 96, 128, 256}

var (
	axes1D = []kernels.Axis{
		{Name: "in", Unit: "channels", Min: 1, Max: 512, Usual: widths},
		{Name: "out", Unit: "channels", Min: 1, Max: 512, Usual: widths},
		{Name: "kernel", Unit: "values", Min: 1, Max: 16, Usual: []int{3, 5, 7, 8}},
		{Name: "stride", Unit: "values", Min: 1, Max: 8, Usual: []int{1, 1, 2, 4}},
		{Name: "length", Unit: "values", Min: 16, Max: 64 << 10},
	}
	axes2D = []kernels.Axis{
		{Name: "in", Unit: "channels", Min: 1, Max: 256, Usual: widths},
		{Name: "out", Unit: "channels", Min: 1, Max: 256, Usual: widths},
		{Name: "kernel", Unit: "values", Min: 1, Max: 7, Usual: []int{3, 3, 5, 7}},
		{Name: "stride", Unit: "values", Min: 1, Max: 4, Usual: []int{1, 1, 2}},
		{Name: "height", Unit: "rows", Min: 4, Max: 256, Usual: []int{16, 32, 64, 80, 128}},
		{Name: "width", Unit: "columns", Min: 4, Max: 2048, Usual: []int{16, 32, 64, 128, 256, 1024}},
	}
)

// tolerance is the greatest relative error. Sums of so many terms as the largest layers have need it: see [matmul.Tolerance].
const tolerance = 5e-5

// Conv1D declares the layer of sequences.
var Conv1D = kernels.Declare(kernels.Op[Params]{
	Name: "conv1d-layer",
	Formula: "y[o,i] = b[o] + sum over c and k of w[o,c,k]·x[c,stride·i+k−p], x in×length, w out×in×kernel, " +
		"p = max(0, (kernel−stride)/2, (kernel−length)/2)",
	Source: "https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html",
	Axes:   axes1D,
	// The input, the output and the operations.
	Features: []surface.Feature{kernels.Power(1, 0, 0, 0, 1), kernels.Power(0, 1, 0, -1, 1), kernels.Power(1, 1, 1, -1, 1)},
	Lines: []kernels.Line{
		kernels.Along(axes1D, "length", params("in", 64, "out", 64, "kernel", 3, "stride", 1)...),
		kernels.Along(axes1D, "length", params("in", 48, "out", 96, "kernel", 8, "stride", 4)...),
	},
	Draw:      draw(axes1D),
	Params:    func(s kernels.Shape) Params { return noise(measured(s, 1), 1) },
	IO:        io,
	Fill:      fill,
	Reference: referenceOf,
	Tolerance: func(kernels.Shape) float64 { return tolerance },
	Work:      work(1),
	Alike:     alike,
	By:        implementations,
})

// Conv2D declares the layer of images.
var Conv2D = kernels.Declare(kernels.Op[Params]{
	Name: "conv2d-layer",
	Formula: "y[o,i,j] = b[o] + sum over c, k and l of w[o,c,k,l]·x[c,stride·i+k−p,stride·j+l−p], x in×height×width, " +
		"w out×in×kernel×kernel, p = max(0, (kernel−stride)/2, (kernel−height)/2, (kernel−width)/2)",
	Source: "https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html",
	Axes:   axes2D,
	// The input, the output and the operations.
	Features: []surface.Feature{kernels.Power(1, 0, 0, 0, 1, 1), kernels.Power(0, 1, 0, -2, 1, 1), kernels.Power(1, 1, 2, -2, 1, 1)},
	Lines: []kernels.Line{
		// The height is a number of mel bands, and the width a number of frames.
		kernels.Along(axes2D, "width", params("in", 32, "out", 32, "kernel", 3, "stride", 1, "height", 80)...),
	},
	Draw:      draw(axes2D),
	Params:    func(s kernels.Shape) Params { return noise(measured(s, 2), 2) },
	IO:        io,
	Fill:      fill,
	Reference: referenceOf,
	Tolerance: func(kernels.Shape) float64 { return tolerance },
	Work:      work(2),
	Alike:     alike,
	By:        implementations,
})

var implementations = []kernels.Makers[Params]{
	// Biases became a term, more layers slide, few outputs take fewer tiles, and then workers arrange the input for themselves.
	kernels.RevisedAt(9, divides, kernels.RevisedAt(8, fewOutputs,
		kernels.RevisedAt(6, fewOutputs, kernels.Revised(5, kernels.InGo(newOwn, newOwnParallel)), "go"), "go-parallel"), "go-parallel"),
	kernels.OpenBLAS(newBLAS),
	kernels.Framework("", newFramework),
	kernels.Revised(1, kernels.KernelText("", appendLayer)), // places are known when it is compiled
	kernels.VendorGEMM("", newVendor),
}

// divides reports whether a measured layer is worth dividing. One that slides is divided from fewer multiplications on.
func divides(s kernels.Shape) bool {
	dimensions := 1
	if s[width] > 0 {
		dimensions = 2
	}
	return gemm.Divides(work(dimensions)(s, "").Flops)
}

// fewOutputs reports whether a measured layer has so few outputs that their number decides what tiles are computed: see [gemm.Turned].
func fewOutputs(s kernels.Shape) bool {
	along := func(n, padding int) int { return outputs(n, s[kernel], s[stride], padding, 1) }
	if s[width] == 0 { // a sequence
		return along(s[length], measuredPadding(s, 1)) <= 96
	}
	padding := measuredPadding(s, 2)
	return along(s[height], padding)*along(s[width], padding) <= 96
}

// params returns parameters by name and value.
func params(list ...any) (all []kernels.Param) {
	for i := 0; i < len(list); i += 2 {
		all = append(all, kernels.Param{Name: list[i].(string), Value: list[i+1].(int)})
	}
	return all
}

// draw returns the shapes of a sweep. A stride that is longer than the kernel would skip values of x, so it is the kernel.
func draw(axes []kernels.Axis) func(at []float64) kernels.Shape {
	return func(at []float64) kernels.Shape {
		s := kernels.Spread(axes, at)
		s[stride] = min(s[stride], s[kernel])
		return s
	}
}

// measuredPadding returns the padding with which a shape is measured. It keeps an input of length n at n/stride outputs, as
// most networks do, and makes the kernel fit into every input.
func measuredPadding(s kernels.Shape, dimensions int) int {
	shortest := s[length]
	if dimensions == 2 {
		shortest = min(s[height], s[width])
	}
	return max(0, (s[kernel]-s[stride])/2, (s[kernel]-shortest+1)/2)
}

// measured returns the layer with which a shape is measured, without weights.
func measured(s kernels.Shape, dimensions int) ImageLayer {
	l := ImageLayer{
		In: s[inputs], Out: s[channels], Kernel: Both(s[kernel]), Stride: Both(s[stride]), Padding: Both(measuredPadding(s, dimensions)),
	}
	if dimensions == 1 {
		l.Kernel.Height, l.Stride.Height, l.Padding.Height = 1, 1, 0
	}
	return l
}

// noise returns the parameters of a layer with weights and biases of noise.
func noise(l ImageLayer, dimensions int) Params {
	l.Weights, l.Bias = make([]float32, l.Out*(l.In/max(1, l.Groups))*l.Kernel.Height*l.Kernel.Width), make([]float32, l.Out)
	kernels.Noise(l.Weights, 2)
	kernels.Noise(l.Bias, 3)
	p, err := newParams(l, dimensions)
	if err != nil {
		panic(err)
	}
	return p
}

// at returns where the values of a call at a shape are.
func (p *Params) at(s kernels.Shape) geometry {
	if p.dimensions == 1 {
		return p.geometry(1, s[length])
	}
	return p.geometry(s[height], s[width])
}

// alike returns the shape of one group and one input whose call has as much work. The parts lie one after the other in it.
func alike(p Params, s kernels.Shape) kernels.Shape {
	parts := p.Batch * p.Groups
	s[inputs], s[channels] = p.In/p.Groups, p.Out/p.Groups
	if p.dimensions == 1 {
		s[length] = times(s[length], parts)
		return s
	}
	s[kernel], s[stride] = square(p.Kernel), square(p.Stride)
	s[height] = times(s[height], parts)
	return s
}

// times returns a product of sizes, and a great number in place of a greater one.
func times(a, b int) int {
	if a > math.MaxInt32/b {
		return math.MaxInt32
	}
	return a * b
}

// square returns the side of a square with as many values, to the nearest whole number.
func square(p Pair) int {
	if p.Height == p.Width {
		return p.Height
	}
	return max(1, int(math.Round(math.Sqrt(float64(p.Height)*float64(p.Width)))))
}

func io(p Params, s kernels.Shape) []kernels.Tensor {
	g := p.at(s)
	y, x := []int{p.Batch, p.Out, g.outHeight, g.outWidth}, []int{p.Batch, p.In, g.height, g.width}
	if p.dimensions == 1 {
		y, x = []int{p.Batch, p.Out, g.outWidth}, []int{p.Batch, p.In, g.width}
	}
	return []kernels.Tensor{
		{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: y},
		{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: x},
	}
}

func fill(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) { kernels.Noise(a[1], 1) }

func work(dimensions int) func(s kernels.Shape, variant string) kernels.Work {
	return func(s kernels.Shape, _ string) kernels.Work {
		x, padding := float64(s[inputs])*float64(s[length]), measuredPadding(s, dimensions)
		weights := float64(s[inputs]) * float64(s[channels]) * float64(s[kernel])
		positions := float64(outputs(s[length], s[kernel], s[stride], padding, 1))
		if dimensions == 2 {
			x *= float64(s[width])
			weights *= float64(s[kernel])
			positions *= float64(outputs(s[width], s[kernel], s[stride], padding, 1))
		}
		out := float64(s[channels])
		return kernels.Work{
			Bytes:   4 * (x + weights + out + out*positions),
			Flops:   2 * weights * positions,
			Pieces:  positions,
			Threads: out * positions,
			Kind:    kernels.Product,
		}
	}
}

func referenceOf(p Params, s kernels.Shape, a *kernels.Args) []float64 {
	return reference(&p, p.at(s), a[1])
}
