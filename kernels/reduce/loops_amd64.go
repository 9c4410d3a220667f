package reduce

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// leastVector is the least number of values that the kernels of extremes take.
const leastVector = 8

// sumBlock is sumBlockGo by the fastest instructions of this processor. len(x) must be a positive multiple of stride.
func sumBlock(x []float32) float32 {
	if haveAVX2 {
		return sumAVX2(&x[0], len(x))
	}
	return sumBlockGo(x)
}

// greatest is greatestGo by the fastest instructions of this processor.
func greatest(x []float32) float32 {
	if haveAVX2 && len(x) >= leastVector {
		return maxAVX2(&x[0], len(x))
	}
	return greatestGo(x)
}

// least is leastGo by the fastest instructions of this processor.
func least(x []float32) float32 {
	if haveAVX2 && len(x) >= leastVector {
		return minAVX2(&x[0], len(x))
	}
	return leastGo(x)
}

// index is indexGo by the fastest instructions of this processor.
func index(x []float32, v float32) int {
	if haveAVX2 && len(x) >= leastVector && v == v {
		return indexAVX2(&x[0], len(x), v)
	}
	return indexGo(x, v)
}
