package elementwise

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed elementwise.metal
var text string

// threads are those of a threadgroup. On an H200 512 are as good, and threads of two vectors or more are slower.
const threads = 256

var source = gpu.Source{Name: "elementwise.metal", Text: text}

// launch appends a kernel of one value a thread's component, with a and b where it takes them.
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
