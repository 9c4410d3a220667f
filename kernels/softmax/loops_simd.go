//go:build amd64 || arm64

package softmax

import (
	"math"

	"golang.org/x/sys/cpu"
)

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// fastest returns the fastest loops of this processor.
func fastest() loops {
	if haveSIMD {
		return loops{largest: largestVector, exponentials: exponentialsVector, scale: scaleVector}
	}
	return inGo
}

// lanes is the number of values that the vector code takes at a time. The rest of a row is computed in a buffer padded with
// −Inf, which changes neither a maximum nor a sum of exponentials.
const lanes = 8

type buffer [lanes]float32

func padded(rest []float32) buffer {
	var b buffer
	for i := copy(b[:], rest); i < lanes; i++ {
		b[i] = float32(math.Inf(-1))
	}
	return b
}

func largestVector(x []float32) float32 {
	whole := len(x) / lanes * lanes
	most := float32(math.Inf(-1))
	if whole > 0 {
		most = maxSIMD(&x[0], whole)
	}
	if whole < len(x) {
		rest := padded(x[whole:])
		most = max(most, maxSIMD(&rest[0], lanes))
	}
	return most
}

func exponentialsVector(dst, src []float32, shift float32) float32 {
	dst = dst[:len(src)]
	whole := len(src) / lanes * lanes
	var sum float32
	if whole > 0 {
		sum = expSIMD(&dst[0], &src[0], whole, shift)
	}
	if whole < len(src) {
		rest := padded(src[whole:])
		sum += expSIMD(&rest[0], &rest[0], lanes, shift)
		copy(dst[whole:], rest[:])
	}
	return sum
}

func scaleVector(x []float32, factor float32) {
	whole := len(x) / lanes * lanes
	if whole > 0 {
		scaleSIMD(&x[0], whole, factor)
	}
	scaleGo(x[whole:], factor)
}
