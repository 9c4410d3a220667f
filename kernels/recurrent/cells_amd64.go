package recurrent

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// advanceLSTM is advanceLSTMGo by the fastest instructions of this processor.
func advanceLSTM(y, c, gates []float32) {
	if !haveAVX2 {
		advanceLSTMGo(y, c, gates)
		return
	}
	n := len(y)
	_, _ = c[:n], gates[:4*n]
	advanceLSTMAVX2(unsafe.SliceData(y), unsafe.SliceData(c), unsafe.SliceData(gates), n)
}

// advanceGRU is advanceGRUGo by the fastest instructions of this processor.
func advanceGRU(y, h, gates, parts []float32) {
	if !haveAVX2 {
		advanceGRUGo(y, h, gates, parts)
		return
	}
	n := len(y)
	_, _, _ = h[:n], gates[:3*n], parts[:3*n]
	advanceGRUAVX2(unsafe.SliceData(y), unsafe.SliceData(h), unsafe.SliceData(gates), unsafe.SliceData(parts), n)
}
