package thresholds

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// arm is what the A/A arm says of the noise of an estimate. An implementation is timed under two names, each with
// buffers and plans of its own, and a visit's blocks share them: so the arm sees what the blocks of a visit cannot, the
// luck of where the buffers lie.
type arm struct {
	tie   float64   // 95th percentile of a visit's absolute log-ratio, as a relative difference, at least MinTieBand
	shift deviation // of the part of a visit's log-ratio that more blocks do not average away

	jitter float64 // standard deviation of a block's log-ratio within its visit
}

// shiftAfter returns the share of the shift that is left in the estimate of one implementation after so many visits to a
// size. A log-ratio has two shifts in it, one of each side. The estimate is the median over all blocks: where
// blocks vary more than visits do it averages the visits as a mean would, and where visits vary more it is a median of
// visits, which from three on is less sure by a factor of √(π/2).
func (a arm) shiftAfter(visits int) float64 {
	left := 1 / math.Sqrt(2*float64(visits))
	if square := a.shift.sd * a.shift.sd; visits >= 3 && square > 0 {
		left *= math.Sqrt(1 + (math.Pi/2-1)*square/(square+a.jitter*a.jitter))
	}
	return left
}

// deviation is a standard deviation that was estimated with so many degrees of freedom.
type deviation struct {
	sd      float64
	freedom int
}

// draw returns what the true deviation may be, so that normal deviates times it become Student's.
func (d deviation) draw(rng *rand.Rand) float64 {
	if d.sd == 0 {
		return 0
	}
	var squares float64
	for range d.freedom {
		z := rng.NormFloat64()
		squares += z * z
	}
	return d.sd * math.Sqrt(float64(d.freedom)/squares)
}

// armBlocks is how many blocks a visit must have for its A/A estimate to count.
const armBlocks = 3

// studyArm estimates the arm: of each visit the median over its blocks, as every pair of implementations is estimated.
func studyArm(groups []group) arm {
	twins := twinScatter(groups)
	a := arm{tie: MinTieBand}
	if len(twins.ratios) == 0 {
		return a
	}
	visits := make([]float64, len(twins.ratios))
	jitters := make([]float64, len(twins.ratios))
	for i, r := range twins.ratios {
		visits[i] = math.Abs(r)
		jitters[i] = math.Sqrt(twins.typical[i] * float64(twins.blocks[i]) / (math.Pi / 2))
	}
	slices.Sort(visits)
	a.tie = max(a.tie, math.Expm1(tailOverTrusted*stat.Quantile(trusted, stat.Empirical, visits, nil)))
	a.jitter = median(jitters)
	a.shift = deviation{twins.shift(), max(2, len(visits))}
	if shift := studyReturns(groups); shift.freedom >= leastReturns && shift.sd*shift.sd > doubtless*a.shift.sd*a.shift.sd {
		a.shift = shift
	}
	return a
}

// twinScatter returns how the twin's log-ratios scatter about 0, as they would without noise.
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
			if len(byVisit[v]) >= armBlocks {
				visits = append(visits, byVisit[v])
			}
		}
		twins.add(visits)
	}
	return twins
}

// The A/A arm sees no luck that a visit has as a whole: whether the threads of a parallel implementation were on their
// way, what the neighbours on the machine did. Sizes that were visited again show it. That it is more than the arm's is
// believed where the variance is doubtless times as large, in at least leastReturns visits.
const (
	leastReturns = 4
	doubtless    = 3
)

// studyReturns returns the standard deviation, beyond their own errors, of the log-ratio of a size's best two
// implementations from one visit to the next.
func studyReturns(groups []group) deviation {
	best, visits := returns(groups, func(g group) (i, j int) { return bestTwo(g.logs) })
	if visits < leastReturns {
		return deviation{}
	}
	return deviation{best.shift(), visits}
}

// returns returns how the log-ratio of two implementations scatters from one visit to a size to the next, about the mean
// of its visits, and how many visits there are but the first ones. pair names the two of a size; −1 for the second where
// there are none.
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
		maps.DeleteFunc(byVisit, func(_ int, ratios []float64) bool { return len(ratios) < armBlocks })
		if len(byVisit) < 2 {
			continue
		}
		var visits [][]float64
		for _, v := range slices.Sorted(maps.Keys(byVisit)) {
			visits = append(visits, byVisit[v])
		}
		middles := found.add(visits)
		// About a mean of their own, deviations come out short.
		mean, n := stat.Mean(middles, nil), float64(len(middles))
		for k := range middles {
			middles[k] = (middles[k] - mean) * math.Sqrt(n/(n-1))
		}
		again += len(middles) - 1
	}
	return found, again
}

// scatter is a log-ratio visit by visit: its median, that one's squared error, the squared error that it typically has, and
// its number of blocks.
type scatter struct {
	ratios, squaredErrors, typical []float64
	blocks                         []int
}

// add takes up the visits to one size, and returns their medians, which it lets the caller change. Calls of one size vary
// alike: what is typical of a number of blocks is known from all of them together.
func (s *scatter) add(visits [][]float64) []float64 {
	first := len(s.ratios)
	sum := 0.0
	for _, ratios := range visits {
		middle := median(ratios)
		squaredError := squaredErrorOfMedian(ratios, middle)
		s.ratios = append(s.ratios, middle)
		s.squaredErrors = append(s.squaredErrors, squaredError)
		s.blocks = append(s.blocks, len(ratios))
		sum += squaredError * float64(len(ratios))
	}
	for _, ratios := range visits {
		s.typical = append(s.typical, sum/float64(len(visits))/float64(len(ratios)))
	}
	return s.ratios[first:]
}

// middles returns the median log-ratio of each implementation, NaN where there is none.
func middles(logs [][]float64) []float64 {
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

// bestTwo returns the implementations with the least median log-ratios; −1 where there are not so many.
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

// shift returns the standard deviation that visits have beyond the errors of their own medians. A visit's squared
// log-ratio is on average shift² plus its own squared error, and the shift is the one at which the weighted sum of
// their differences is zero. The weights, 1/(shift² + error²)², are those of a normal likelihood: a visit of many
// blocks says more about the shift than one of few. They take the typical error for each visit's number of blocks,
// because a visit whose error came out small by chance must not weigh more for it. A square is cut at outlier² of its
// mean, so that a visit during which something else wanted the machine does not decide.
func (s *scatter) shift() float64 {
	score := func(square float64) float64 {
		var sum float64
		for i, r := range s.ratios {
			v := square + s.typical[i]
			sum += (min(r*r, outlier*outlier*v) - meanCut*(square+s.squaredErrors[i])) / (v * v)
		}
		return sum
	}
	high := 0.0
	for i, r := range s.ratios {
		high = max(high, 2*r*r+s.squaredErrors[i]+s.typical[i])
	}
	if high == 0 {
		return 0
	}
	low := 1e-12 * high // keeps v above zero where visits had no error at all
	if score(low) > 0 {
		for range 60 {
			middle := math.Sqrt(low * high)
			if score(middle) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
	}
	return math.Sqrt(low)
}

// outlier is where a visit's deviation stops counting, in standard deviations, and meanCut the mean of a standard normal
// square that is cut there.
const (
	outlier = 2.5
	meanCut = 0.978
)

// A case has a few dozen visits, and their 95th percentile would be the one or two during which something else wanted the
// machine. So it is taken from the percentile that such visits do not reach, times the ratio of the two percentiles of a
// normal distribution's absolute value: 1.960/1.282.
const (
	trusted         = 0.8
	tailOverTrusted = 1.529
)

// normalMAD turns a median absolute deviation into the standard deviation of a normal distribution.
const normalMAD = 1.4826

// squaredErrorOfMedian is the squared standard error of the median of values: (π/2)·σ²/n for a normal σ, which is
// estimated by the median absolute deviation with its correction for few values, n/(n−0.8) (Croux and Rousseeuw,
// Time-efficient algorithms for two highly robust estimators of scale, 1992).
func squaredErrorOfMedian(values []float64, middle float64) float64 {
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - middle)
	}
	n := float64(len(values))
	sigma := n / (n - 0.8) * normalMAD * median(deviations)
	return math.Pi / 2 * sigma * sigma / n
}
