package rules

import (
	"math"

	"crossover/thresholds"
	"crossover/timings"
)

// Score says what a rule's choices cost at sizes that the rule did not see.
type Score struct {
	Sizes  int     // number of sizes at which the choices were judged
	Regret float64 // geometric mean of the slowdowns against the best implementation, minus 1; may be negative by noise
	Worst  float64 // greatest slowdown, minus 1
	// Thresholds is the mean number of thresholds of the two choices.
	Thresholds float64
}

// HeldOut scores a rule on one case's samples. The rule chooses on every other measured size and is judged at the sizes
// between, then the other way round. The slowdown at a size is cross-fitted, see thresholds.Slowdown. HeldOut reports
// false if there are fewer than four sizes.
func HeldOut(set *timings.Set, r Rule) (Score, bool) {
	sizes := set.Sizes()
	if len(sizes) < 4 {
		return Score{}, false
	}
	var score Score
	sum := 0.0
	for fold := range 2 {
		seen := &timings.Set{Case: set.Case, Implementations: set.Implementations}
		held := map[int]bool{}
		for k, size := range sizes {
			// The ends stay, because no rule says anything beyond the measured range.
			held[size] = k%2 == fold && k > 0 && k < len(sizes)-1
		}
		for _, b := range set.Blocks {
			if !held[b.Size] {
				seen.Blocks = append(seen.Blocks, b)
			}
		}
		choice := r.Choose(seen)
		if len(choice.From) == 0 {
			return Score{}, false
		}
		score.Thresholds += float64(choice.Thresholds()) / 2
		for _, size := range sizes {
			if !held[size] {
				continue
			}
			slowdown, ok := thresholds.Slowdown(set, size, choice.At(size))
			if !ok {
				continue
			}
			score.Sizes++
			sum += math.Log(slowdown)
			score.Worst = max(score.Worst, slowdown-1)
		}
	}
	if score.Sizes == 0 {
		return Score{}, false
	}
	score.Regret = math.Expm1(sum / float64(score.Sizes))
	return score, true
}
