package chroma

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed chroma.metal
var text string

const (
	simdgroups    = 4 // in a threadgroup, which share the bins of its frames
	mostTogether  = 4 // frames of a threadgroup
	groupsPerCore = 4 // at least; otherwise threadgroups take fewer frames
)

func (p Params) source(together int) gpu.Source {
	return gpu.Source{Name: "chroma.metal", Text: text}.Define("BINS", p.bins()).Define("FRAMES", together).
		Define("SIMDGROUPS", simdgroups)
}

// appendClasses appends our own kernel.
func appendClasses(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	together := mostTogether
	for together > 1 && s[frames] < together*groupsPerCore*b.Facts().Cores {
		together /= 2
	}
	b.Dispatch(b.Kernel(p.source(together), "chroma"), gpu.Size{X: (s[frames] + together - 1) / together, Y: 1, Z: 1},
		gpu.Size{X: 32 * simdgroups, Y: 1, Z: 1}, t[0].As(gpu.Float4), t[1], b.Constant(gpu.Float4, p.weights()), gpu.Values(s[frames]))
}

// newVendor returns a function that appends the product by the matrix multiplication of the GPU's vendor. A kernel of ours
// divides the frames.
func newVendor(_ *gpu.Device, library gpu.GEMM, p Params) (kernels.Append[Params], error) {
	weights := p.weights()
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		w := b.Constant(gpu.Float, weights)
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: t[0].Region(), A: t[1].Region(), B: w.Region(),
				M: s[frames], N: Classes, K: p.bins(), Alpha: 1,
			})
		})
		const threads = 256
		b.Dispatch(b.Kernel(p.source(1), "normalise"), gpu.Size{X: (s[frames] + threads - 1) / threads, Y: 1, Z: 1},
			gpu.Size{X: threads, Y: 1, Z: 1}, t[0].As(gpu.Float4), gpu.Values(s[frames]))
	}, nil
}
