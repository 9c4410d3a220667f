package proof

import (
	"crossover/lab/rules"
	"crossover/thresholds"
	"crossover/timings"
)

// addHalves adds what the two halves of the blocks of one run say of each other. They share the minutes, the sizes, and the
// buffers. So no other run can be expected to agree better with a run, or to choose better for it.
func (out *LeftOut) addHalves(p *past, run int) {
	halves := halvesOf(p.runs[run])
	var fits [2]thresholds.Result
	for k, half := range halves {
		fits[k] = thresholds.Fit([]*timings.Set{half}, thresholds.Options{Seed: 1})
		sizes := half.Sizes()
		if len(sizes) == 0 {
			return
		}
		other := past{p.name, map[int]*timings.Set{run: halves[1-k]}}
		out.Halves.add(&other, run, rules.Obvious().Choose(half), sizes[0], sizes[len(sizes)-1])
	}
	out.AgreeHalves.Of++
	if agree(fits[0].Segments, fits[1].Segments) {
		out.AgreeHalves.Count++
	}
}

// halvesOf returns every other block of each size, and the blocks between.
func halvesOf(set *timings.Set) [2]*timings.Set {
	var halves [2]*timings.Set
	for k := range halves {
		halves[k] = &timings.Set{Case: set.Case, Implementations: set.Implementations}
	}
	for _, size := range set.Sizes() {
		for n, b := range set.At(size) {
			halves[n%2].Blocks = append(halves[n%2].Blocks, b)
		}
	}
	return halves
}
