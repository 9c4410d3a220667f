package decibels

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// convert is convertGo by the fastest instructions of this processor.
func convert(dst, src []float32, floor, offset float32) {
	if !haveAVX2 {
		convertGo(dst, src, floor, offset)
		return
	}
	decibelsAVX2(unsafe.SliceData(dst), unsafe.SliceData(src), len(src), floor, offset)
}
