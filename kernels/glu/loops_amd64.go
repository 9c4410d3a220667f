package glu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// gate is gateGo by the fastest instructions of this processor.
func gate(dst, a, b []float32) {
	if !haveAVX2 {
		gateGo(dst, a, b)
		return
	}
	gateAVX2(unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b), len(dst))
}
