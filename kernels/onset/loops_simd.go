//go:build amd64 || arm64

package onset

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// rise is riseGo by the fastest instructions of this processor.
func rise(now, before []float32) float32 {
	whole := len(before) / 8 * 8
	if !haveSIMD || whole == 0 {
		return riseGo(now, before)
	}
	return riseSIMD(&now[0], &before[0], whole) + riseGo(now[whole:], before[whole:])
}
