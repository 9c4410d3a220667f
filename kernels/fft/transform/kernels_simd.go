//go:build amd64 || arm64

package transform

import "golang.org/x/sys/cpu"

//go:generate go run ./asm -out lanes_amd64.s -stubs lanes_stubs_amd64.go -pkg transform
//go:generate go run ../../neon -in lanes_amd64.s -in-stubs lanes_stubs_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// haveLanes says whether the processor can run the kernels of lanes_amd64.s or neon_arm64.s: it has AVX2 and FMA, or NEON.
var haveLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// laneTransform is a complex transform in vectors and in two steps. Types lanes and grid are laneTransforms.
type laneTransform interface {
	Complex
	// columns runs the first step on interleaved src. It flips the signs of imaginary parts if sign is signBit, and not if
	// sign is 0. src may be input.
	columns(src []float32, sign uint32)
	// split runs the second step. Its results go to re and im, in rows of m values that begin pitch values apart. pitch is
	// at least 8.
	split(re, im []float32, pitch int)
	// interleaved runs the second step. Its results go to dst, with real and imaginary parts scaled.
	interleaved(dst []complex64, scaleRe, scaleIm float32)
	// rows returns the number of rows and m.
	rows() (width, m int)
	// input returns memory for interleaved values. room returns memory that is free after the first step: 2·pitch values for
	// each row, and 32 more.
	input() []float32
	room() []float32
}

// forwardIn computes a forward transform in two steps.
func forwardIn(t laneTransform, dst, src []complex64) {
	t.columns(floats(src), 0)
	t.interleaved(dst, 1, 1)
}

// inverseIn computes an inverse transform of length n: the conjugate of the forward transform of the conjugate, divided by
// n.
func inverseIn(t laneTransform, n int, dst, src []complex64) {
	t.columns(floats(src), signBit)
	scale := float32(1 / float64(n))
	t.interleaved(dst, scale, -scale)
}

// newLaneTransform returns the transform of length n, or nil if the kernels do not apply. They need n of at least 16
// without a prime factor above 7.
func newLaneTransform(n int) laneTransform {
	t := newLanes(n, 1)
	width, cost := gridWidth(n)
	switch {
	case haveLanes && width > 0 && (t == nil || t.width == 7 || cost < lanesCost(t.width, t.m)):
		return newGrid(n, width)
	case t == nil:
		return nil
	}
	return t
}

// Scale multiplies the values of x by a factor.
func Scale(x []float32, by float32) {
	done := 0
	if groups := len(x) / 32; haveLanes && groups > 0 {
		scaleBy(&x[0], groups, by)
		done = 32 * groups
	}
	scaleGo(x[done:], by)
}

// multiply is multiplyGo by the fastest instructions of this processor.
func multiply(dst, a, b []complex64) {
	done := 0
	if groups := len(a) / 4; haveLanes && groups > 0 {
		product(&floats(dst)[0], &floats(a)[0], &floats(b)[0], groups)
		done = 4 * groups
	}
	multiplyGo(dst[done:], a[done:], b[done:])
}
