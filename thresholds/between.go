package thresholds

import (
	"cmp"
	"math"
	"math/rand/v2"
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
		stretches := partition(curves.Loss, curves.Sizes, h.band(studyTwin(h.groups())))
		segs := segments(stretches, &curves, curves.Loss)
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
			square, freedom := EmpiricalBayes(s.squares, s.freedoms)
			p.between[pair] = prior{square, min(freedom, mostFreedom)}
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

// offs returns, for each run that has both of the n-th switch's implementations, the difference between its log-ratio of the
// two and that of all runs together, near the switch. If no measured size is near, that is the difference at the switch. A run
// with a wide gap there says how curves bend and not how runs differ, so it is left out.
func (h *history) offs(segs []Segment, n int, loss [][]float64) []float64 {
	i, j, edge := segs[n-1].Implementation, segs[n].Implementation, segs[n].edge
	weights := nearEdge(h.pool.sizes, edge)
	var offs []float64
	for r, table := range h.losses {
		sum, weight, known := 0.0, 0.0, 0.0
		for s, w := range weights {
			if w == 0 {
				continue
			}
			l := h.pool.places[r][s]
			d := l.at(table[i]) - l.at(table[j]) - (loss[i][s] - loss[j][s])
			if !math.IsNaN(d) && !math.IsInf(d, 0) {
				sum += w * l.weight * d
				known += w * l.weight
				weight += w
			}
		}
		if known >= weight/2 && known > 0 {
			offs = append(offs, sum/known)
		}
	}
	return offs
}

// nearEdge returns the weights of the sizes for the deviation of a run at a switch. They fall to zero at a factor of offNear.
// If no size is that near, the sizes on both sides have the weights of an interpolation.
func nearEdge(sizes []int, edge float64) []float64 {
	weights := make([]float64, len(sizes))
	near := false
	for s, size := range sizes {
		if w := 1 - math.Abs(math.Log(float64(size)/edge))/math.Log(offNear); w > 0 {
			weights[s], near = w, true
		}
	}
	above, _ := slices.BinarySearchFunc(sizes, edge, func(size int, edge float64) int { return cmp.Compare(float64(size), edge) })
	if !near && above > 0 && above < len(sizes) {
		low, high := float64(sizes[above-1]), float64(sizes[above])
		weights[above] = math.Log(edge/low) / math.Log(high/low)
		weights[above-1] = 1 - weights[above]
	}
	return weights
}

// spread says how the log-ratio of a switch differs from run to run.
type spread struct {
	known prior   // from other cases, or assumed
	own   float64 // degrees of freedom of the runs that have the switch's implementations: their number minus 1, or 0
}

// draw draws how far a run may be off. The first result is a factor of the deviations that the case's own runs show. The
// second is the standard deviation of what the prior adds. The sum of both has the variance of Smyth's equation 10, a mean of
// the two variances weighed by their degrees of freedom. Its uncertainty makes Student's distribution of normal deviates.
func (v spread) draw(rng *rand.Rand) (own, known float64) {
	all := v.known.freedom + v.own
	if all == 0 {
		return 0, 0 // the first segment has no switch
	}
	scale := deviation{1, int(math.Round(min(max(all, 1), 1000)))}.draw(rng)
	return scale * math.Sqrt(v.own/all), scale * math.Sqrt(v.known.square*v.known.freedom/all)
}

// between returns how the log-ratio of each switch differs from run to run.
func (h *history) between(p *Processors, segs []Segment, loss [][]float64) []spread {
	out := make([]spread, len(segs))
	for n := 1; n < len(segs); n++ {
		known := prior{assumedBetweenRuns * assumedBetweenRuns, assumedFreedom}
		pair := p.pair(h.implementations[segs[n-1].Implementation], h.implementations[segs[n].Implementation])
		if p != nil && pair[0] != pair[1] {
			known.square += p.apart.sd * p.apart.sd
		}
		if learnt, ok := p.learnt(pair); ok {
			known = learnt
		}
		out[n] = spread{known, max(0, float64(len(h.offs(segs, n, loss))-1))}
	}
	return out
}

// EmpiricalBayes fits a scaled F distribution to variances with the given degrees of freedom. It returns the variance that
// the distribution expects of another case, and how many degrees of freedom that is worth.
func EmpiricalBayes(variances, freedoms []float64) (variance, freedom float64) {
	var logs []float64
	within := 0.0
	for k, v := range variances {
		half := freedoms[k] / 2
		logs = append(logs, math.Log(v)-mathext.Digamma(half)+math.Log(half))
		within += trigamma(half) / float64(len(variances))
	}
	mean, beyond := stat.Mean(logs, nil), stat.Variance(logs, nil)-within
	if !(beyond > 0) { // NaN of a single variance
		return math.Exp(mean), 1000
	}
	half := inverseTrigamma(beyond)
	return math.Exp(mean + mathext.Digamma(half) - math.Log(half)), 2 * half
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
