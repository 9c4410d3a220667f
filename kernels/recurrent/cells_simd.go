//go:build amd64 || arm64

package recurrent

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// advanceLSTM is advanceLSTMGo by the fastest instructions of this processor.
func advanceLSTM(y, c, gates []float32) {
	if !haveSIMD {
		advanceLSTMGo(y, c, gates)
		return
	}
	n := len(y)
	_, _ = c[:n], gates[:4*n]
	advanceLSTMSIMD(unsafe.SliceData(y), unsafe.SliceData(c), unsafe.SliceData(gates), n)
}

// advanceGRU is advanceGRUGo by the fastest instructions of this processor.
func advanceGRU(y, h, gates, parts []float32) {
	if !haveSIMD {
		advanceGRUGo(y, h, gates, parts)
		return
	}
	n := len(y)
	_, _, _ = h[:n], gates[:3*n], parts[:3*n]
	advanceGRUSIMD(unsafe.SliceData(y), unsafe.SliceData(h), unsafe.SliceData(gates), unsafe.SliceData(parts), n)
}
