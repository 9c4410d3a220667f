package thresholds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"

	"crossover/timings"
)

// assumedBetweenRuns is the assumed standard deviation of a log-ratio from run to run, if a host has a single run. Between
// real runs 0 to 2.6 % were measured in seven of ten cases, and 4.5 to 9 % in the others.
const assumedBetweenRuns = 0.015

// assumedFreedom is the number of degrees of freedom of that assumption. It is small because the measured deviations differ
// much.
const assumedFreedom = 4

// prior is what is known of a variance before the runs of a case are considered.
type prior struct {
	square  float64 // the variance
	freedom float64 // weight of the prior, in degrees of freedom
}

// studyRuns learns the priors: for each pair of processors, the distribution of the variances of log-ratios at the switches
// of all cases. Source: G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression, 2004,
// section 6.2.
func (p *Processors) studyRuns(cases [][]*timings.Set) {
	type sample struct{ squares, freedoms []float64 }
	samples := map[[2]string]*sample{}
	for _, sets := range cases {
		h := newHistory(sets)
		if len(h.runs) < 2 {
			continue
		}
		curves := h.curves()
		stretches := partition(curves.Loss, curves.Sizes, math.Log1p(studyTwin(h.groups()).tie))
		segs := segments(stretches, curves.Loss, curves.Sizes)
		for n := 1; n < len(segs); n++ {
			offs := h.offs(segs, n, curves.Loss)
			if len(offs) < 2 {
				continue
			}
			pair := p.pair(h.implementations[segs[n-1].Implementation], h.implementations[segs[n].Implementation])
			if samples[pair] == nil {
				samples[pair] = &sample{}
			}
			s := samples[pair]
			s.squares = append(s.squares, max(stat.Variance(offs, nil), 1e-8))
			s.freedoms = append(s.freedoms, float64(len(offs)-1))
		}
	}
	p.between = map[[2]string]prior{}
	for pair, s := range samples {
		if len(s.squares) >= leastSwitches {
			known := fitPrior(s.squares, s.freedoms)
			known.freedom = min(known.freedom, mostFreedom)
			p.between[pair] = known
		}
	}
}

// leastSwitches is the least number of switches from which a prior is learnt.
const leastSwitches = 4

// mostFreedom is the greatest number of degrees of freedom of a prior. The switches of a host are too few to show that their
// variances are alike. Between real runs the variances were not alike: see assumedBetweenRuns.
const mostFreedom = 8

// pair returns the processors of two implementations in a fixed order.
func (p *Processors) pair(i, j string) [2]string {
	if p == nil {
		return [2]string{}
	}
	pair := [2]string{p.of[i], p.of[j]}
	slices.Sort(pair[:])
	return pair
}

// learnt returns the prior that the runs of all cases give for two processors, and whether there is one.
func (p *Processors) learnt(pair [2]string) (prior, bool) {
	if p == nil {
		return prior{}, false
	}
	known, ok := p.between[pair]
	return known, ok
}

// assumes reports whether the interval of the n-th switch uses the assumed deviation between runs.
func (h *history) assumes(p *Processors, segs []Segment, n int) bool {
	_, known := p.learnt(p.pair(h.implementations[segs[n-1].Implementation], h.implementations[segs[n].Implementation]))
	return len(h.runs) == 1 && !known
}

// offNear is the factor around a switch within which sizes count for the deviation of a run.
const offNear = 1.2

// offs returns, for each run, the difference between its log-ratio of the n-th switch's implementations and that of all runs
// together, near the switch.
func (h *history) offs(segs []Segment, n int, loss [][]float64) []float64 {
	i, j := segs[n-1].Implementation, segs[n].Implementation
	var offs []float64
	for r, table := range h.losses {
		sum, weight := 0.0, 0.0
		for s, size := range h.pool.sizes {
			w := 1 - math.Abs(math.Log(float64(size)/segs[n].edge))/math.Log(offNear)
			d := h.pool.places[r][s].at(table[i]) - h.pool.places[r][s].at(table[j]) - (loss[i][s] - loss[j][s])
			if w > 0 && !math.IsNaN(d) && !math.IsInf(d, 0) {
				sum += w * d
				weight += w
			}
		}
		if weight > 0 {
			offs = append(offs, sum/weight)
		}
	}
	return offs
}

// between returns, for each switch, the deviation of its log-ratio from run to run.
func (h *history) between(p *Processors, segs []Segment, loss [][]float64) []deviation {
	out := make([]deviation, len(segs))
	for n := 1; n < len(segs); n++ {
		known := prior{assumedBetweenRuns * assumedBetweenRuns, assumedFreedom}
		pair := p.pair(h.implementations[segs[n-1].Implementation], h.implementations[segs[n].Implementation])
		if p != nil && pair[0] != pair[1] {
			known.square += p.apart.sd * p.apart.sd
		}
		if learnt, ok := p.learnt(pair); ok {
			known = learnt
		}
		offs := h.offs(segs, n, loss)
		freedom := known.freedom
		square := known.square
		if len(offs) >= 2 {
			own := float64(len(offs) - 1)
			square = (known.freedom*known.square + own*stat.Variance(offs, nil)) / (known.freedom + own)
			freedom += own
		}
		out[n] = deviation{math.Sqrt(square), int(math.Round(min(max(freedom, 1), 1000)))}
	}
	return out
}

// fitPrior fits a scaled F distribution to variances.
func fitPrior(squares, freedoms []float64) prior {
	var logs []float64
	within := 0.0
	for k, square := range squares {
		half := freedoms[k] / 2
		logs = append(logs, math.Log(square)-mathext.Digamma(half)+math.Log(half))
		within += trigamma(half) / float64(len(squares))
	}
	mean, beyond := stat.Mean(logs, nil), stat.Variance(logs, nil)-within
	if beyond <= 0 {
		return prior{math.Exp(mean), 1000}
	}
	half := inverseTrigamma(beyond)
	return prior{math.Exp(mean + mathext.Digamma(half) - math.Log(half)), 2 * half}
}

// trigamma is the derivative of the digamma function.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma returns the x with trigamma(x) = y, by bisection.
func inverseTrigamma(y float64) float64 {
	lo, hi := 1e-3, 1e6
	for range 200 {
		m := math.Sqrt(lo * hi)
		if trigamma(m) > y {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}
