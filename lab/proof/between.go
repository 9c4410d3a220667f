package proof

import (
	"context"

	"crossover/calibration"
	"crossover/lab/model"
	"crossover/thresholds"
	"crossover/timings"
)

// BetweenRuns are the deviations of StudyBetween: what the log-ratio of two implementations differs by from one run to the
// next, as a standard deviation. On real machines 0 to 9 % were measured. No interval knows which of them it is about.
var BetweenRuns = []float64{0, 0.015, 0.03, 0.045, 0.06}

// Several is how many runs the intervals of StudyBetween rest on that do not rest on one.
const Several = 4

// Between is how often intervals predict the next run on machines that differ so much from run to run.
type Between struct {
	Deviation float64
	One       Share // intervals of a single run that hold the threshold which the next run finds
	Several   Share // those of Several runs
}

// StudyBetween calibrates each scenario several times, and once more for the run that is predicted, at each of BetweenRuns.
func StudyBetween(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Between, error) {
	var rows []Between
	for _, deviation := range BetweenRuns {
		row := Between{Deviation: deviation}
		for k := range scenarios {
			s := scenarios[k].Between(deviation)
			found := make([][2]Share, runs)
			if err := each(ctx, runs, func(run int) { found[run] = predict(s, seedOf(seed, run)) }); err != nil {
				return nil, err
			}
			for _, f := range found {
				row.One, row.Several = row.One.plus(f[0]), row.Several.plus(f[1])
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// predict counts the thresholds of a run that the intervals of one run before it hold, and those of Several.
func predict(s *model.Scenario, seed uint64) (found [2]Share) {
	next := calibrate(s, seedOf(seed, Several), Budget, 1)
	var before []*timings.Set
	for run := range Several {
		before = append(before, calibrate(s, seedOf(seed, run), Budget, 1).timings())
	}
	truth := s.Truth()
	reported := next.found().Segments[min(1, len(next.found().Segments)):]
	for k, sets := range [][]*timings.Set{before[:1], before} {
		fit := thresholds.Fit(sets, thresholds.Options{Seed: seed, Resamples: 300})
		var predicted []calibration.Segment
		for _, segment := range fit.Segments[min(1, len(fit.Segments)):] {
			predicted = append(predicted, calibration.Segment{
				From: segment.From, Implementation: sets[0].Implementations[segment.Implementation],
				Interval: &calibration.Interval{Low: segment.Low, High: segment.High},
			})
		}
		for n, edge := range truth {
			t, is := nearest(predicted, edge, s, truth, n), nearest(reported, edge, s, truth, n)
			if t == nil || is == nil {
				continue
			}
			found[k].Of++
			if t.Interval.Low <= is.From && is.From <= t.Interval.High {
				found[k].Count++
			}
		}
	}
	return found
}

// plus returns the share of both together.
func (s Share) plus(other Share) Share { return Share{s.Count + other.Count, s.Of + other.Of} }
