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

// BetweenRuns are the standard deviations of StudyBetween: those of the log-ratio of two implementations, from one run to
// the next. On real machines 0 to 9 % were measured. An interval cannot know which of them is true.
var BetweenRuns = []float64{0, 0.015, 0.03, 0.045, 0.06}

// Histories are the numbers of runs from which StudyBetween makes intervals.
var Histories = []int{1, 2, 3, 6}

// Between says how often intervals predict the next run's threshold, on machines with a given deviation from run to run.
type Between struct {
	Deviation float64 // NaN if the luck of real runs is replayed
	Hold      []Share // intervals that hold the next run's threshold, for each of Histories
}

// StudyBetween calibrates hosts several times, and once more for the run that is to be predicted, with each of BetweenRuns.
// The scenarios are the cases of one host. If the scenarios have the luck of real runs, the study uses that luck instead of
// BetweenRuns.
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

// predict calibrates a host, with a case for each scenario, and counts the thresholds of its last run that are inside the
// predicted intervals, for each of Histories.
func predict(cases []*model.Scenario, seed uint64) []Share {
	longest := slices.Max(Histories)
	before := make([][]*timings.Set, len(cases)) // by cases, then by runs
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

// predictions returns the thresholds of each case, fitted from the first history runs.
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

// hold counts the thresholds of a run that were predicted, and how many of them are inside the predicted intervals.
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

// plus returns the share of both counts together.
func (s Share) plus(other Share) Share { return Share{s.Count + other.Count, s.Of + other.Of} }
