package thresholds

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// twinStudy holds the noise of an estimate, from the A/A twin. One implementation of each visit is timed under two names.
// Each of the two has buffers and plans of its own in all blocks of the visit. So the twin shows a noise that the blocks of
// a visit do not show: the luck of where the buffers lie.
type twinStudy struct {
	noise  float64   // 95th percentile of a visit's absolute log-ratio, as a relative difference, at least MinTieBand
	shift  deviation // of the part of a visit's log-ratio that more blocks do not reduce
	jitter float64   // standard deviation of a block's log-ratio within its visit
}

// tie returns the tie band.
func (t twinStudy) tie() float64 { return min(t.noise, MostTieBand) }

// shiftAfter returns the share of the shift that remains in the estimate of one implementation after a number of visits to a
// size. A log-ratio has two shifts, one on each side. The estimate is the median over all blocks. If blocks vary more than
// visits, this median averages the visits like a mean. If visits vary more, it is a median of visits. From three visits on,
// its error is greater than that of a mean by a factor of √(π/2).
func (t twinStudy) shiftAfter(visits int) float64 {
	left := 1 / math.Sqrt(2*float64(visits))
	if square := t.shift.sd * t.shift.sd; visits >= 3 && square > 0 {
		left *= math.Sqrt(1 + (math.Pi/2-1)*square/(square+t.jitter*t.jitter))
	}
	return left
}

// A case has a few dozen visits. The one or two visits beside another program decide their 95th percentile. They do not
// reach the percentile trusted. The tie band is that percentile times tailOverTrusted, the ratio of the two percentiles of a
// normal distribution's absolute value: 1.960/1.282.
const (
	trusted         = 0.8
	tailOverTrusted = 1.529
)

// visitBlocks is the least number of blocks of a visit whose log-ratio counts.
const visitBlocks = 3

// studyTwin studies the twins of a case. Each visit counts with the median over its blocks, like every pair of
// implementations.
func studyTwin(groups []group) twinStudy {
	twins := twinScatter(groups)
	t := twinStudy{noise: MinTieBand}
	if len(twins.ratios) == 0 {
		return t
	}
	jitters := make([]float64, len(twins.ratios))
	for i := range twins.ratios {
		jitters[i] = math.Sqrt(twins.typical[i] * float64(twins.blocks[i]) / (math.Pi / 2))
	}
	t.noise = max(t.noise, twins.tail())
	t.jitter = median(jitters)
	t.shift = deviation{twins.shift(), max(2, len(twins.ratios))}
	// The twin does not show the luck of a visit as a whole, but returns do.
	if again, visits := returns(groups, func(g group) (i, j int) { return bestTwo(g.logs) }); visits >= leastReturns {
		t.noise = max(t.noise, again.tail())
		if shift := again.shift(); shift*shift > doubtless*t.shift.sd*t.shift.sd {
			t.shift = deviation{shift, visits}
		}
	}
	return t
}

// band returns, as a log-ratio, how far two implementations must be apart at a size before a difference counts in full. That
// is the tie band for the estimates of a single run. Those of several runs are means over runs that met states of the machine
// of their own. So their band is narrower by the root of the number of runs.
func (h *history) band(t twinStudy) float64 {
	return math.Log1p(t.tie()) / math.Sqrt(max(1, float64(len(h.runs))))
}

// tail returns the 95th percentile of a visit's deviation, as a relative difference.
func (s *scatter) tail() float64 {
	visits := make([]float64, len(s.ratios))
	for i, r := range s.ratios {
		visits[i] = math.Abs(r)
	}
	slices.Sort(visits)
	return math.Expm1(tailOverTrusted * stat.Quantile(trusted, stat.Empirical, visits, nil))
}

// twinScatter returns how the log-ratios of twins scatter about 0, their value without noise.
func twinScatter(groups []group) scatter {
	var twins scatter
	for _, g := range groups {
		byVisit := map[int][]float64{}
		var order []int
		for _, b := range g.blocks {
			if b.Twin < 0 || !usable(b, b.Twin) || !(b.TwinSeconds > 0) || math.IsInf(b.TwinSeconds, 1) {
				continue
			}
			if byVisit[b.Visit] == nil {
				order = append(order, b.Visit)
			}
			byVisit[b.Visit] = append(byVisit[b.Visit], math.Log(b.TwinSeconds/b.Seconds[b.Twin]))
		}
		var visits [][]float64
		for _, v := range order {
			if len(byVisit[v]) >= visitBlocks {
				visits = append(visits, byVisit[v])
			}
		}
		twins.add(visits)
	}
	return twins
}

// The twin does not show the luck of a visit as a whole, such as whether the threads of a parallel implementation were
// awake, or what the neighbours on the machine did. Returns to a size show this luck. It replaces the twin's shift if its
// variance is more than doubtless times as large, in at least leastReturns returns.
const (
	leastReturns = 4
	doubtless    = 3
)

// returns returns the scatter of the log-ratio of two implementations from one visit to a size to the next, around the mean
// of the visits to that size. The second result is the number of visits without the first one to each size. pair returns the
// two implementations at a size. Its second result is −1 if there are no two.
func returns(groups []group, pair func(g group) (i, j int)) (scatter, int) {
	var found scatter
	again := 0
	for _, g := range groups {
		i, j := pair(g)
		if j < 0 {
			continue
		}
		byVisit := map[int][]float64{}
		for n, b := range g.blocks {
			if d := g.logs[n][j] - g.logs[n][i]; !math.IsNaN(d) {
				byVisit[b.Visit] = append(byVisit[b.Visit], d)
			}
		}
		maps.DeleteFunc(byVisit, func(_ int, ratios []float64) bool { return len(ratios) < visitBlocks })
		if len(byVisit) < 2 {
			continue
		}
		var visits [][]float64
		for _, v := range slices.Sorted(maps.Keys(byVisit)) {
			visits = append(visits, byVisit[v])
		}
		middles := found.add(visits)
		// Deviations from a mean of the same values are too small by this factor.
		mean, n := stat.Mean(middles, nil), float64(len(middles))
		for k := range middles {
			middles[k] = (middles[k] - mean) * math.Sqrt(n/(n-1))
		}
		again += len(middles) - 1
	}
	return found, again
}

// middles returns the median log-ratio of each implementation, or NaN if there is none. It returns nil if there are no
// blocks.
func middles(logs [][]float64) []float64 {
	if len(logs) == 0 {
		return nil
	}
	out := make([]float64, len(logs[0]))
	var values []float64
	for i := range out {
		values = values[:0]
		for _, l := range logs {
			if !math.IsNaN(l[i]) {
				values = append(values, l[i])
			}
		}
		out[i] = median(values)
	}
	return out
}

// bestTwo returns the implementations with the two least median log-ratios. An index is −1 if there are fewer.
func bestTwo(logs [][]float64) (first, second int) {
	first, second = -1, -1
	var least, next float64
	for i, m := range middles(logs) {
		switch {
		case math.IsNaN(m):
		case first < 0 || m < least:
			first, second, least, next = i, first, m, least
		case second < 0 || m < next:
			second, next = i, m
		}
	}
	return first, second
}
