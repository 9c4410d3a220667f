package convlayer

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

// Plan1D applies a layer to sequences by the implementation that is fastest at their length. Only one goroutine at a time may
// use a Plan1D.
type Plan1D struct {
	// Explain takes the length of a sequence.
	*kernels.SizedPlan[Params]

	params Params
}

// New1D returns the plan of a layer of sequences. The plan chooses by d, which may be nil: see [kernels.NewPlan]. New1D copies
// the weights and the bias. It fails if a field of the layer is out of its range, if Groups does not divide In and Out, or if a
// slice has another length than the layer's sizes ask for. Layers are measured with one group, a batch of 1, a dilation of 1 and
// a padding of (Kernel−Stride)/2. These times decide for all layers: see the package's comment.
func New1D(d *dispatch.Dispatcher, l Layer) (*Plan1D, error) {
	p, err := newParams(l.images(), 1)
	if err != nil {
		return nil, err
	}
	plan := kernels.NewPlan(d, &Conv1D, p).Along(length,
		kernels.Shape{inputs: p.In, channels: p.Out, kernel: p.Kernel.Width, stride: p.Stride.Width})
	return &Plan1D{plan, p}, nil
}

// Outputs returns the number of outputs of a channel for an input of so many values: ⌊(length + 2·Padding −
// Dilation·(Kernel−1) − 1)/Stride⌋ + 1. It is 0 if the kernel is larger than the padded input, or if length is below 1, and
// [math.MaxInt] if there are more than that.
func (p *Plan1D) Outputs(length int) int {
	kernels.Made(p.SizedPlan)
	g := p.params.geometry(1, length)
	return g.outWidth
}

// Run computes y from x. x is Batch×In×length and y is Batch×Out×Outputs(length), both row-major. y must not overlap x. The
// length of x decides on the implementation. Run allocates nothing at a length at which the implementation has run twice. An implementation
// on a GPU remembers only the last few lengths.
//
// Run panics if the length of x is not a multiple of Batch·In, or if y has another length than that. It does nothing if both slices
// are empty. It fails with an error that wraps [ErrTooSmall] if there are values but no output, and if every implementation
// fails.
func (p *Plan1D) Run(y, x []float32) error {
	kernels.Made(p.SizedPlan)
	rows := p.params.Batch * p.params.In
	n := len(x) / rows
	if len(x) != n*rows {
		panic(fmt.Sprintf("convlayer: x has %d values, want a multiple of batch×in = %d×%d", len(x), p.params.Batch, p.params.In))
	}
	g := p.params.geometry(1, n)
	if !g.holds(y) {
		panic(fmt.Sprintf("convlayer: y has %d values, want batch×out×outputs = %d×%d×%d", len(y), p.params.Batch, p.params.Out, g.outWidth))
	}
	if n > 0 && g.outWidth == 0 {
		return fmt.Errorf("convlayer: Kernel is %d%s, and the input has %d values: %w", p.params.Kernel.Width,
			dilated(p.params.Dilation.Width), n, ErrTooSmall)
	}
	return kernels.RunSized(p.SizedPlan, n, &kernels.Args{y, x})
}

// holds reports whether y has the length of a call's output.
func (g *geometry) holds(y []float32) bool {
	rows := g.parts() * g.out
	return len(y)%rows == 0 && len(y)/rows == g.positions() // a product with the positions might overflow
}

// dilated returns a dilation for an error, and nothing for 1.
func dilated(dilation int) string {
	if dilation == 1 {
		return ""
	}
	return fmt.Sprintf(" with a dilation of %d", dilation)
}

// Program1D is the [kernels.Program] of the layer of sequences.
var Program1D = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p Params) (*Plan1D, error) { return New1D(d, p.Sequences()) },
	func(p *Plan1D, _ kernels.Shape, a *kernels.Args) error { return p.Run(a[0], a[1]) })

// Plan2D applies a layer to images by the implementation that is fastest at their height and width. Only one goroutine at a
// time may use a Plan2D.
type Plan2D struct {
	plan   *kernels.Plan[Params]
	params Params
}

// New2D returns the plan of a layer of images. It is like [New1D]. A kernel or a stride that is not square is judged as the
// square one of as many values, to the nearest whole number.
func New2D(d *dispatch.Dispatcher, l ImageLayer) (*Plan2D, error) {
	p, err := newParams(l, 2)
	if err != nil {
		return nil, err
	}
	return &Plan2D{kernels.NewPlan(d, &Conv2D, p), p}, nil
}

// Outputs returns the height and the width of an output channel for an input of height×width: each is ⌊(n + 2·Padding −
// Dilation·(Kernel−1) − 1)/Stride⌋ + 1, and [math.MaxInt] if it is more than that. Both are 0 if the kernel is larger than the
// padded input, or if height or width is below 1.
func (p *Plan2D) Outputs(height, width int) (outHeight, outWidth int) {
	kernels.Made(p.plan)
	g := p.params.geometry(height, width)
	if g.outHeight == 0 || g.outWidth == 0 { // the product might overflow
		return 0, 0
	}
	return g.outHeight, g.outWidth
}

// Run computes y from x. x is Batch×In×height×width, y is Batch×Out×outHeight×outWidth (see Outputs), both row-major. y must
// not overlap x. height and width decide on the implementation. Run allocates nothing at a shape at which the implementation has run
// twice. An implementation on a GPU remembers only the last few shapes.
//
// Run panics if height or width is below 1 or if a slice has another length than that. It fails with an error that wraps
// [ErrTooSmall] if there is no output, and if every implementation fails.
func (p *Plan2D) Run(y, x []float32, height, width int) error {
	kernels.Made(p.plan)
	if height < 1 || width < 1 {
		panic(fmt.Sprintf("convlayer: height=%d, width=%d: want at least 1 of each", height, width))
	}
	// The product overflows only if the quotient is another one.
	if rows := p.params.Batch * p.params.In; len(x)/rows/height != width || len(x) != rows*height*width {
		panic(fmt.Sprintf("convlayer: x has %d values, want batch×in×height×width = %d×%d×%d×%d", len(x), p.params.Batch, p.params.In, height,
			width))
	}
	g := p.params.geometry(height, width)
	if !g.holds(y) {
		outHeight, outWidth := p.Outputs(height, width)
		panic(fmt.Sprintf("convlayer: y has %d values, want batch×out×outputs = %d×%d×%d×%d", len(y), p.params.Batch, p.params.Out, outHeight,
			outWidth))
	}
	if g.positions() == 0 {
		return fmt.Errorf("convlayer: Kernel is %s, and the input has %d×%d values: %w", p.params.kernelText(), height, width, ErrTooSmall)
	}
	return p.plan.Run(p.shape(height, width), kernels.Args{y, x})
}

// kernelText returns the kernel of images for an error.
func (p *Params) kernelText() string {
	text := fmt.Sprintf("%d×%d", p.Kernel.Height, p.Kernel.Width)
	if p.Dilation != Both(1) {
		text += fmt.Sprintf(" with a dilation of %d×%d", p.Dilation.Height, p.Dilation.Width)
	}
	return text
}

func (p *Plan2D) shape(h, w int) kernels.Shape {
	return kernels.Shape{inputs: p.params.In, channels: p.params.Out, kernel: square(p.params.Kernel), stride: square(p.params.Stride),
		height: h, width: w}
}

// Explain says which implementation computes a call at a height and a width, and why. It assumes the placement of the last
// call.
func (p *Plan2D) Explain(height, width int) dispatch.Explanation {
	return p.plan.Explain(p.shape(height, width))
}

// SetMaxError sets the greatest error that calls accept: see [kernels.Plan.SetMaxError].
func (p *Plan2D) SetMaxError(most float64) error { return p.plan.SetMaxError(most) }

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
func (p *Plan2D) Close() { p.plan.Close() }

// Program2D is the [kernels.Program] of the layer of images.
var Program2D = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p Params) (*Plan2D, error) { return New2D(d, p.ImageLayer) },
	func(p *Plan2D, s kernels.Shape, a *kernels.Args) error { return p.Run(a[0], a[1], s[height], s[width]) })
