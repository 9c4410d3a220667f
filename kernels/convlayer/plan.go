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
// the weights and the bias. It fails if a field of the layer is out of its range, or if a slice has another length than the
// layer's sizes ask for. Layers are measured with a padding of (Kernel−Stride)/2, and these times decide with every padding.
func New1D(d *dispatch.Dispatcher, l Layer) (*Plan1D, error) {
	p, err := newParams(l, 1)
	if err != nil {
		return nil, err
	}
	plan := kernels.NewPlan(d, &Conv1D, p).Along(length, kernels.Shape{inputs: p.In, channels: p.Out, kernel: p.Kernel, stride: p.Stride})
	return &Plan1D{plan, p}, nil
}

// Outputs returns the number of outputs of a channel for an input of so many values: ⌊(length + 2·Padding −
// Kernel)/Stride⌋ + 1. It is 0 if the kernel is larger than the padded input, or if length is below 1.
func (p *Plan1D) Outputs(length int) int {
	return outputs(length, p.params.Kernel, p.params.Stride, p.params.Padding)
}

// Run computes y from x. x is In×length and y is Out×Outputs(length), both row-major. y must not overlap x. The length of x
// decides on the implementation. Run allocates nothing at a length at which the implementation has run twice. An implementation
// on a GPU remembers only the last few lengths.
//
// Run panics if the length of x is not a multiple of In, or if y has another length than that. It does nothing if both slices
// are empty. It fails with an error that wraps [ErrTooSmall] if there are values but no output, and if every implementation
// fails.
func (p *Plan1D) Run(y, x []float32) error {
	n := len(x) / p.params.In
	if len(x) != n*p.params.In {
		panic("convlayer: slice length is not that of its input")
	}
	positions := p.Outputs(n)
	if len(y)%p.params.Out != 0 || len(y)/p.params.Out != positions {
		panic("convlayer: slice length is not that of its output")
	}
	if n > 0 && positions == 0 {
		return fmt.Errorf("convlayer: Kernel is %d, and the input has %d values: %w", p.params.Kernel, n, ErrTooSmall)
	}
	return kernels.RunSized(p.SizedPlan, n, &kernels.Args{y, x})
}

// Program1D is the [kernels.Program] of the layer of sequences.
var Program1D = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p Params) (*Plan1D, error) { return New1D(d, p.Layer) },
	func(p *Plan1D, _ kernels.Shape, a *kernels.Args) error { return p.Run(a[0], a[1]) })

// Plan2D applies a layer to images by the implementation that is fastest at their height and width. Only one goroutine at a
// time may use a Plan2D.
type Plan2D struct {
	plan   *kernels.Plan[Params]
	params Params
}

// New2D returns the plan of a layer of images. It is like [New1D], but a kernel is Kernel×Kernel.
func New2D(d *dispatch.Dispatcher, l Layer) (*Plan2D, error) {
	p, err := newParams(l, 2)
	if err != nil {
		return nil, err
	}
	return &Plan2D{kernels.NewPlan(d, &Conv2D, p), p}, nil
}

// Outputs returns the height and the width of an output channel for an input of height×width: each is ⌊(n + 2·Padding −
// Kernel)/Stride⌋ + 1. Both are 0 if the kernel is larger than the padded input, or if height or width is below 1.
func (p *Plan2D) Outputs(height, width int) (outHeight, outWidth int) {
	g := p.params.geometry(height, width)
	if g.positions() == 0 {
		return 0, 0
	}
	return g.outHeight, g.outWidth
}

// Run computes y from x. x is In×height×width, y is Out×outHeight×outWidth (see Outputs), both row-major. y must not overlap
// x. height and width decide on the implementation. Run allocates nothing at a shape at which the implementation has run
// twice. An implementation on a GPU remembers only the last few shapes.
//
// Run panics if height or width is below 1 or if a slice has another length than that. It fails with an error that wraps
// [ErrTooSmall] if there is no output, and if every implementation fails.
func (p *Plan2D) Run(y, x []float32, height, width int) error {
	if height < 1 || width < 1 {
		panic("convlayer: height or width below 1")
	}
	// The product overflows only if the quotient is another one.
	if len(x)/p.params.In/height != width || len(x) != p.params.In*height*width {
		panic("convlayer: slice length is not that of its input")
	}
	outHeight, outWidth := p.Outputs(height, width)
	if len(y)%p.params.Out != 0 || len(y)/p.params.Out != outHeight*outWidth {
		panic("convlayer: slice length is not that of its output")
	}
	if outHeight == 0 {
		return fmt.Errorf("convlayer: Kernel is %d, and the input has %d×%d values: %w", p.params.Kernel, height, width, ErrTooSmall)
	}
	return p.plan.Run(p.shape(height, width), kernels.Args{y, x})
}

func (p *Plan2D) shape(h, w int) kernels.Shape {
	return kernels.Shape{inputs: p.params.In, channels: p.params.Out, kernel: p.params.Kernel, stride: p.params.Stride, height: h, width: w}
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
	func(d *dispatch.Dispatcher, p Params) (*Plan2D, error) { return New2D(d, p.Layer) },
	func(p *Plan2D, s kernels.Shape, a *kernels.Args) error { return p.Run(a[0], a[1], s[height], s[width]) })
