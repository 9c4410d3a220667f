//go:build amd64 || arm64

package reduce

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// leastVector is the least number of values that the kernels of extremes take.
const leastVector = 8

// sumBlock is sumBlockGo by the fastest instructions of this processor. len(x) must be a positive multiple of stride.
func sumBlock(x []float32) float32 {
	if haveSIMD {
		return sumSIMD(&x[0], len(x))
	}
	return sumBlockGo(x)
}

// greatest is greatestGo by the fastest instructions of this processor.
func greatest(x []float32) float32 {
	if haveSIMD && len(x) >= leastVector {
		return maxSIMD(&x[0], len(x))
	}
	return greatestGo(x)
}

// least is leastGo by the fastest instructions of this processor.
func least(x []float32) float32 {
	if haveSIMD && len(x) >= leastVector {
		return minSIMD(&x[0], len(x))
	}
	return leastGo(x)
}

// index is indexGo by the fastest instructions of this processor.
func index(x []float32, v float32) int {
	if haveSIMD && len(x) >= leastVector && v == v {
		return indexSIMD(&x[0], len(x), v)
	}
	return indexGo(x, v)
}
