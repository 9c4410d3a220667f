// Package launch appends discrete Fourier transforms to launch plans of package gpu, for the operation fft and for the
// operations that use it.
//
// A threadgroup transforms a row whose length is a power of two, with the points in registers. Each such length has a kernel
// of its own. Longer rows take two or three steps, as the columns and the rows of a matrix. Other lengths without a prime
// factor above 7, up to some half a million complex values, take one or two steps of a single kernel, which gets its passes
// at run time. On NVIDIA's GPUs the first 256 of these lengths in a process have kernels of their own, which are faster and
// take up to some two million values. All other lengths take Bluestein's algorithm.
//
// Complex, Real and InverseReal take every length. They panic if n or batch is below 1 or if a call transforms more than
// MostValues. They do not check whether the buffers are large enough and have the right element types. Build and the tests of
// the caller do.
package launch

import (
	"fmt"

	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// MostValues is the greatest number of values, real or complex, that one call transforms.
const MostValues = mostPoints / 2

// Complex appends batch transforms of n complex values each: src and dst hold batch rows of n gpu.Float2, one
// after the other, and must be different buffers. The forward transform is unscaled, the inverse divided by n.
func Complex(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int, inverse bool) {
	checkRows(n, batch)
	appendComplex(b, dst, src, n, batch, inverse)
}

// Real appends batch forward transforms of n real values each, unscaled: src holds batch rows of n gpu.Float, and
// dst as many rows of n/2+1 gpu.Float2, bins 0 to n/2. Bin 0 is real, and so is bin n/2 of an even n.
func Real(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
	checkRows(n, batch)
	h := n / 2
	switch {
	case n < shortestReal:
		values := batch * (h + 1)
		perValue(b, directSource, "direct_real", values, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
			gpu.Values(values))
	case n%2 != 0:
		wide, spectrum := b.Scratch(gpu.Float2, n*batch), b.Scratch(gpu.Float2, n*batch)
		perValue(b, halvesSource, "widen", n*batch, wide, src, gpu.Values(n*batch))
		appendComplex(b, spectrum, wide, n, batch, false)
		perValue(b, halvesSource, "bins", batch*(h+1), dst, spectrum, gpu.Values(n), gpu.Values(batch*(h+1)))
	case isPowerOfTwo(n) && n <= LongestReal:
		appendRealRows(b, dst, src, realShape(n), batch, nil)
	case h >= shortestRow && h <= longestFixedBins && isMixed(h) && !isPowerOfTwo(h) &&
		appendMixed(b, dst, src.As(gpu.Float2), h, batch, false, true):
	default:
		spectrum := b.Scratch(gpu.Float2, h*batch)
		appendComplex(b, spectrum, src.As(gpu.Float2), h, batch, false)
		pairs := batch * (h/2 + 1)
		perValue(b, halvesSource, "unfold", pairs, dst, spectrum, b.Constant(gpu.Float2, halfRoots(n, h/2+1)),
			gpu.Values(h), gpu.Values(pairs))
	}
}

// InverseReal appends batch inverse transforms to n real values each, divided by n: src holds batch rows of n/2+1
// gpu.Float2, bins 0 to n/2, and dst as many rows of n gpu.Float. The imaginary parts of bin 0, and of bin n/2 of an even n,
// are taken as 0.
func InverseReal(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
	checkRows(n, batch)
	h := n / 2
	switch {
	case n < shortestReal:
		perValue(b, directSource, "direct_inverse", n*batch, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
			gpu.Values(n*batch), gpu.Values(scaleOf(n, true)))
	case n%2 != 0:
		mirrored, values := b.Scratch(gpu.Float2, n*batch), b.Scratch(gpu.Float2, n*batch)
		perValue(b, halvesSource, "mirror", n*batch, mirrored, src, gpu.Values(n), gpu.Values(n*batch))
		appendComplex(b, values, mirrored, n, batch, true)
		perValue(b, halvesSource, "narrow", n*batch, dst, values, gpu.Values(n*batch))
	case isPowerOfTwo(n) && n <= LongestReal:
		s := rowShape(h)
		source, table := s.define(inverseSource.Define("ROWS", s.side), rowTile)
		b.Dispatch(b.Kernel(source, "inverse_rows"), threadgroups(divideUp(batch, s.side)), threads(s.threads()), dst, src,
			b.Constant(gpu.Float2, table), b.Constant(gpu.Float2, halfRoots(n, h)), gpu.Values(batch),
			gpu.Values(scaleOf(h, true)))
	default:
		folded, pairs := b.Scratch(gpu.Float2, h*batch), batch*(h/2+1)
		perValue(b, halvesSource, "fold", pairs, folded, src, b.Constant(gpu.Float2, halfRoots(n, h/2+1)), gpu.Values(h),
			gpu.Values(pairs))
		appendComplex(b, dst.As(gpu.Float2), folded, h, batch, true)
	}
}

// ScaledBins appends a copy of the bins of batch rows of n real values, divided by n. In the copy the imaginary parts of bin
// 0, and of bin n/2 of an even n, are 0.
func ScaledBins(b *gpu.Builder, dst, src *gpu.Buffer, n, batch int) {
	checkRows(n, batch)
	values := batch * (n/2 + 1)
	perValue(b, halvesSource, "scaled_bins", values, dst, src, gpu.Values(n), gpu.Values(values), gpu.Values(scaleOf(n, true)))
}

// Scale appends the product of complex values and a factor, in place.
func Scale(b *gpu.Builder, x *gpu.Buffer, values int, factor float64) {
	perValue(b, halvesSource, "scale", values, x, gpu.Values(values), gpu.Values(float32(factor)))
}

func checkRows(n, batch int) {
	if n < 1 || batch < 1 || batch > MostValues/n {
		panic(fmt.Sprintf("fft: cannot launch %d rows of %d values (want both at least 1 and at most %d values)", batch, n,
			MostValues))
	}
}

// appendComplex is Complex for buffers that may be viewed as another type.
func appendComplex(b *gpu.Builder, dst, src gpu.Argument, n, batch int, inverse bool) {
	switch {
	case n < shortestRow:
		direction := float32(1)
		if inverse {
			direction = -1
		}
		perValue(b, directSource, "direct", n*batch, dst, src, b.Constant(gpu.Float2, roots(n)), gpu.Values(n),
			gpu.Values(n*batch), gpu.Values(scaleOf(n, inverse)), gpu.Values(direction))
	case !isPowerOfTwo(n):
		if !isMixed(n) || !appendMixed(b, dst, src, n, batch, inverse, false) {
			appendBluestein(b, dst, src, n, batch, inverse)
		}
	case n <= longestRow(b.Facts()):
		appendComplexRows(b, dst, src, rowShape(n), batch, inverse)
	default:
		divide(b.Facts(), n).launch(b, dst, src, batch, inverse)
	}
}

// appendComplexRows appends rows transforms of s.length() complex values.
func appendComplexRows(b *gpu.Builder, dst, src gpu.Argument, s shape, rows int, inverse bool) {
	source, table := s.define(complexSource.Define("ROWS", s.side).Define("INVERSE", flag(inverse)), rowTile)
	b.Dispatch(b.Kernel(source, "complex_rows"), threadgroups(divideUp(rows, s.side)), threads(s.threads()), dst, src,
		b.Constant(gpu.Float2, table), gpu.Values(rows), gpu.Values(scaleOf(s.length(), inverse)))
}

// scaleOf returns the factor of a transform of n values.
func scaleOf(n int, inverse bool) float32 {
	if inverse {
		return float32(1 / float64(n))
	}
	return 1
}

// perValue appends a kernel with one thread for each value.
func perValue(b *gpu.Builder, source gpu.Source, kernel string, values int, arguments ...gpu.Argument) {
	const width = 256
	b.Dispatch(b.Kernel(source, kernel), threadgroups(divideUp(values, width)), threads(width), arguments...)
}

func threadgroups(n int) gpu.Size { return gpu.Size{X: n, Y: 1, Z: 1} }
func threads(n int) gpu.Size      { return gpu.Size{X: n, Y: 1, Z: 1} }

func divideUp(a, b int) int { return (a + b - 1) / b }

func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

// roots returns exp(−2πi·k/n) for k < n, as pairs.
func roots(n int) []float32 {
	table := make([]float32, 0, 2*n)
	for k := range n {
		table = appendPair(table, double.Root(k, n))
	}
	return table
}

// halfRoots returns the first count values of −i/2·exp(−2πi·k/n), as pairs.
func halfRoots(n, count int) []float32 {
	table := make([]float32, 0, 2*count)
	for k := range count {
		table = appendPair(table, -0.5i*double.Root(k, n))
	}
	return table
}

func appendPair(table []float32, c complex128) []float32 {
	return append(table, float32(real(c)), float32(imag(c)))
}
