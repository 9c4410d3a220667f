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

// launch returns a function that appends a kernel with one vector of four values per thread. values returns the constants
// that the kernel takes; it may be nil.
func launch(kernel string, values func(p Params) []gpu.Argument) kernels.Append[Params] {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		vectors := (s[elements] + 3) / 4
		arguments := []gpu.Argument{t[0].As(gpu.Float4), t[1].As(gpu.Float4), gpu.Values(vectors)}
		if values != nil {
			arguments = append(arguments, values(p)...)
		}
		b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: (vectors + threads - 1) / threads, Y: 1, Z: 1},
			gpu.Size{X: threads, Y: 1, Z: 1}, arguments...)
	}
}
