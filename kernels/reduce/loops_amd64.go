package reduce

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// sumBlock is sumBlockGo by the fastest instructions of this processor. len(x) must be a positive multiple of stride.
func sumBlock(x []float32) float32 {
	if haveAVX2 {
		return sumAVX2(&x[0], len(x))
	}
	return sumBlockGo(x)
}
