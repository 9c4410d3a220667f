package surfaces

import (
	"math"
	"slices"

	"crossover/timings"
)

// Points returns the log-time of each implementation at each shape of a set: the median of the undisturbed blocks. If all blocks
// of a shape are disturbed, it is their least one, because a disturbance makes calls slower. shape returns the shape that a size
// stands for.
//
// In the samples of runs beside H200s, 93 % of the shapes that were visited once had disturbed blocks only. The times of a serial
// implementation in such a visit differed by 16 % in the median, and by more than 42 % in a quarter of them. By least ones instead
// of medians, the choices of two files lost 1.4 and 1.7 % instead of 2.1 and 2.9 % at the same 210 shapes.
func Points(set *timings.Set, shape func(size int) []int) []Point {
	var all []Point
	for _, size := range set.Sizes() {
		blocks := quietOf(set.At(size))
		p := Point{Shape: shape(size), LogSeconds: make([]float64, len(set.Implementations)), Disturbed: blocks[0].Disturbed}
		of := medianLog
		if p.Disturbed {
			of = leastLog
		}
		for i := range set.Implementations {
			p.LogSeconds[i] = of(blocks, i)
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

// leastLog returns the least of an implementation's log-times, or NaN if it was not timed.
func leastLog(blocks []timings.Block, i int) float64 {
	least := math.NaN()
	for k := range blocks {
		if log := math.Log(blocks[k].Seconds[i]); blocks[k].Timed(i) && !(log >= least) {
			least = log
		}
	}
	return least
}
