package surfaces

import (
	"cmp"
	"slices"

	"crossover/timings"
)

// sharedScales is from how many points on the scales of a fit are kept where some points are left out: then no point has much
// of a say in them. Fewer points search for their own.
const sharedScales = searchPoints

// Crossed judges choices at the shapes of a set that are fitted, by fits without them: one part of the problem's points
// after the other is left out. fit is that of the whole problem.
//
// The result is rather too bad than too good: these fits have fewer points, and of the shapes some were chosen because a wrong
// choice was to be expected there.
func Crossed(set *timings.Set, shape func(size int) []int, p *Problem, fit *Fit) Judged {
	var all Judged
	for fold := range folds {
		rest := *p
		rest.Points = slices.DeleteFunc(slices.Clone(p.Points), func(q Point) bool { return foldOf(q.Shape) == fold })
		without, err := fit.without(&rest, len(p.Points))
		if err != nil {
			continue
		}
		all.take(set, shape, without.ranking, func(at []int) bool { return !HeldOut(at) && foldOf(at) == fold })
	}
	all.sum()
	return all
}

// without fits what is left of a problem of so many points.
func (f *Fit) without(rest *Problem, points int) (*Fit, error) {
	if points >= sharedScales {
		return f.More(rest, false)
	}
	return New(rest)
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
