package surfaces

import (
	"math"
	"slices"

	"crossover/timings"
)

// Exact is what was measured at one shape.
type Exact struct {
	Seconds []float64 // median of a call, by implementation; NaN if it was not timed

	// Loss is the log of the time of the choice over that of the best implementation. One half of the visits chooses and the
	// other one judges, each in turn, so luck counts against the choice. It is NaN if there are too few blocks.
	Loss float64
}

// ExactAt returns what a set says of the shape that a size stands for.
func ExactAt(set *timings.Set, size int) Exact {
	blocks := quietOf(set.At(size))
	e := Exact{Seconds: make([]float64, len(set.Implementations))}
	for i := range e.Seconds {
		e.Seconds[i] = math.Exp(medianLog(blocks, i))
	}
	a, b := halves(blocks)
	e.Loss = (lossBy(a, b, len(e.Seconds)) + lossBy(b, a, len(e.Seconds))) / 2
	return e
}

// halves splits blocks by their visits, or, if there is one visit, takes every other block.
func halves(blocks []timings.Block) (a, b []timings.Block) {
	var visits []int
	for _, block := range blocks {
		if !slices.Contains(visits, block.Visit) {
			visits = append(visits, block.Visit)
		}
	}
	for k, block := range blocks {
		if len(visits) > 1 {
			k = slices.Index(visits, block.Visit)
		}
		if k%2 == 0 {
			a = append(a, block)
		} else {
			b = append(b, block)
		}
	}
	return a, b
}

// lossBy returns what the choice by some blocks loses on others, NaN if either has no times.
func lossBy(choose, judge []timings.Block, implementations int) float64 {
	chosen, least, best := -1, math.Inf(1), math.Inf(1)
	for i := range implementations {
		if log := medianLog(choose, i); log < least && !math.IsNaN(medianLog(judge, i)) {
			chosen, least = i, log
		}
		if log := medianLog(judge, i); log < best {
			best = log
		}
	}
	if chosen < 0 {
		return math.NaN()
	}
	return medianLog(judge, chosen) - best
}
