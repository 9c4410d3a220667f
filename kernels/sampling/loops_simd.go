//go:build amd64 || arm64

package sampling

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

// greatest is greatestGo by the fastest instructions of this processor.
func greatest(x []float32) (most float32, nan bool) {
	whole := len(x) / stride * stride
	if !haveSIMD || whole == 0 {
		return greatestGo(x)
	}
	most, unordered := greatestSIMD(&x[0], whole)
	nan = unordered != 0
	if whole < len(x) {
		rest, nanInRest := greatestGo(x[whole:])
		most, nan = max(most, rest), nan || nanInRest
	}
	return most, nan
}

// position is positionGo by the fastest instructions of this processor.
func position(x []float32, v float32) int {
	whole := len(x) / 8 * 8
	if !haveSIMD || whole == 0 {
		return positionGo(x, v)
	}
	if i := positionSIMD(&x[0], whole, v); i < whole {
		return i
	}
	return whole + positionGo(x[whole:], v)
}
