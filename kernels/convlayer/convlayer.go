// Package convlayer applies convolutional layers as neural networks have them. The operation conv1d-layer is about sequences:
//
//	y[o,i] = b[o] + Σ_c Σ_k w[o,c,k]·x[c, stride·i + k − padding],   0 ≤ i < ⌊(length + 2·padding − kernel)/stride⌋ + 1
//
// The operation conv2d-layer is about images, with a square kernel and the same stride and padding in both directions:
//
//	y[o,i,j] = b[o] + Σ_c Σ_k Σ_l w[o,c,k,l]·x[c, stride·i + k − padding, stride·j + l − padding]
//
// x is 0 outside of its borders. x is in×length or in×height×width, w is out×in×kernel or out×in×kernel×kernel, and y is
// out×outputs. All are float32 and row-major. Networks call this a convolution, but the kernel is not reversed: it is the
// cross-correlation of PyTorch. The operation conv1d is another one. It convolves a signal with a filter, in full.
//
// All products are computed, also those with the zeros of the padding. So a weight that is infinite or NaN makes each output
// NaN at which it meets padding.
//
// A layer is a matrix product. The unrolled matrix has a column for each output position and a row for each weight of an
// output, and holds the values of x that they multiply. The Go code and our kernel text never store the matrix as a whole: they
// compute the panel or the tile that they are just multiplying. Libraries multiply matrices in memory. OpenBLAS and Accelerate
// get it in blocks that fit into a cache, and a GPU's library gets all of it.
//
// A call has one input, not a batch. There is no dilation, and there are no groups of channels. The usual steps are New1D or
// New2D with a [Layer], and Run.
//
// Sources: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html and torch.nn.Conv2d.html; for the unrolled
// matrix, K. Chellapilla, S. Puri, P. Simard, High Performance Convolutional Neural Networks for Document Processing, IWFHR
// 2006.
package convlayer

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Layer is a convolutional layer.
type Layer struct {
	In, Out int // channels, at least 1
	Kernel  int // values, in each direction; at least 1
	Stride  int // values from one position of the kernel to the next, in each direction; at least 1
	Padding int // zeros on each side of x, in each direction; 0 to 2²⁶

	Weights []float32 // out×in×kernel, and ×kernel again for images
	Bias    []float32 // of each output channel; nil stands for zeros
}

// mostPadding is the greatest padding. It keeps the number of outputs from overflowing.
const mostPadding = 1 << 26

// ErrTooSmall is wrapped by Run if the kernel is larger than the input with its padding, so that there is no output.
var ErrTooSmall = errors.New("the kernel is larger than the padded input")

// Params are a layer and what is computed from it once.
type Params struct {
	Layer
	dimensions int // 1 or 2

	// The weights and the biases as our kernel text reads them. A row of columns has one weight of every output channel.
	columns, biases []float32
}

// newParams returns the parameters of a layer for so many dimensions. It copies the layer's slices.
func newParams(l Layer, dimensions int) (Params, error) {
	for _, size := range []struct {
		name               string
		value, least, most int
	}{
		{"In", l.In, 1, math.MaxInt32}, {"Out", l.Out, 1, math.MaxInt32}, {"Kernel", l.Kernel, 1, math.MaxInt32},
		{"Stride", l.Stride, 1, math.MaxInt32}, {"Padding", l.Padding, 0, mostPadding},
	} {
		if size.value < size.least || size.value > size.most {
			return Params{}, fmt.Errorf("convlayer: %s is %d: want %d to %d", size.name, size.value, size.least, size.most)
		}
	}
	factors, want := "out×in×kernel", float64(l.Out)*float64(l.In)*float64(l.Kernel) // no integer, which might overflow
	if dimensions == 2 {
		factors, want = factors+"×kernel", want*float64(l.Kernel)
	}
	if float64(len(l.Weights)) != want {
		return Params{}, fmt.Errorf("convlayer: %d weights, want %s = %.0f", len(l.Weights), factors, want)
	}
	if l.Bias == nil {
		l.Bias = make([]float32, l.Out)
	}
	if len(l.Bias) != l.Out {
		return Params{}, fmt.Errorf("convlayer: %d biases, want out = %d", len(l.Bias), l.Out)
	}
	p := Params{Layer: l, dimensions: dimensions}
	p.Weights, p.Bias = slices.Clone(l.Weights), slices.Clone(l.Bias)
	p.columns = weightColumns(p.Weights, p.Out, p.terms())
	p.biases = weightColumns(p.Bias, p.Out, 1)[:roundUp(p.Out, unitM)]
	return p, nil
}

// terms returns the number of weights of an output channel.
func (p *Params) terms() int {
	if p.dimensions == 1 {
		return p.In * p.Kernel
	}
	return p.In * p.Kernel * p.Kernel
}

// geometry says where the values of a call are. A sequence is an image with a height of 1, and a kernel with a height of 1.
type geometry struct {
	in, out                     int
	height, width               int // of x
	kernelHeight, kernelWidth   int
	paddingHeight, paddingWidth int
	stride                      int
	outHeight, outWidth         int // of y
}

// geometry returns where the values are if x is height×width.
func (p *Params) geometry(height, width int) geometry {
	g := geometry{
		in: p.In, out: p.Out, height: height, width: width, stride: p.Stride,
		kernelHeight: p.Kernel, kernelWidth: p.Kernel, paddingHeight: p.Padding, paddingWidth: p.Padding,
	}
	if p.dimensions == 1 {
		g.kernelHeight, g.paddingHeight = 1, 0
	}
	g.outHeight = outputs(height, g.kernelHeight, p.Stride, g.paddingHeight)
	g.outWidth = outputs(width, p.Kernel, p.Stride, p.Padding)
	return g
}

// outputs returns the number of outputs along one direction of the input, which is 0 if the kernel does not fit.
func outputs(length, kernel, stride, padding int) int {
	if length < 1 || length+2*padding < kernel {
		return 0
	}
	return (length+2*padding-kernel)/stride + 1
}

// positions returns the number of columns of the unrolled matrix.
func (g *geometry) positions() int { return g.outHeight * g.outWidth }

// terms returns the number of rows of the unrolled matrix.
func (g *geometry) terms() int { return g.in * g.kernelHeight * g.kernelWidth }

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, unit int) int { return ceilDiv(a, unit) * unit }
