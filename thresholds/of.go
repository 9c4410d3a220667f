package thresholds

import "crossover/timings"

// ofResamples is how many resamples decide whether a switch is one. Nothing rests on it but a mark in a chart.
const ofResamples = 200

// Of returns the thresholds that the samples of one run give by themselves, without intervals. They show how far a threshold
// has moved from run to run.
func Of(set *timings.Set, seed uint64) []int {
	r, _ := divide(newHistory([]*timings.Set{set}), Options{Seed: seed, Resamples: ofResamples})
	var all []int
	for n, s := range r.Segments {
		if n > 0 {
			all = append(all, s.From)
		}
	}
	return all
}
