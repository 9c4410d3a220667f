package convlayer

import (
	"fmt"

	"crossover/kernels/matmul"
)

// plainLimit is the number of multiplications up to which a reference uses the plain loop. So many take a hundredth of a
// second.
const plainLimit = 1 << 22

// Reference2D returns the outputs of a layer of images in float64, batch×out×outputs. x is batch×in×height×width, and both are at
// least 1. Reference2D panics if New2D refuses the layer, if x has another length, or if the kernel does not fit.
func Reference2D(l ImageLayer, x []float32, height, width int) []float64 {
	return referenceFor(l, 2, x, height, width)
}

func referenceFor(l ImageLayer, dimensions int, x []float32, height, width int) []float64 {
	p, err := newParams(l, dimensions)
	if err != nil {
		panic(err)
	}
	g := p.geometry(height, width)
	if g.positions() == 0 {
		panic("convlayer: " + ErrTooSmall.Error())
	}
	if len(x) != g.parts()*g.in*height*width {
		panic(fmt.Sprintf("convlayer: x has %d values, want batch×in×height×width = %d×%d×%d×%d", len(x), p.Batch, p.In, height, width))
	}
	return reference(&p, g, x)
}

// reference computes small layers by the definition, and large ones as products of matrices, because the loop would take
// minutes at a billion multiplications. The tests compare the two.
func reference(p *Params, g geometry, x []float32) []float64 {
	if float64(g.parts())*float64(g.out)*float64(g.terms())*float64(g.positions()) <= plainLimit {
		return plainReference(p, g, x)
	}
	return productReference(p, g, x)
}

// plainReference computes a layer by its definition.
func plainReference(p *Params, g geometry, x []float32) []float64 {
	y := make([]float64, 0, p.Batch*p.Out*g.positions())
	for n := range p.Batch {
		for o := range p.Out {
			first := o / g.out * g.in // channel of the output's group
			for i := range g.outHeight {
				for j := range g.outWidth {
					sum := float64(p.Bias[o])
					for c := range g.in {
						for k := range p.Kernel.Height {
							for l := range p.Kernel.Width {
								w := p.Weights[((o*g.in+c)*p.Kernel.Height+k)*p.Kernel.Width+l]
								row := p.Stride.Height*i + p.Dilation.Height*k - p.Padding.Height
								column := p.Stride.Width*j + p.Dilation.Width*l - p.Padding.Width
								sum += float64(w) * float64(g.input(x, n*p.In+first+c, row, column))
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}

// input returns a value of x, or 0 outside of its borders. The channel is one of all those of the batch.
func (g *geometry) input(x []float32, channel, row, column int) float32 {
	if row < 0 || row >= g.height || column < 0 || column >= g.width {
		return 0
	}
	return x[(channel*g.height+row)*g.width+column]
}

// productReference multiplies the weights of each group by the unrolled matrix, a block of its columns at a time.
func productReference(p *Params, g geometry, x []float32) []float64 {
	y := make([]float64, g.parts()*g.out*g.positions())
	most := max(1, blockValues/g.terms())
	unrolled := make([]float32, most*g.terms())
	for part := range g.parts() {
		weights, bias := p.weightsOf(part%g.groups), p.biasesOf(part%g.groups)
		to := y[part*g.out*g.positions():]
		for first := 0; first < g.positions(); first += most {
			count := min(most, g.positions()-first)
			for l := range g.terms() {
				t := g.term(l)
				for at := range count {
					i, j := (first+at)/g.outWidth, (first+at)%g.outWidth
					unrolled[l*count+at] = g.input(x, part*g.in+t.channel, g.stride.Height*i+g.dilation.Height*t.row-g.padding.Height,
						g.stride.Width*j+g.dilation.Width*t.column-g.padding.Width)
				}
			}
			for i, v := range matmul.Reference(weights, unrolled[:g.terms()*count], g.out, g.terms(), count) {
				to[i/count*g.positions()+first+i%count] = v + float64(bias[i/count])
			}
		}
	}
	return y
}
