//go:build amd64 || arm64

package mel

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// eight is eightGo by the fastest instructions of this processor.
func (b *banded) eight(bands, power []float32) {
	if !haveSIMD || len(b.weights) == 0 {
		b.eightGo(bands, power)
		return
	}
	bandsSIMD(&bands[0], &power[0], &b.weights[0], &b.spans[0].first, len(b.spans))
}
