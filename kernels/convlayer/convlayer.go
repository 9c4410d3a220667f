// Package convlayer applies convolutional layers as neural networks have them. The operation conv1d-layer is about sequences:
//
//	y[b,o,i] = bias[o] + Σ_c Σ_k w[o,c,k]·x[b, first(o) + c, stride·i + dilation·k − padding],   0 ≤ i < outputs
//	outputs = ⌊(length + 2·padding − dilation·(kernel−1) − 1)/stride⌋ + 1
//
// The operation conv2d-layer is about images. Its kernel, stride, padding and dilation have a height and a width:
//
//	y[b,o,i,j] = bias[o] + Σ_c Σ_k Σ_l w[o,c,k,l]·x[b, first(o) + c, sᵥ·i + dᵥ·k − pᵥ, sₕ·j + dₕ·l − pₕ]
//
// The channels lie in groups. An output o belongs to group g = ⌊o·groups/out⌋ and sees the in/groups inputs of that group, from
// first(o) = g·in/groups on. With one group, each output sees all inputs. A layer with as many groups as inputs is depthwise.
//
// x is 0 outside of its borders. x is batch×in×length or batch×in×height×width, w is out×(in/groups)×kernel or
// out×(in/groups)×kernel height×kernel width, and y is batch×out×outputs. All are float32 and row-major. Networks call this a
// convolution, but the kernel is not reversed: it is the cross-correlation of PyTorch. Other ways to pad than with zeros are not
// offered. The operation conv1d is another one. It convolves a signal with a filter, in full.
//
// All products are computed, also those with the zeros of the padding. So a weight that is infinite or NaN makes each output
// NaN at which it meets padding. Values of x that lie between the steps of a dilation are not multiplied.
//
// A group of one input of the batch is a matrix product. The unrolled matrix has a column for each output position and a row for
// each weight of an output, and holds the values of x that they multiply. The Go code and our kernel text never store the matrix
// as a whole: they compute the panel or the tile that they are just multiplying. Libraries multiply matrices in memory. OpenBLAS
// and Accelerate get it in blocks that fit into a cache, and a GPU's library gets all of it. If a group has a single output, as
// in a depthwise layer, the Go code and our kernel text sum up the definition instead, because a product with one row would
// mostly copy.
//
// Sweeps measure layers with a batch of 1, one group and a dilation of 1. The other layers are judged by the measured layer of
// one group with as much work: the groups and the inputs of the batch lie one after the other in a longer sequence or a higher
// image. Dilation and padding do not count.
//
// The usual steps are New1D with a [Layer] or New2D with an [ImageLayer], and Run.
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

// Layer is a convolutional layer of sequences.
type Layer struct {
	In, Out  int // channels, at least 1
	Groups   int // of channels, a divisor of In and Out; 0 stands for 1
	Kernel   int // values, at least 1
	Stride   int // values from one position of the kernel to the next, at least 1
	Padding  int // zeros on each side of x; 0 to 2²⁶
	Dilation int // values from one weight of the kernel to the next, at least 1; 0 stands for 1
	Batch    int // inputs of a call, at most 1 Mi; 0 stands for 1

	Weights []float32 // out×(in/groups)×kernel
	Bias    []float32 // of each output channel; nil stands for zeros
}

// images returns the layer as one of images with a height of 1.
func (l Layer) images() ImageLayer {
	dilation := Pair{1, l.Dilation}
	if l.Dilation == 0 {
		dilation = Pair{}
	}
	return ImageLayer{
		In: l.In, Out: l.Out, Groups: l.Groups, Batch: l.Batch, Weights: l.Weights, Bias: l.Bias,
		Kernel: Pair{1, l.Kernel}, Stride: Pair{1, l.Stride}, Padding: Pair{0, l.Padding}, Dilation: dilation,
	}
}

// Pair is a number for each direction of an image.
type Pair struct{ Height, Width int }

// Both returns the pair of the same number in both directions.
func Both(n int) Pair { return Pair{n, n} }

// ImageLayer is a convolutional layer of images.
type ImageLayer struct {
	In, Out  int  // channels, at least 1
	Groups   int  // of channels, a divisor of In and Out; 0 stands for 1
	Kernel   Pair // values, at least 1
	Stride   Pair // values from one position of the kernel to the next, at least 1
	Padding  Pair // zeros on each side of x; 0 to 2²⁶
	Dilation Pair // values from one weight of the kernel to the next, at least 1; the zero Pair stands for 1 and 1
	Batch    int  // inputs of a call, at most 1 Mi; 0 stands for 1

	Weights []float32 // out×(in/groups)×kernel height×kernel width
	Bias    []float32 // of each output channel; nil stands for zeros
}

// sequences returns a layer of images with a height of 1 as one of sequences.
func (l ImageLayer) sequences() Layer {
	return Layer{
		In: l.In, Out: l.Out, Groups: l.Groups, Batch: l.Batch, Weights: l.Weights, Bias: l.Bias,
		Kernel: l.Kernel.Width, Stride: l.Stride.Width, Padding: l.Padding.Width, Dilation: l.Dilation.Width,
	}
}

const (
	mostPadding = 1 << 26 // keeps the number of outputs from overflowing
	mostBatch   = 1 << 20
)

// ErrTooSmall is wrapped by Run if the kernel is larger than the input with its padding, so that there is no output.
var ErrTooSmall = errors.New("the kernel is larger than the padded input")

// Params are a layer and what is computed from it once.
type Params struct {
	ImageLayer     // without zeros that stand for 1; sequences are images with a height of 1
	dimensions int // 1 or 2

	// The weights and the biases as our kernel text reads them. A row of columns has one weight of every output channel of a
	// group. The groups lie one after the other.
	columns, biases []float32
}

// Sequences returns the layer of sequences that the parameters describe.
func (p *Params) Sequences() Layer { return p.ImageLayer.sequences() }

// newParams returns the parameters of a layer for so many dimensions. It copies the layer's slices.
func newParams(l ImageLayer, dimensions int) (Params, error) {
	if l.Dilation == (Pair{}) {
		l.Dilation = Both(1)
	}
	if l.Groups == 0 {
		l.Groups = 1
	}
	if l.Batch == 0 {
		l.Batch = 1
	}
	if err := l.check(dimensions); err != nil {
		return Params{}, err
	}
	if l.Bias == nil {
		l.Bias = make([]float32, l.Out)
	}
	if len(l.Bias) != l.Out {
		return Params{}, fmt.Errorf("convlayer: %d biases, want out = %d", len(l.Bias), l.Out)
	}
	l.Weights, l.Bias = slices.Clone(l.Weights), slices.Clone(l.Bias)
	p := Params{ImageLayer: l, dimensions: dimensions}
	if g := p.geometry(1, 1); !g.slides() { // which reads the weights as they are
		for group := range l.Groups {
			p.columns = append(p.columns, weightColumns(p.weightsOf(group), g.out, g.terms())...)
			p.biases = append(p.biases, weightColumns(p.biasesOf(group), g.out, 1)[:roundUp(g.out, unitM)]...)
		}
	}
	return p, nil
}

// check returns an error if a field is out of its range, or if there is another number of weights than there should be.
func (l *ImageLayer) check(dimensions int) error {
	type size struct {
		name               string
		value, least, most int
	}
	sizes := []size{{"In", l.In, 1, math.MaxInt32}, {"Out", l.Out, 1, math.MaxInt32}, {"Groups", l.Groups, 1, math.MaxInt32},
		{"Batch", l.Batch, 1, mostBatch}}
	for _, of := range []struct {
		name        string
		pair        Pair
		least, most int
	}{
		{"Kernel", l.Kernel, 1, math.MaxInt32}, {"Stride", l.Stride, 1, math.MaxInt32}, {"Padding", l.Padding, 0, mostPadding},
		{"Dilation", l.Dilation, 1, math.MaxInt32},
	} {
		if dimensions == 1 {
			sizes = append(sizes, size{of.name, of.pair.Width, of.least, of.most})
			continue
		}
		sizes = append(sizes, size{of.name + ".Height", of.pair.Height, of.least, of.most},
			size{of.name + ".Width", of.pair.Width, of.least, of.most})
	}
	for _, size := range sizes {
		if size.value < size.least || size.value > size.most {
			return fmt.Errorf("convlayer: %s is %d: want %d to %d", size.name, size.value, size.least, size.most)
		}
	}
	if l.In%l.Groups != 0 || l.Out%l.Groups != 0 {
		return fmt.Errorf("convlayer: Groups is %d: want a divisor of In and Out, %d and %d", l.Groups, l.In, l.Out)
	}
	factors := "out×in×kernel"
	if l.Groups > 1 {
		factors = "out×(in/groups)×kernel"
	}
	if dimensions == 2 {
		factors += "×kernel"
	}
	// No integer, which might overflow.
	want := float64(l.Out) * float64(l.In/l.Groups) * float64(l.Kernel.Height) * float64(l.Kernel.Width)
	if float64(len(l.Weights)) != want {
		return fmt.Errorf("convlayer: %d weights, want %s = %.0f", len(l.Weights), factors, want)
	}
	return nil
}

// terms returns the number of weights of an output channel.
func (p *Params) terms() int { return p.In / p.Groups * p.Kernel.Height * p.Kernel.Width }

// weightsOf returns the weights of a group, and biasesOf its biases.
func (p *Params) weightsOf(group int) []float32 {
	n := len(p.Weights) / p.Groups
	return p.Weights[group*n:][:n]
}

func (p *Params) biasesOf(group int) []float32 {
	n := p.Out / p.Groups
	return p.Bias[group*n:][:n]
}

// geometry says where the values of a call are. A sequence is an image with a height of 1, and a kernel with a height of 1. A
// part is a group of one input of the batch. Its values lie next to each other in x, and in y.
type geometry struct {
	batch, groups           int
	in, out                 int // channels of a part
	height, width           int // of x
	kernel, stride, padding Pair
	dilation                Pair
	outHeight, outWidth     int // of y
}

// geometry returns where the values are if x is height×width.
func (p *Params) geometry(height, width int) geometry {
	return geometry{
		batch: p.Batch, groups: p.Groups, in: p.In / p.Groups, out: p.Out / p.Groups, height: height, width: width,
		kernel: p.Kernel, stride: p.Stride, padding: p.Padding, dilation: p.Dilation,
		outHeight: outputs(height, p.Kernel.Height, p.Stride.Height, p.Padding.Height, p.Dilation.Height),
		outWidth:  outputs(width, p.Kernel.Width, p.Stride.Width, p.Padding.Width, p.Dilation.Width),
	}
}

// outputs returns the number of outputs along one direction of the input, which is 0 if the kernel does not fit.
func outputs(length, kernel, stride, padding, dilation int) int {
	padded, reach := uint64(max(0, length))+uint64(2*padding), uint64(reach(kernel, dilation)) // an integer might overflow
	if length < 1 || padded < reach {
		return 0
	}
	return int(min((padded-reach)/uint64(stride)+1, math.MaxInt))
}

// reach returns how many values lie between the first and the last weight of a kernel, both included.
func reach(kernel, dilation int) int { return (kernel-1)*dilation + 1 }

// positions returns the number of columns of the unrolled matrix.
func (g *geometry) positions() int { return g.outHeight * g.outWidth }

// terms returns the number of rows of the unrolled matrix.
func (g *geometry) terms() int { return g.in * g.kernel.Height * g.kernel.Width }

// parts returns the number of products.
func (g *geometry) parts() int { return g.batch * g.groups }

// slides reports whether the definition is summed up in place of a product: a group has a single output.
func (g *geometry) slides() bool { return g.groups > 1 && g.out == 1 }

// read returns the values of x of a part, and written those of y.
func (g *geometry) read(x []float32, part int) []float32 {
	n := g.in * g.height * g.width
	return x[part*n:][:n]
}

func (g *geometry) written(y []float32, part int) []float32 {
	n := g.out * g.positions()
	return y[part*n:][:n]
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, unit int) int { return ceilDiv(a, unit) * unit }
