package elementwise

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed elementwise.metal
var text string

// threads is the number of threads in a threadgroup. On an H200 512 threads are as fast, and two or more vectors per thread
// are slower.
const threads = 256

var source = gpu.Source{Name: "elementwise.metal", Text: text}

// appendKernel appends the kernel of a function. Each thread reads one vector of four words.
func (f *function) appendKernel(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	y, vectors := t[0].As(gpu.Float4), (s[elements]+3)/4
	if f.complex {
		y, vectors = t[0].As(gpu.Float2), (s[elements]+1)/2
	}
	arguments := []gpu.Argument{y, t[1].As(gpu.Float4), gpu.Values(vectors)}
	for _, v := range []float32{p.A, p.B}[:f.constants] {
		arguments = append(arguments, gpu.Values(v))
	}
	b.Dispatch(b.Kernel(source, f.kernel), gpu.Size{X: (vectors + threads - 1) / threads, Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, arguments...)
}
