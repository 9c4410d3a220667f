package elementwise

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// lanes is the number of values that the vector kernels take at a time. The kernels also compute the rest of a slice, in a
// buffer. So the result for a value does not depend on its place in the slice.
const lanes = 8

// scale is scaleGo by the fastest instructions of this processor.
func scale(dst, src []float32, a, b float32) {
	if !haveAVX2 {
		scaleGo(dst, src, a, b)
		return
	}
	dst = dst[:len(src)]
	whole := len(src) / lanes * lanes
	if whole > 0 {
		scaleAVX2(&dst[0], &src[0], whole, a, b)
	}
	if whole < len(src) {
		var rest [lanes]float32
		copy(rest[:], src[whole:])
		scaleAVX2(&rest[0], &rest[0], lanes, a, b)
		copy(dst[whole:], rest[:])
	}
}

// log is logGo by the fastest instructions of this processor.
func log(dst, src []float32) {
	if !haveAVX2 {
		logGo(dst, src)
		return
	}
	dst = dst[:len(src)]
	whole := len(src) / lanes * lanes
	if whole > 0 {
		logAVX2(&dst[0], &src[0], whole)
	}
	if whole < len(src) {
		var rest [lanes]float32
		copy(rest[:], src[whole:])
		logAVX2(&rest[0], &rest[0], lanes)
		copy(dst[whole:], rest[:])
	}
}
