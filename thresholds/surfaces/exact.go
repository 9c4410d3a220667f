package surfaces

import (
	"math"
	"slices"

	"crossover/timings"
)

// Exact is what was measured at one shape.
type Exact struct {
	Seconds []float64 // median of a call, by implementation; NaN if it was not timed

	// Halves are the medians of the two halves of the visits.
	Halves [2][]float64

	// Loss is the log of the ratio of the choice's time to that of the best implementation. Each half of the visits chooses
	// once, and the other half judges. The best implementation is that of the judging half, so luck counts against the
	// choice. Loss is NaN if there are too few blocks.
	Loss float64
}

// ExactAt returns what was measured at the shape that a size stands for. Disturbed blocks count only if there are no others.
func ExactAt(set *timings.Set, size int) Exact {
	blocks := quietOf(set.At(size))
	e := Exact{Seconds: make([]float64, len(set.Implementations))}
	for i := range e.Seconds {
		e.Seconds[i] = math.Exp(medianLog(blocks, i))
	}
	a, b := halves(blocks)
	for h, half := range [][]timings.Block{a, b} {
		for i := range e.Seconds {
			e.Halves[h] = append(e.Halves[h], math.Exp(medianLog(half, i)))
		}
	}
	e.Loss = (lossBy(a, b, len(e.Seconds)) + lossBy(b, a, len(e.Seconds))) / 2
	return e
}

// Fastest returns the implementation with the least median, −1 if none was timed.
func (e *Exact) Fastest() int {
	best := -1
	for i, v := range e.Seconds {
		if v > 0 && (best < 0 || v < e.Seconds[best]) {
			best = i
		}
	}
	return best
}

// Lead returns how many times as long as an implementation the best other one takes: the less and the greater of two ratios, one
// for each half of the visits. Both are 0 if no half has another one.
func (e *Exact) Lead(of int) (least, most float64) {
	for _, half := range e.Halves {
		next := math.Inf(1)
		for i, v := range half {
			if i != of && v > 0 {
				next = min(next, v)
			}
		}
		if ratio := next / half[of]; ratio > 0 && !math.IsInf(ratio, 1) {
			if least == 0 {
				least = ratio
			}
			least, most = min(least, ratio), max(most, ratio)
		}
	}
	return least, most
}

// halves divides blocks into two halves by their visits. If there is a single visit, each half has every other block.
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

// lossBy returns the loss in the blocks judge of the implementation that is fastest in the blocks choose. It returns NaN if
// no implementation was timed in both.
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
