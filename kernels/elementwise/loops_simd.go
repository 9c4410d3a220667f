//go:build amd64 || arm64

package elementwise

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// vectors are the loops in vector code, by the name of the operation. Each takes any number of values n. The result for a
// value does not depend on its place in the slice.
var vectors = map[string]func(dst, src *float32, n int, a, b float32){
	"scale": scaleSIMD, "gain": gainSIMD, "abs": absSIMD, "soft-clip": softClipSIMD, "exp": expSIMD, "log": logSIMD,
	"log1p": log1pSIMD, "pow": powSIMD, "gelu": geluSIMD, "gelu-tanh": geluTanhSIMD, "power": powerSIMD, "magnitude": magnitudeSIMD,
}

// fastest returns the loop of an operation by the fastest instructions of this processor.
func fastest(operation string, inGo loop) loop {
	vector := vectors[operation]
	if !haveSIMD || vector == nil {
		return inGo
	}
	return func(dst, src []float32, p Params) {
		vector(unsafe.SliceData(dst), unsafe.SliceData(src), len(dst), p.A, p.B)
	}
}
