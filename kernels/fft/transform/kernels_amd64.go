package transform

import "golang.org/x/sys/cpu"

//go:generate go run ./asm -out lanes_amd64.s -stubs lanes_stubs_amd64.go -pkg transform

// haveLanes says whether the processor runs the kernels of lanes_amd64.s.
var haveLanes = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// laneTransform is a complex transform in vectors, in two steps: lanes or a grid.
type laneTransform interface {
	Complex
	// columns runs the first step on interleaved src, with the signs of its imaginary parts flipped by sign. src may be
	// input.
	columns(src []float32, sign uint32)
	// split runs the second step into re and im, rows of m values that begin pitch values apart. pitch is at least 8.
	split(re, im []float32, pitch int)
	// interleaved runs the second step into dst, with real and imaginary parts scaled.
	interleaved(dst []complex64, scaleRe, scaleIm float32)
	// rows returns the number of rows and m.
	rows() (width, m int)
	// input is room for interleaved values. room is free between the steps: for 2·pitch values a row and 32 more.
	input() []float32
	room() []float32
}

// forwardIn is the forward transform in two steps.
func forwardIn(t laneTransform, dst, src []complex64) {
	t.columns(floats(src), 0)
	t.interleaved(dst, 1, 1)
}

// inverseIn is the inverse one of length n: the conjugate of the forward transform of the conjugate, over n.
func inverseIn(t laneTransform, n int, dst, src []complex64) {
	t.columns(floats(src), signBit)
	scale := float32(1 / float64(n))
	t.interleaved(dst, scale, -scale)
}

// newLaneTransform returns the transform of length n, or nil where the kernels do not apply: n is less than 16, or has a
// prime factor above 5 or none below, or the processor lacks the instructions.
func newLaneTransform(n int) laneTransform {
	t := newLanes(n, 1)
	if t == nil {
		return nil
	}
	if width, cost := gridWidth(n); width > 0 && cost < lanesCost(t.width, t.m) {
		return newGrid(n, width)
	}
	return t
}

// multiply writes the element-wise product of a and b, of equal lengths, to dst, which may be one of them.
func multiply(dst, a, b []complex64) {
	done := 0
	if groups := len(a) / 4; haveLanes && groups > 0 {
		product(&floats(dst)[0], &floats(a)[0], &floats(b)[0], groups)
		done = 4 * groups
	}
	multiplyGo(dst[done:], a[done:], b[done:])
}
