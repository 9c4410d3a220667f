//go:build amd64 || arm64

package decibels

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// convert is convertGo by the fastest instructions of this processor.
func convert(dst, src []float32, floor, offset float32) {
	if !haveSIMD {
		convertGo(dst, src, floor, offset)
		return
	}
	decibelsSIMD(unsafe.SliceData(dst), unsafe.SliceData(src), len(src), floor, offset)
}
