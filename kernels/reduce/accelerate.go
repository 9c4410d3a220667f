package reduce

import "crossover/accelerate"

// framework sums by Apple's vDSP, on one core and in float32.
type framework struct{}

func newFramework(params) (engine, error) { return framework{}, nil }

// pieceLength is how many values vDSP sums at a time. How its error grows with the length is not documented, and that
// of one float32 accumulator would swallow the tail of a long slice; pieces are added in float64.
const pieceLength = 1 << 16

func (framework) sum(x []float32) (float32, error) {
	var total float64
	for len(x) > 0 {
		piece := x[:min(pieceLength, len(x))]
		total += float64(accelerate.Sum(piece))
		x = x[len(piece):]
	}
	return float32(total), nil
}
