package elementwise

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// vectors are the loops in vector code, by the name of the operation. Each takes any number of values n. The result for a
// value does not depend on its place in the slice.
var vectors = map[string]func(dst, src *float32, n int, a, b float32){
	"scale": scaleAVX2, "gain": gainAVX2, "abs": absAVX2, "soft-clip": softClipAVX2, "exp": expAVX2, "log": logAVX2,
	"log1p": log1pAVX2, "pow": powAVX2, "gelu": geluAVX2, "gelu-tanh": geluTanhAVX2, "power": powerAVX2, "magnitude": magnitudeAVX2,
}

// fastest returns the loop of an operation by the fastest instructions of this processor.
func fastest(operation string, inGo loop) loop {
	vector := vectors[operation]
	if !haveAVX2 || vector == nil {
		return inGo
	}
	return func(dst, src []float32, p Params) {
		vector(unsafe.SliceData(dst), unsafe.SliceData(src), len(dst), p.A, p.B)
	}
}
