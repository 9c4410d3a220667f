package plots

import "crossover/timings"

// Run is what one run measured of a case.
type Run struct {
	Samples    *timings.Set
	Thresholds []int // that the samples of this run give by themselves; those of earlier runs are drawn
}

// samplesOf returns the samples of runs.
func samplesOf(runs []Run) []*timings.Set {
	var sets []*timings.Set
	for _, r := range runs {
		if r.Samples != nil {
			sets = append(sets, r.Samples)
		}
	}
	return sets
}
