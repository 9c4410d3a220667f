package surfaces

import (
	"cmp"
	"slices"

	"crossover/timings"
)

// Crossed judges choices at the shapes of a set that are fitted, by fits without them: one part of the problem's points
// after the other is left out. The scales of the features are found anew, so that nothing of a shape is in the choice there.
//
// The result is rather too bad than too good: these fits have fewer points, and of the shapes some were chosen because a wrong
// choice was to be expected there.
func Crossed(set *timings.Set, shape func(size int) []int, p *Problem) Judged {
	var all Judged
	for fold := range folds {
		rest := *p
		rest.Points = slices.DeleteFunc(slices.Clone(p.Points), func(q Point) bool { return foldOf(q.Shape) == fold })
		fit, err := New(&rest)
		if err != nil {
			continue
		}
		all.take(set, shape, fit.ranking, func(at []int) bool { return !HeldOut(at) && foldOf(at) == fold })
	}
	all.sum()
	return all
}

// ranking returns the implementations that are predicted, the fastest first.
func (f *Fit) ranking(shape []int) []int {
	all := f.Predict(shape)
	slices.SortStableFunc(all, func(a, b Prediction) int { return cmp.Compare(a.LogSeconds, b.LogSeconds) })
	order := make([]int, len(all))
	for i, p := range all {
		order[i] = p.Implementation
	}
	return order
}
