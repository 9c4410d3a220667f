package reduce

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// pieceLength is the number of values that vDSP sums at a time. The sums of pieces are added in float64. How the error of
// vDSP grows with the length is not documented. A single float32 accumulator would lose the tail of a long slice.
const pieceLength = 1 << 16

// newFramework sums by Apple's vDSP, on one core and in float32.
func newFramework(Params) (kernels.Runner, error) {
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		var total float64
		for x := a[1]; len(x) > 0; {
			piece := x[:min(pieceLength, len(x))]
			total += float64(accelerate.Sum(piece))
			x = x[len(piece):]
		}
		a[0][0] = float32(total)
		return nil
	}), nil
}
