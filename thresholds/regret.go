package thresholds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/timings"
)

// Regret is the cost of choices on timings that had no part in them: the time with the choices divided by that with the best
// ones, minus 1, as a geometric mean over log-size. For right choices it is as often negative as positive, by noise.
type Regret struct {
	Mean  float64
	Upper float64 // upper end of a one-sided interval at Confidence; NaN if too little could be held out
	Parts int     // number of values behind Upper: runs, or sizes of a single run
}

// regret returns the regret of the method's choices for a case. If there are several runs, each is held out in turn, and the
// others choose. If there is a single run, every other visit to a size is held out, or every other block of a single visit.
func (h *history) regret() Regret {
	if len(h.runs) > 1 {
		return h.regretOfRuns()
	}
	return h.regretOfHalves()
}

func (h *history) regretOfRuns() Regret {
	var losses []loss
	for r, groups := range h.runs {
		choose, from, to := h.of(slices.Concat(h.runs[:r], h.runs[r+1:])).choice()
		var all []loss
		spans := spans(sizesOf(groups))
		for s, g := range groups {
			if g.size < from || g.size > to {
				continue // choices promise nothing beyond the measured range
			}
			for _, v := range visitRanges(g) {
				logs := g.logs[v[0]:v[1]]
				if l, ok := halfLoss(logs, h.timedAs(logs, choose(g.size))); ok {
					all = append(all, loss{l, spans[s] * float64(v[1]-v[0]) / float64(len(g.logs))})
				}
			}
		}
		if mean, weight := meanLoss(all); weight > 0 {
			losses = append(losses, loss{mean, weight})
		}
	}
	return regretOf(losses)
}

func (h *history) regretOfHalves() Regret {
	groups := h.runs[0]
	bySize := make([][]loss, len(groups))
	spans := spans(sizesOf(groups))
	for parity := range 2 {
		var rest []group
		for _, g := range groups {
			if kept, _ := g.halves(parity); len(kept.blocks) > 0 {
				rest = append(rest, kept)
			}
		}
		if len(rest) == 0 {
			continue
		}
		choose, _, _ := h.of([][]group{rest}).choice()
		for s, g := range groups {
			kept, out := g.halves(parity)
			if l, ok := heldLoss(middles(kept.logs), middles(out.logs), h.timedAs(g.logs, choose(g.size))); ok {
				bySize[s] = append(bySize[s], loss{l, 1})
			}
		}
	}
	var losses []loss
	for s := range bySize {
		if mean, weight := meanLoss(bySize[s]); weight > 0 {
			losses = append(losses, loss{mean, spans[s]})
		}
	}
	return regretOfSizes(losses)
}

// regretOfSizes returns the regret of a single run from the losses of its sizes. For the upper end, losses at other sizes count
// as seen, so that a few sizes whose losses are all 0 do not promise 0. The halves of a size share its buffers and its minute,
// and a program meets other sizes at other minutes. Of 1 383 such sizes on two hosts, after single runs, three in four lost
// nothing, and one in twenty lost 3 to 10 %.
func regretOfSizes(losses []loss) Regret {
	r := regretOf(losses)
	if len(losses) < 2 {
		return r
	}
	_, span := meanLoss(losses)
	span /= float64(len(losses))
	assumed := []loss{{0, span}, {0, span}, {0, span}, {math.Log(1.1), span}}
	r.Upper = max(r.Upper, regretOf(slices.Concat(losses, assumed)).Upper)
	return r
}

// halves divides the blocks of a size into halves of every other visit, or of every other block if there is a single visit.
func (g group) halves(parity int) (rest, held group) {
	rest.size, held.size = g.size, g.size
	visits := visitRanges(g)
	for k, v := range visits {
		for n := v[0]; n < v[1]; n++ {
			part := &rest
			if len(visits) > 1 && k%2 == parity || len(visits) == 1 && n%2 == parity {
				part = &held
			}
			part.blocks, part.logs = append(part.blocks, g.blocks[n]), append(part.logs, g.logs[n])
		}
	}
	return rest, held
}

// heldLoss returns the log-loss of a choice against the best implementation, which other timings pick. It reports false if
// the choice has no timings, or if no timings pick.
func heldLoss(picked, timed []float64, chosen int) (float64, bool) {
	best := -1
	for i, v := range picked {
		if i < len(timed) && !math.IsNaN(v) && !math.IsNaN(timed[i]) && (best < 0 || v < picked[best]) {
			best = i
		}
	}
	if best < 0 || math.IsNaN(timed[chosen]) {
		return 0, false
	}
	return timed[chosen] - timed[best], true
}

// loss is a log-loss and the log-size that it stands for.
type loss struct{ log, span float64 }

// meanLoss returns the mean over log-size, and the log-size.
func meanLoss(losses []loss) (mean, span float64) {
	var sum float64
	for _, l := range losses {
		sum += l.span * l.log
		span += l.span
	}
	return sum / span, span
}

// regretOf returns the regret of independent losses.
func regretOf(losses []loss) Regret {
	n := float64(len(losses))
	r := Regret{Mean: math.NaN(), Upper: math.NaN(), Parts: len(losses)}
	mean, span := meanLoss(losses)
	if span == 0 {
		return Regret{Mean: math.NaN(), Upper: math.NaN()}
	}
	r.Mean = math.Expm1(mean)
	if len(losses) > 1 {
		var squares float64
		for _, l := range losses {
			squares += l.span * l.span * (l.log - mean) * (l.log - mean)
		}
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(Confidence)
		r.Upper = math.Expm1(mean + t*math.Sqrt(squares*n/(n-1))/span)
	}
	return r
}

// choice returns the choices of a history by size, and its least and greatest size.
func (h *history) choice() (at func(size int) int, from, to int) {
	curves := h.curves()
	stretches := partition(curves.Loss, h.pool.sizes, h.band(studyTwin(h.groups())))
	segs := segments(stretches, &curves, curves.Loss)
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

func sizesOf(groups []group) []int {
	sizes := make([]int, len(groups))
	for s, g := range groups {
		sizes[s] = g.size
	}
	return sizes
}

// halfLoss returns the cross-fitted log-loss of one choice at one size. The best implementation is picked on one half of the
// blocks and timed on the other half, in both directions. Otherwise the least of several noisy times would look too small.
// halfLoss reports false if there are fewer than two blocks, or no time of the choice.
func halfLoss(logs [][]float64, chosen int) (float64, bool) {
	var halves [2][][]float64
	for n, l := range logs {
		halves[n%2] = append(halves[n%2], l)
	}
	even, odd := middles(halves[0]), middles(halves[1])
	one, first := heldLoss(even, odd, chosen)
	other, second := heldLoss(odd, even, chosen)
	return (one + other) / 2, first && second
}

// Slowdown returns the time of a choice at a measured size, divided by the time of the best implementation there. It is
// cross-fitted: the best one is picked on half of the blocks and timed on the other half, because the least of several noisy
// times would look too small. So Slowdown may be below 1. It reports false if there are fewer than two blocks, or no time of
// the choice.
func Slowdown(set *timings.Set, size, chosen int) (float64, bool) {
	loss, ok := halfLoss(groupAt(set, size).logs, chosen)
	return math.Exp(loss), ok
}
