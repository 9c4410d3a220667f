package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// MinTieBand is the least relative difference that is ever called a difference.
const MinTieBand = 0.03

// Confidence is the level of every interval.
const Confidence = 0.95

// Options of a fit.
type Options struct {
	Seed      uint64
	Resamples int     // of the bootstrap; 0 means 1000
	Precision float64 // half width of a threshold's interval that is aimed at, relative; 0 means 0.1

	// Processors is what is known of the processors that the implementations run on; nil means that they share one.
	Processors *Processors

	withinRun bool // leave out of the intervals what no block of this run can narrow
}

// Result is what the samples of one case say.
type Result struct {
	Curves   Curves
	TieBand  float64 // relative: 0.03 is three percent
	Segments []Segment
	Verdict  Verdict
	Reason   string // of a verdict that the segments do not explain by themselves
	Costs    []Cost // by implementation
	Regret   Regret
	Warnings []string

	lone []int // the measured sizes, by index, that are a segment of their own
}

// Fit turns the samples of one case, run by run, into segments with intervals. It returns an unresolved result without
// segments for samples without a usable block.
func Fit(sets []*timings.Set, o Options) Result {
	h := newHistory(sets)
	result, stretches := divide(h, o)
	if len(stretches) == 0 {
		return result
	}
	for n := range result.Segments {
		result.Segments[n].Next = alternatives(result.Curves.Loss, stretches[n])
	}
	result.Costs = fitCosts(result.Curves)
	result.Regret = h.regret()
	result.Verdict, result.Reason = judge(&result)
	result.Warnings = warnings(&result, h.implementations)
	return result
}

// divide is the part of a fit that a planner needs: curves, tie band, and segments with their intervals. It leaves out
// what only a reader of the result needs. The second result is the stretch of each segment, none if there is no block.
func divide(h *history, o Options) (Result, []stretch) {
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	if o.Precision == 0 {
		o.Precision = 0.1
	}
	result := Result{Curves: h.curves()}
	if len(h.runs) == 0 {
		result.TieBand = MinTieBand
		result.Reason = "no block was measured"
		return result, nil
	}
	twin := studyTwin(h.groups())
	result.TieBand = twin.tie
	band := math.Log1p(twin.tie)
	loss, sizes := result.Curves.Loss, result.Curves.Sizes
	stretches := partition(loss, sizes, band)
	result.lone = loneSizes(stretches)
	result.Segments = segments(stretches, loss, sizes)
	if len(stretches) == 1 {
		return result, stretches
	}
	b := bootstrap{
		segments: result.Segments, curves: &result.Curves, twin: twin,
		history: h, rough: roughness(h, loss, stretches, result.Segments, twin),
		between: h.between(o.Processors, result.Segments, loss),
		rng:     rand.New(rand.NewPCG(o.Seed, 0xb007)),
	}
	b.prepare()
	b.resample(o.Resamples, o.withinRun)
	f := fitting{bootstrap: &b, spans: spans(sizes), band: band, stretches: slices.Clone(stretches)}
	if o.withinRun {
		f.setSupports()
	} else {
		f.prune()
	}
	doubts := f.doubts(stretches)
	stretches = f.stretches
	result.Segments = segments(stretches, loss, sizes)
	stands := standIns(loss, stretches, band)
	for n := range result.Segments {
		result.Segments[n].Support, result.Segments[n].Doubts = f.supports[n], doubts[n]
		if n == 0 {
			continue
		}
		b.interval(result.Segments, stands, n)
		if h.assumes(o.Processors, result.Segments, n) {
			result.Segments[n].Assumed = assumedBetweenRuns
		}
	}
	widen(result.Segments, loss, sizes, stretches, o.Precision)
	return result, stretches
}
