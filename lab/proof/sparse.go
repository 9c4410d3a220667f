package proof

import (
	"math"

	"crossover/thresholds"
	"crossover/timings"
)

const (
	// sparseStep is the least factor between the sizes of a sparse run.
	sparseStep = 32
	// sparseInside is the least number of sizes that a left-out run has between the two sizes beside a threshold. Fewer do
	// not say where the threshold is.
	sparseInside = 3
)

// sparse returns a history with few sizes of each run: the least one, and then those that are sparseStep apart. Runs of one
// host have mostly the same ones, as those of cases that get little of the budget. So nothing that the others know says what
// happens between them.
func (h *history) sparse() *history {
	out := &history{processors: h.processors, runs: h.runs}
	for _, p := range h.cases {
		few := past{p.name, map[int]*timings.Set{}}
		for run, set := range p.runs {
			few.runs[run] = sparseSet(set)
		}
		out.cases = append(out.cases, few)
	}
	return out
}

func sparseSet(set *timings.Set) *timings.Set {
	kept := map[int]bool{}
	last := math.Inf(-1)
	for _, size := range set.Sizes() {
		if math.Log(float64(size)) >= last+math.Log(sparseStep) {
			kept[size], last = true, math.Log(float64(size))
		}
	}
	few := *set
	few.Blocks = nil
	for _, b := range set.Blocks {
		if kept[b.Size] {
			few.Blocks = append(few.Blocks, b)
		}
	}
	return &few
}

// insideOf says of a threshold whether enough sizes of the run that judges it are between the two measured ones beside it.
func insideOf(sizes, measured []int) func(s *thresholds.Segment) bool {
	return func(s *thresholds.Segment) bool { return inside(sizes, measured, s.From) >= sparseInside }
}

// inside returns how many sizes are strictly between the two measured ones beside a threshold.
func inside(sizes, measured []int, threshold int) int {
	below, above := 0, 0
	for _, size := range measured {
		if size < threshold {
			below = size
		} else if above == 0 {
			above = size
		}
	}
	count := 0
	for _, size := range sizes {
		if size > below && size < above {
			count++
		}
	}
	return count
}
