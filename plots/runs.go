package plots

import "crossover/timings"

// Run is one run's part in a case. Samples may be nil.
type Run struct {
	Samples    *timings.Set
	Thresholds []int // given by the samples of this run alone; charts draw those of earlier runs
}

// samplesOf returns the samples of the runs that have any.
func samplesOf(runs []Run) []*timings.Set {
	var sets []*timings.Set
	for _, r := range runs {
		if r.Samples != nil {
			sets = append(sets, r.Samples)
		}
	}
	return sets
}
