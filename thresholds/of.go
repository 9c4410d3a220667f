package thresholds

import "crossover/timings"

// ofResamples is the number of resamples that decide which switches are kept. Only a mark in charts depends on it.
const ofResamples = 200

// Of returns the thresholds that the samples of one run give alone, without intervals. They show how far a threshold moves
// from run to run.
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
