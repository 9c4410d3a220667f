//go:build amd64 || arm64

package norm

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// fastest returns the fastest loops of this processor.
func fastest() loops {
	if !haveSIMD {
		return inGo
	}
	return loops{momentsVector, compensatedVector, perColumnVector, scaledVector, perChannelVector}
}

func momentsVector(x []float32, shift float32) (sum, squares float32) {
	return momentsSIMD(&x[0], len(x), shift)
}

func compensatedVector(x []float32) (sums [4]lanes) {
	if len(x) > 0 {
		compensatedSIMD(&sums[0][0], &x[0], len(x))
	}
	return sums
}

func perColumnVector(dst, src, weights, bias []float32, mean, factor float32) {
	dst, weights, bias = dst[:len(src)], weights[:len(src)], bias[:len(src)]
	whole := len(src) / vector * vector
	if whole > 0 {
		perColumnSIMD(&dst[0], &src[0], &weights[0], &bias[0], whole, mean, factor)
	}
	perColumnGo(dst[whole:], src[whole:], weights[whole:], bias[whole:], mean, factor)
}

func scaledVector(dst, src, weights []float32, factor float32) {
	dst, weights = dst[:len(src)], weights[:len(src)]
	whole := len(src) / vector * vector
	if whole > 0 {
		scaledSIMD(&dst[0], &src[0], &weights[0], whole, factor)
	}
	scaledGo(dst[whole:], src[whole:], weights[whole:], factor)
}

func perChannelVector(dst, src []float32, mean, weight, bias float32) {
	dst = dst[:len(src)]
	whole := len(src) / vector * vector
	if whole > 0 {
		perChannelSIMD(&dst[0], &src[0], whole, mean, weight, bias)
	}
	perChannelGo(dst[whole:], src[whole:], mean, weight, bias)
}
