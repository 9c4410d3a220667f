package thresholds

import (
	"math"
	"math/rand/v2"

	"crossover/timings"
)

// Processors is which processor each implementation runs on, and how far the processors of the machine wander apart.
//
// The clock of a processor follows its temperature and, on a shared host, what the neighbours do; that of a GPU has
// reasons of its own. So their ratio changes over minutes, while two implementations on one processor keep theirs: the A/A
// arm does not see it, and the few visits to the sizes of a single case hardly do. All cases of a sweep together do.
type Processors struct {
	of map[string]string
	// apart is the standard deviation of the log-ratio of two implementations on different processors from visit to visit,
	// beyond what the arm says.
	apart deviation
}

// leastApart is how many visits, but the first ones to each size, must show how far processors wander apart before they
// are believed.
const leastApart = 8

// nearlyBest is how much slower than the best the best implementation of another processor may be for its visits to count,
// as a log-ratio: far from every threshold it does not matter how the two compare.
const nearlyBest = 0.4

// StudyProcessors returns the processors of a machine from the samples of its cases. of names the processor of each
// implementation.
func StudyProcessors(of map[string]string, sets []*timings.Set) *Processors {
	p := &Processors{of: of}
	var twins, pairs scatter
	again := 0
	for _, set := range sets {
		groups := groupBySize(set)
		across, visits := returns(groups, func(g group) (i, j int) { return p.rivals(&g, set.Implementations) })
		pairs.join(across)
		again += visits
		twins.join(twinScatter(groups))
	}
	if again < leastApart {
		return p
	}
	own, between := twins.shift(), pairs.shift()
	if between*between > doubtless*own*own {
		p.apart = deviation{math.Sqrt(between*between - own*own), again}
	}
	return p
}

// rivals returns the best implementation of a size and the best one on another processor; −1 for the second where it is
// not nearly as fast.
func (p *Processors) rivals(g *group, names []string) (first, second int) {
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

// lucks draws what each implementation may be worth in another run because of its processor: a log-ratio.
func (p *Processors) lucks(names []string, rng *rand.Rand) []float64 {
	lucks := make([]float64, len(names))
	if p == nil || p.apart.sd == 0 {
		return lucks
	}
	sd := p.apart.draw(rng) / math.Sqrt2 // a log-ratio has two of them
	drawn := map[string]float64{}
	for i, name := range names {
		on := p.of[name]
		if _, ok := drawn[on]; !ok {
			drawn[on] = sd * rng.NormFloat64()
		}
		lucks[i] = drawn[on]
	}
	return lucks
}

// join takes up what another scatter holds.
func (s *scatter) join(other scatter) {
	s.ratios = append(s.ratios, other.ratios...)
	s.squaredErrors = append(s.squaredErrors, other.squaredErrors...)
	s.typical = append(s.typical, other.typical...)
	s.blocks = append(s.blocks, other.blocks...)
}
