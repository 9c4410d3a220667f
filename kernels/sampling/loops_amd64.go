package sampling

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// greatest is greatestGo by the fastest instructions of this processor.
func greatest(x []float32) (most float32, nan bool) {
	whole := len(x) / stride * stride
	if !haveAVX2 || whole == 0 {
		return greatestGo(x)
	}
	most, unordered := greatestAVX2(&x[0], whole)
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
	if !haveAVX2 || whole == 0 {
		return positionGo(x, v)
	}
	if i := positionAVX2(&x[0], whole, v); i < whole {
		return i
	}
	return whole + positionGo(x[whole:], v)
}
