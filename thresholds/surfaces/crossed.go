package surfaces

import (
	"cmp"
	"slices"

	"crossover/timings"
)

// sharedScales is the number of points from which on a fit without some of them keeps the scales of the whole fit. With so
// many points, a few hardly change the scales. With fewer points, the scales are searched for anew.
const sharedScales = searchPoints

// Crossed judges choices at the fitted shapes of a set, by fits without them. It leaves out one part of the problem's points
// after the other. fit is the fit of the whole problem.
//
// The losses are rather too high than too low. These fits have fewer points, and some of the shapes were measured because a
// wrong choice was likely there.
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

// without fits the rest of a problem. points is the number of points of the whole problem.
func (f *Fit) without(rest *Problem, points int) (*Fit, error) {
	if points >= sharedScales {
		return f.More(rest, false)
	}
	return New(rest)
}

// ranking returns the implementations that are predicted, in the order of their predicted times, fastest first.
func (f *Fit) ranking(shape []int) []int {
	z, correlations := f.seenFrom(shape)
	all := make([]Prediction, len(f.parts))
	for i := range all {
		all[i] = Prediction{Implementation: f.index[i], LogSeconds: f.logSeconds(i, z, correlations)}
	}
	slices.SortStableFunc(all, func(a, b Prediction) int { return cmp.Compare(a.LogSeconds, b.LogSeconds) })
	order := make([]int, len(all))
	for i, p := range all {
		order[i] = p.Implementation
	}
	return order
}
