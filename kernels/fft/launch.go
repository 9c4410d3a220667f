package fft

import (
	_ "embed"
	"fmt"

	"crossover/gpu"
)

// The functions named Launch… append transforms to a launch plan, for this family and for those that build on it. They
// panic where n or batch is below 1, and leave what does not fit (a buffer too small for its rows, or of another
// element type) to be found by Build or by the caller's tests.

// LaunchComplex appends batch transforms of n complex values each: src and dst hold batch rows of n gpu.Float2, one
// after the other, and must be different buffers. The forward transform is unscaled, the inverse divided by n.
func LaunchComplex(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int, inverse bool) {
	checkRows(n, batch)
	scale, direction := float32(1), float32(1)
	if inverse {
		scale, direction = float32(1/float64(n)), -1
	}
	perValue(b, directSource, "direct", n*batch, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
		gpu.Values(n*batch), gpu.Values(scale), gpu.Values(direction))
}

// LaunchReal appends batch forward transforms of n real values each, unscaled: src holds batch rows of n gpu.Float, and
// dst as many rows of n/2+1 gpu.Float2, bins 0 to n/2. Bin 0 is real, and so is bin n/2 of an even n.
func LaunchReal(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
	checkRows(n, batch)
	values := batch * (n/2 + 1)
	perValue(b, directSource, "direct_real", values, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
		gpu.Values(values))
}

// LaunchRealInverse appends batch inverse transforms, divided by n, so that they undo LaunchReal: src holds batch rows
// of n/2+1 gpu.Float2, and dst as many rows of n gpu.Float. The imaginary parts of bin 0 and, for an even n, of bin n/2
// are taken as 0.
func LaunchRealInverse(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
	checkRows(n, batch)
	perValue(b, directSource, "direct_real_inverse", n*batch, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
		gpu.Values(n*batch))
}

func checkRows(n, batch int) {
	if n < 1 || batch < 1 {
		panic(fmt.Sprintf("fft: cannot launch %d rows of %d values (want both at least 1)", batch, n))
	}
}

//go:embed direct.metal
var directText string

var directSource = gpu.Source{Name: "direct.metal", Text: directText}

// perValue appends a kernel that computes a value a thread.
func perValue(b *gpu.Builder, source gpu.Source, kernel string, values int, arguments ...gpu.Argument) {
	const threads = 256
	b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: (values + threads - 1) / threads, Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, arguments...)
}

// roots returns exp(−2πi·k/n) for k < n, as pairs.
func roots(n int) []float32 {
	table := make([]float32, 0, 2*n)
	for k := range n {
		w := root(k, n)
		table = append(table, float32(real(w)), float32(imag(w)))
	}
	return table
}
