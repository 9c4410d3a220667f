package thresholds

import (
	"math"

	"crossover/timings"
)

// crossFittedRegret returns the expected regret of the stretches over the measured sizes, relative and at least 0. Sizes
// weigh by the log-size that they stand for.
func crossFittedRegret(groups []group, stretches []stretch) float64 {
	var sum, weight float64
	for _, r := range stretches {
		for s := r.from; s < r.to; s++ {
			loss, ok := halfLoss(groups[s].logs, r.implementation)
			if !ok {
				continue
			}
			w := logSpan(groups, s)
			sum += w * loss
			weight += w
		}
	}
	if weight == 0 {
		return 0
	}
	return max(0, math.Expm1(sum/weight))
}

// halfLoss returns the cross-fitted log-loss of one choice at one size: the best implementation is picked on one half of
// the blocks and timed on the other half, both ways round, so that picking the least of noisy times does not flatter it.
// It reports false with fewer than two blocks, or without a time of the choice.
func halfLoss(logs [][]float64, chosen int) (float64, bool) {
	if len(logs) < 2 {
		return 0, false
	}
	half := func(parity int) []float64 {
		estimates := make([]float64, len(logs[0]))
		for i := range estimates {
			var values []float64
			for b := parity; b < len(logs); b += 2 {
				if !math.IsNaN(logs[b][i]) {
					values = append(values, logs[b][i])
				}
			}
			estimates[i] = median(values)
		}
		return estimates
	}
	even, odd := half(0), half(1)
	one := func(pick, time []float64) float64 {
		best := -1
		for i, v := range pick {
			if !math.IsNaN(v) && !math.IsNaN(time[i]) && (best < 0 || v < pick[best]) {
				best = i
			}
		}
		if best < 0 {
			return math.NaN()
		}
		return time[chosen] - time[best]
	}
	loss := (one(even, odd) + one(odd, even)) / 2
	return loss, !math.IsNaN(loss)
}

// logSpan returns the length in log-size that group s stands for: half the way to each neighbour. It is 1 for a single
// group.
func logSpan(groups []group, s int) float64 {
	low, high := max(s-1, 0), min(s+1, len(groups)-1)
	if low == high {
		return 1
	}
	return math.Log(float64(groups[high].size)/float64(groups[low].size)) / 2
}

// Slowdown returns the time of a choice at a measured size over the time of the best implementation there. It is
// cross-fitted: the best one is picked on half of the blocks and timed on the other half, so that picking the least of
// noisy times does not flatter it. It may be below 1. It reports false with fewer than two blocks, or without a time of the
// choice.
func Slowdown(set *timings.Set, size, chosen int) (float64, bool) {
	loss, ok := halfLoss(groupAt(set, size).logs, chosen)
	return math.Exp(loss), ok
}
