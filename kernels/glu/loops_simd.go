//go:build amd64 || arm64

package glu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// gate is gateGo by the fastest instructions of this processor.
func gate(dst, a, b []float32) {
	if !haveSIMD {
		gateGo(dst, a, b)
		return
	}
	gateSIMD(unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b), len(dst))
}
