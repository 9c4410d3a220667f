package convlayer

import "crossover/kernels/matmul"

// plainLimit is the number of multiplications up to which a reference uses the plain loop. So many take a hundredth of a
// second.
const plainLimit = 1 << 22

// Reference1D returns the outputs of a layer of sequences in float64, out×outputs. x is in×length, and length is at least 1.
// Reference1D panics if New1D refuses the layer, if x has another length, or if the kernel does not fit.
func Reference1D(l Layer, x []float32, length int) []float64 { return referenceFor(l, 1, x, 1, length) }

// Reference2D returns the outputs of a layer of images in float64, out×outputs. x is in×height×width, and both are at least 1.
// Reference2D panics if New2D refuses the layer, if x has another length, or if the kernel does not fit.
func Reference2D(l Layer, x []float32, height, width int) []float64 {
	return referenceFor(l, 2, x, height, width)
}

func referenceFor(l Layer, dimensions int, x []float32, height, width int) []float64 {
	p, err := newParams(l, dimensions)
	if err != nil {
		panic(err)
	}
	g := p.geometry(height, width)
	if g.positions() == 0 {
		panic("convlayer: " + ErrTooSmall.Error())
	}
	if len(x) != g.in*height*width {
		panic("convlayer: slice length is not that of its input")
	}
	return reference(&p, g, x)
}

// reference computes small layers by the definition, and large ones as products of matrices, because the loop would take
// minutes at a billion multiplications. The tests compare the two.
func reference(p *Params, g geometry, x []float32) []float64 {
	if float64(g.out)*float64(g.terms())*float64(g.positions()) <= plainLimit {
		return plainReference(p, g, x)
	}
	return productReference(p, g, x)
}

// plainReference computes a layer by its definition.
func plainReference(p *Params, g geometry, x []float32) []float64 {
	y := make([]float64, g.out*g.positions())
	for o := range g.out {
		for i := range g.outHeight {
			for j := range g.outWidth {
				sum := float64(p.Bias[o])
				for c := range g.in {
					for k := range g.kernelHeight {
						for l := range g.kernelWidth {
							w := p.Weights[((o*g.in+c)*g.kernelHeight+k)*g.kernelWidth+l]
							sum += float64(w) * float64(g.input(x, c, g.stride*i+k-g.paddingHeight, g.stride*j+l-g.paddingWidth))
						}
					}
				}
				y[(o*g.outHeight+i)*g.outWidth+j] = sum
			}
		}
	}
	return y
}

// input returns a value of x, or 0 outside of its borders.
func (g *geometry) input(x []float32, channel, row, column int) float32 {
	if row < 0 || row >= g.height || column < 0 || column >= g.width {
		return 0
	}
	return x[(channel*g.height+row)*g.width+column]
}

// productReference multiplies the weights by the unrolled matrix, a block of its columns at a time.
func productReference(p *Params, g geometry, x []float32) []float64 {
	y := make([]float64, g.out*g.positions())
	most := max(1, blockValues/g.terms())
	unrolled := make([]float32, most*g.terms())
	for first := 0; first < g.positions(); first += most {
		count := min(most, g.positions()-first)
		for l := range g.terms() {
			c, k, m := l/(g.kernelHeight*g.kernelWidth), l/g.kernelWidth%g.kernelHeight, l%g.kernelWidth
			for at := range count {
				i, j := (first+at)/g.outWidth, (first+at)%g.outWidth
				unrolled[l*count+at] = g.input(x, c, g.stride*i+k-g.paddingHeight, g.stride*j+m-g.paddingWidth)
			}
		}
		for i, v := range matmul.Reference(p.Weights, unrolled[:g.terms()*count], g.out, g.terms(), count) {
			y[i/count*g.positions()+first+i%count] = v + float64(p.Bias[i/count])
		}
	}
	return y
}
