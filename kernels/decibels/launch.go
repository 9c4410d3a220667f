package decibels

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/reduce"
)

//go:embed decibels.metal
var text string

// threads is the number of threads in a threadgroup, as in package elementwise.
const threads = 256

// appendDecibels appends the greatest power, and then the kernel with one vector of four values per thread.
func appendDecibels(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	most := b.Scratch(gpu.Float, 1)
	reduce.AppendMax(b, s[elements], most, t[1])
	ref := p.ref()
	if p.RefMax {
		ref = 0
	}
	floored := uint32(0)
	if p.floored() {
		floored = 1
	}
	vectors := (s[elements] + 3) / 4
	b.Dispatch(b.Kernel(gpu.Source{Name: "decibels.metal", Text: text}, "decibels"),
		gpu.Size{X: (vectors + threads - 1) / threads, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[0].As(gpu.Float4), t[1].As(gpu.Float4), most, gpu.Values(float32(least), p.share(), ref, floored), gpu.Values(vectors))
}
