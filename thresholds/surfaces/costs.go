package surfaces

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"crossover/calibration/surface"
)

// A cost model says that a call takes a constant time and a time for each unit of some work: for each byte, each operation,
// or each row. Few times are enough for such a model, and it holds far outside of the measured shapes, where a smooth curve
// through logarithms does not: a call of little work takes the constant time, and one of much work takes a time in proportion
// to its work.
//
// The model is fitted twice. At first it is fitted to the means over all implementations, with wide priors. The fit of each
// implementation then begins at the result, and leaves it only as far as its own times demand. So an implementation that was
// timed at few shapes is predicted to depend on the work as the others do.

// Parameters of the fits, in log-time.
const (
	costMisfit      = 0.2 // standard deviation of a log-time from its cost model
	costPriorMean   = -2  // of the log of a term's time relative to the geometric mean of all times
	costPriorSpread = 2   // standard deviation of that log
	costOwnSpread   = 0.5 // standard deviation of an implementation's term from that of all implementations
)

// costs fits the cost models of some implementations of a problem. The result has, for each of them, the seconds of the
// constant term and of each feature, as [surface.Implementation.Costs] has them. z are the features by point.
func costs(p *Problem, implementations []int, z [][]float64) [][]float64 {
	m := newCostModel(p, z)
	levels, means := levels(p, implementations)
	prior := make([]float64, 1+len(m.terms))
	for k := range prior {
		prior[k] = costPriorMean + mean(means)
	}
	common := m.fit(means, prior, prior, costPriorSpread)
	var all [][]float64
	for n, i := range implementations {
		times := make([]float64, len(p.Points))
		for k, point := range p.Points {
			times[k] = point.LogSeconds[i]
		}
		for k := range prior {
			prior[k] = common[k] + levels[n]
		}
		all = append(all, m.seconds(m.fit(times, prior, prior, costOwnSpread), len(p.Features)))
	}
	return all
}

// levels divides the log-times into a mean of each point and a level of each implementation, by turns, because not every
// implementation was timed at every point. The mean of a point at which none was timed is NaN.
func levels(p *Problem, implementations []int) (levels, means []float64) {
	levels, means = make([]float64, len(implementations)), make([]float64, len(p.Points))
	const turns = 20
	for range turns {
		for k, point := range p.Points {
			var all []float64
			for n, i := range implementations {
				all = append(all, point.LogSeconds[i]-levels[n])
			}
			means[k] = mean(all)
		}
		for n, i := range implementations {
			var all []float64
			for k, point := range p.Points {
				all = append(all, point.LogSeconds[i]-means[k])
			}
			levels[n] = mean(all)
		}
	}
	return levels, means
}

// mean returns the mean of the values that are numbers, NaN if there are none.
func mean(values []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// costModel has what the terms of a cost model are at the points.
type costModel struct {
	terms  []int       // the features that have a term
	middle []float64   // of each term: the mean of the log of its work over the points
	work   [][]float64 // by point and term, the log of the work relative to the middle; the constant term is the first
}

func newCostModel(p *Problem, z [][]float64) *costModel {
	m := &costModel{}
	for k := range p.Features {
		if p.isWork(k) {
			m.terms = append(m.terms, k)
		}
	}
	m.middle = make([]float64, len(m.terms))
	for _, features := range z {
		for t, k := range m.terms {
			m.middle[t] += math.Ln2 * features[k] / float64(len(z))
		}
	}
	for _, features := range z {
		work := []float64{0}
		for t, k := range m.terms {
			work = append(work, math.Ln2*features[k]-m.middle[t])
		}
		m.work = append(m.work, work)
	}
	return m
}

// isWork reports whether a feature is the logarithm of an amount of work: a product of several axes, or the length of several.
// A single axis is no work, because a call with one row of any length is not a call of one row. It is work if an operation declares
// it once more beside its axes, as one does whose steps wait for each other.
func (p *Problem) isWork(feature int) bool {
	f := &p.Features[feature]
	axes, once := 0, false
	for _, w := range f.Weights {
		if w != 0 {
			axes++
			once = w == 1
		}
	}
	switch f.Kind {
	case surface.Logarithm:
		return axes > 1 || once && feature >= len(p.Axes)
	case surface.Length:
		return axes > 1
	}
	return false
}

// seconds returns the terms in seconds for each unit of work, by feature, after the constant term.
func (m *costModel) seconds(logs []float64, features int) []float64 {
	out := make([]float64, 1+features)
	out[0] = math.Exp(logs[0])
	for t, k := range m.terms {
		out[1+k] = math.Exp(logs[1+t] - m.middle[t])
	}
	return out
}

// Parameters of the search for the terms, by Levenberg's and Marquardt's method.
const (
	costSteps    = 60   // greatest number of steps
	costEnough   = 1e-6 // a step that lowers the cost by less is the last one
	longestStep  = 3    // greatest change of a log in a step
	firstDamping = 1
	leastDamping = 1e-6
	damping      = 5 // factor by which the damping changes from step to step
)

// fit returns the logs of the terms' seconds at the middle of the points that are most likely by some log-times, and by normal
// priors with the given means and one standard deviation. It begins at start. Times that are NaN do not count.
//
// Source: D. Marquardt, An Algorithm for Least-Squares Estimation of Nonlinear Parameters, Journal of the Society for
// Industrial and Applied Mathematics 11, 1963.
func (m *costModel) fit(times, start, prior []float64, spread float64) []float64 {
	logs := append([]float64(nil), start...)
	least, lambda := m.misfit(times, logs, prior, spread), float64(firstDamping)
	for range costSteps {
		next, ok := m.step(times, logs, prior, spread, lambda)
		if ok {
			if now := m.misfit(times, next, prior, spread); now < least {
				enough := least-now < costEnough
				logs, least = next, now
				if enough {
					break
				}
				lambda = max(lambda/damping, leastDamping)
				continue
			}
		}
		lambda *= damping
	}
	return logs
}

// misfit returns twice the negative logarithm of the posterior density, without its constant.
func (m *costModel) misfit(times, logs, prior []float64, spread float64) float64 {
	sum := 0.0
	each := make([]float64, len(logs))
	for p, time := range times {
		if math.IsNaN(time) {
			continue
		}
		d := (time - floats.LogSumExp(floats.AddTo(each, logs, m.work[p]))) / costMisfit
		sum += d * d
	}
	for k, v := range logs {
		d := (v - prior[k]) / spread
		sum += d * d
	}
	return sum
}

// step returns the logs after a damped step. It returns false if there is no such step.
func (m *costModel) step(times, logs, prior []float64, spread, lambda float64) ([]float64, bool) {
	n := len(logs)
	normal, slope := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for k, v := range logs {
		normal.SetSym(k, k, 1/(spread*spread))
		slope.SetVec(k, (prior[k]-v)/(spread*spread))
	}
	share := make([]float64, n) // of the time, by term
	for p, time := range times {
		if math.IsNaN(time) {
			continue
		}
		floats.AddTo(share, logs, m.work[p])
		all := floats.LogSumExp(share)
		for k := range share {
			share[k] = math.Exp(share[k] - all)
		}
		slope.AddScaledVec(slope, (time-all)/(costMisfit*costMisfit), mat.NewVecDense(n, share))
		normal.SymRankOne(normal, 1/(costMisfit*costMisfit), mat.NewVecDense(n, share))
	}
	for k := range n {
		normal.SetSym(k, k, normal.At(k, k)*(1+lambda))
	}
	var c mat.Cholesky
	var change mat.VecDense
	if !c.Factorize(normal) || illConditioned(c.SolveVecTo(&change, slope)) != nil {
		return nil, false
	}
	next := make([]float64, n)
	for k, v := range logs {
		next[k] = v + min(max(change.AtVec(k), -longestStep), longestStep)
	}
	return next, true
}
