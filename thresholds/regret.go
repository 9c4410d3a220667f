package thresholds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Regret is what choices cost on timings that did not choose: the time under the choices over that of the best ones, minus
// 1, as a geometric mean over log-size. Noise makes it negative where the choices are right, as often as it makes it
// greater.
type Regret struct {
	Mean  float64
	Upper float64 // of a one-sided interval at Confidence; NaN where too little could be held out for one
	Parts int     // how many were held out, one after the other: runs, or parts of a single run
}

// folds is how many parts the visits of a single run are divided into.
const folds = 5

// regret returns the regret of what the method chooses for a case. Each run is held out in turn, and the others choose. Of
// a single run every fifth visit is held out.
func (h *history) regret() Regret {
	var logs []float64
	for _, part := range h.parts() {
		choice, from, to := part.rest.choice()
		if loss, ok := part.held.loss(choice, from, to); ok {
			logs = append(logs, loss)
		}
	}
	r := Regret{Mean: math.NaN(), Upper: math.NaN(), Parts: len(logs)}
	if r.Parts > 0 {
		r.Mean = math.Expm1(stat.Mean(logs, nil))
	}
	if r.Parts > 1 {
		n := float64(r.Parts)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(Confidence)
		r.Upper = math.Expm1(stat.Mean(logs, nil) + t*stat.StdDev(logs, nil)/math.Sqrt(n))
	}
	return r
}

// part is a part of a history that is held out, and what is left.
type part struct{ held, rest *history }

func (h *history) parts() []part {
	var parts []part
	if len(h.runs) > 1 {
		for r := range h.runs {
			parts = append(parts, part{h.of(h.runs[r : r+1]), h.of(slices.Concat(h.runs[:r], h.runs[r+1:]))})
		}
		return parts
	}
	for k := range folds {
		mine := func(visit int) bool { return visit%folds == k }
		held, rest := visited(h.runs[0], mine), visited(h.runs[0], func(visit int) bool { return !mine(visit) })
		if len(held) > 0 && len(rest) > 0 {
			parts = append(parts, part{h.of([][]group{held}), h.of([][]group{rest})})
		}
	}
	return parts
}

// of returns the history of some runs, or parts of runs, of the same case.
func (h *history) of(runs [][]group) *history {
	return &history{implementations: h.implementations, runs: runs, pool: newPool(runs)}
}

// visited returns the groups with the blocks of some visits only.
func visited(groups []group, want func(visit int) bool) []group {
	var out []group
	for _, g := range groups {
		some := group{size: g.size}
		for n, b := range g.blocks {
			if want(b.Visit) {
				some.blocks, some.logs = append(some.blocks, b), append(some.logs, g.logs[n])
			}
		}
		if len(some.blocks) > 0 {
			out = append(out, some)
		}
	}
	return out
}

// choice returns what a history chooses at a size, and the least and the greatest size that it knows of.
func (h *history) choice() (at func(size int) int, from, to int) {
	loss := h.curves().Loss
	stretches := partition(loss, h.pool.sizes, math.Log1p(studyTwin(h.groups()).tie))
	segs := segments(stretches, loss, h.pool.sizes)
	return func(size int) int {
		chosen := segs[0].Implementation
		for _, s := range segs[1:] {
			if size >= s.From {
				chosen = s.Implementation
			}
		}
		return chosen
	}, h.pool.sizes[0], h.pool.sizes[len(h.pool.sizes)-1]
}

// loss returns the mean over log-size of the log-loss of choices on the visits of a history to the sizes of a range. It
// reports false where no visit says anything.
func (h *history) loss(choice func(size int) int, from, to int) (float64, bool) {
	var sum, weight float64
	for _, groups := range h.runs {
		spans := spans(sizesOf(groups))
		for s, g := range groups {
			if g.size < from || g.size > to {
				continue // nobody promises anything beyond the measured range
			}
			chosen, visits := choice(g.size), visitRanges(g)
			for _, v := range visits {
				if loss, ok := halfLoss(g.logs[v[0]:v[1]], chosen); ok {
					w := spans[s] / float64(len(visits))
					sum += w * loss
					weight += w
				}
			}
		}
	}
	return sum / weight, weight > 0
}

func sizesOf(groups []group) []int {
	sizes := make([]int, len(groups))
	for s, g := range groups {
		sizes[s] = g.size
	}
	return sizes
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

// Slowdown returns the time of a choice at a measured size over the time of the best implementation there. It is
// cross-fitted: the best one is picked on half of the blocks and timed on the other half, so that picking the least of
// noisy times does not flatter it. It may be below 1. It reports false with fewer than two blocks, or without a time of the
// choice.
func Slowdown(set *timings.Set, size, chosen int) (float64, bool) {
	loss, ok := halfLoss(groupAt(set, size).logs, chosen)
	return math.Exp(loss), ok
}
