package proof

import (
	"context"
	"math"
	"slices"

	"crossover/calibration"
	"crossover/lab/model"
	"crossover/thresholds"
	"crossover/timings"
)

// BetweenRuns are the deviations of StudyBetween: what the log-ratio of two implementations differs by from one run to the
// next, as a standard deviation. On real machines 0 to 9 % were measured. No interval knows which of them it is about.
var BetweenRuns = []float64{0, 0.015, 0.03, 0.045, 0.06}

// Histories are how many runs the intervals of StudyBetween rest on.
var Histories = []int{1, 2, 3, 6}

// Between is how often intervals predict the next run on machines that differ so much from run to run.
type Between struct {
	Deviation float64 // NaN where the luck of real runs is replayed
	Hold      []Share // intervals that hold the threshold which the next run finds, of each of Histories
}

// StudyBetween calibrates hosts several times, and once more for the run that is predicted, at each of BetweenRuns. The
// scenarios are the cases of a host. Where they have the luck of real runs, they are calibrated with that instead.
func StudyBetween(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Between, error) {
	levels := BetweenRuns
	if slices.ContainsFunc(scenarios, func(s model.Scenario) bool { return len(s.Noise.Lucks) > 0 }) {
		levels = []float64{math.NaN()}
	}
	var rows []Between
	for _, deviation := range levels {
		row := Between{deviation, make([]Share, len(Histories))}
		found := make([][]Share, runs)
		if err := each(ctx, runs, func(run int) {
			var cases []*model.Scenario
			for k := range scenarios {
				s := scenarios[k].Replay(run*len(scenarios) + k)
				if !math.IsNaN(deviation) {
					s = s.Between(deviation)
				}
				cases = append(cases, s)
			}
			found[run] = predict(cases, seedOf(seed, run))
		}); err != nil {
			return nil, err
		}
		for _, shares := range found {
			for n, share := range shares {
				row.Hold[n] = row.Hold[n].plus(share)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// predict counts the thresholds of a host's run that the intervals of each of Histories before it hold. The scenarios are the
// cases of the host.
func predict(cases []*model.Scenario, seed uint64) []Share {
	longest := slices.Max(Histories)
	before := make([][]*timings.Set, len(cases)) // by case and run
	reported := make([][]calibration.Segment, len(cases))
	for k, s := range cases {
		for run := range longest {
			before[k] = append(before[k], calibrate(s, seedOf(seed, run), Budget, 1).timings())
		}
		reported[k] = thresholdsOf(calibrate(s, seedOf(seed, longest), Budget, 1).found().Segments)
	}
	found := make([]Share, len(Histories))
	for n, history := range Histories {
		for k, predicted := range predictions(cases, before, history, seed) {
			found[n] = found[n].plus(hold(cases[k], predicted, reported[k]))
		}
	}
	return found
}

// predictions returns the thresholds of each case that so many runs together say.
func predictions(cases []*model.Scenario, before [][]*timings.Set, history int, seed uint64) [][]calibration.Segment {
	of := map[string]string{}
	sets := make([][]*timings.Set, len(cases))
	for k, s := range cases {
		for _, i := range s.Implementations {
			of[i.Name] = string(i.Processor)
		}
		sets[k] = before[k][:history]
	}
	known := thresholds.StudyProcessors(of, sets)
	all := make([][]calibration.Segment, len(cases))
	for k := range cases {
		var segments []calibration.Segment
		for _, s := range thresholds.Fit(sets[k], thresholds.Options{Seed: seed, Resamples: 300, Processors: known}).Segments {
			segments = append(segments, calibration.Segment{
				From: s.From, Implementation: sets[k][0].Implementations[s.Implementation],
				Interval: &calibration.Interval{Low: s.Low, High: s.High},
			})
		}
		all[k] = thresholdsOf(segments)
	}
	return all
}

// hold counts the thresholds of a run that were predicted, and of those the ones inside their intervals.
func hold(s *model.Scenario, predicted, reported []calibration.Segment) Share {
	var held Share
	truth := s.Truth()
	for n, edge := range truth {
		t, is := nearest(predicted, edge, s, truth, n), nearest(reported, edge, s, truth, n)
		if t == nil || is == nil {
			continue
		}
		held.Of++
		if t.Interval.Low <= is.From && is.From <= t.Interval.High {
			held.Count++
		}
	}
	return held
}

// thresholdsOf returns the segments whose lower edge is a threshold.
func thresholdsOf(segments []calibration.Segment) []calibration.Segment {
	return segments[min(1, len(segments)):]
}

// plus returns the share of both together.
func (s Share) plus(other Share) Share { return Share{s.Count + other.Count, s.Of + other.Of} }
