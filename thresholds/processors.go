package thresholds

import (
	"math"

	"crossover/timings"
)

// Processors says on which processor each implementation runs, and how much the speeds of the machine's processors drift
// apart.
//
// The clock of a processor follows its temperature and, on a shared host, its neighbours. A GPU's clock has other causes. So
// the ratio of two processors changes over minutes, while the ratio of two implementations on one processor does not. The
// A/A twin does not show this change, and a single case has too few returns to its sizes. All cases of a sweep together show
// it.
type Processors struct {
	of map[string]string
	// apart is the standard deviation of the log-ratio of two implementations on different processors from visit to visit,
	// beyond that of the twin.
	apart deviation
	// between is the distribution of the variance of a log-ratio between runs, by pairs of processors.
	between map[[2]string]prior
}

// leastApart is the least number of visits, without the first one to each size, for an estimate of how much processors drift
// apart.
const leastApart = 8

// nearlyBest is a log-ratio. Visits to a size count if the best implementation of another processor is slower than the best
// of all by at most this. Far from every threshold the ratio of the two does not matter.
const nearlyBest = 0.4

// StudyProcessors returns the processors of a machine from the samples of its cases, with one set for each run. of has the
// processor of each implementation.
func StudyProcessors(of map[string]string, cases [][]*timings.Set) *Processors {
	p := &Processors{of: of}
	p.studyVisits(cases)
	p.studyRuns(cases)
	return p
}

// studyVisits estimates how much processors drift apart during a run.
func (p *Processors) studyVisits(cases [][]*timings.Set) {
	var twins, pairs scatter
	again := 0
	for _, sets := range cases {
		for _, set := range sets {
			groups := groupBySize(set)
			across, visits := returns(groups, func(g group) (i, j int) { return p.bestOfTwo(&g, set.Implementations) })
			pairs.join(across)
			again += visits
			twins.join(twinScatter(groups))
		}
	}
	if again < leastApart {
		return
	}
	own, between := twins.shift(), pairs.shift()
	if between*between > doubtless*own*own {
		p.apart = deviation{math.Sqrt(between*between - own*own), again}
	}
}

// bestOfTwo returns the best implementation at a size and the best one on another processor. The second result is −1 if that
// one is not nearly as fast.
func (p *Processors) bestOfTwo(g *group, names []string) (first, second int) {
	second = -1
	all := middles(g.logs)
	first, _ = bestTwo(g.logs)
	next := all[first] + nearlyBest
	for i, m := range all {
		if p.of[names[i]] != p.of[names[first]] && m < next {
			second, next = i, m
		}
	}
	return first, second
}
