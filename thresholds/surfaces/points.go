package surfaces

import (
	"math"
	"slices"

	"crossover/timings"
)

// Points returns the median log-time of each implementation at each shape of a set. shape returns the shape that a size
// stands for. Disturbed blocks count only at shapes that have no others.
func Points(set *timings.Set, shape func(size int) []int) []Point {
	var all []Point
	for _, size := range set.Sizes() {
		p := Point{Shape: shape(size), LogSeconds: make([]float64, len(set.Implementations))}
		blocks := quietOf(set.At(size))
		for i := range set.Implementations {
			p.LogSeconds[i] = medianLog(blocks, i)
		}
		all = append(all, p)
	}
	return all
}

// quietOf returns the undisturbed blocks, or all blocks if there are none.
func quietOf(blocks []timings.Block) []timings.Block {
	quiet := slices.DeleteFunc(slices.Clone(blocks), func(b timings.Block) bool { return b.Disturbed })
	if len(quiet) == 0 {
		return blocks
	}
	return quiet
}

// medianLog returns the median of an implementation's log-times, or NaN if it was not timed.
func medianLog(blocks []timings.Block, i int) float64 {
	var logs []float64
	for k := range blocks {
		if blocks[k].Timed(i) {
			logs = append(logs, math.Log(blocks[k].Seconds[i]))
		}
	}
	if len(logs) == 0 {
		return math.NaN()
	}
	slices.Sort(logs)
	return (logs[(len(logs)-1)/2] + logs[len(logs)/2]) / 2
}
