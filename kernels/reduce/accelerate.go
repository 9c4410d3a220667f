package reduce

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// pieceLength is how many values vDSP sums at a time. How its error grows with the length is not documented, and that
// of one float32 accumulator would swallow the tail of a long slice; pieces are added in float64.
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
