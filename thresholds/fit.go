package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// MinTieBand is the least relative difference that counts as a difference, and MostTieBand is one that always counts. Where the same
// comparison differs by more, the machine is too noisy to compare anything. Noisy measurements are still the only ones. A tie band of
// a factor of two would ignore that something is twice as fast.
const (
	MinTieBand  = 0.03
	MostTieBand = 0.25
)

// Confidence is the level of every interval.
const Confidence = 0.95

// Options are those of a fit.
type Options struct {
	Seed      uint64
	Resamples int     // size of the bootstrap; 0 means 1000
	Precision float64 // aimed half width of a threshold's interval, relative; 0 means 0.1

	// Processors says on which processors the implementations run. Nil means that they share one.
	Processors *Processors

	withinRun bool // whether intervals leave out what no block of this run can narrow
}

// Result is the fit of one case.
type Result struct {
	Curves   Curves
	TieBand  float64 // relative: 0.03 is three percent; at least MinTieBand and at most MostTieBand
	Segments []Segment
	Verdict  Verdict
	Reason   string // reason for a verdict that the segments do not explain
	Costs    []Cost // by implementations
	Regret   Regret
	Warnings []string

	noise float64 // TieBand without its limit: how much the same comparison differs from visit to visit
	lone  []int   // indices of the measured sizes that are a segment of their own
}

// Fit turns the samples of one case, one set for each run, into segments with intervals. If there is no usable block, the
// result is unresolved and without segments.
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
// everything that only a reader needs. The second result is the stretch of each segment. There are none if there is no
// block.
func divide(h *history, o Options) (Result, []stretch) {
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	if o.Precision == 0 {
		o.Precision = 0.1
	}
	result := Result{Curves: h.curves()}
	if len(h.runs) == 0 {
		result.TieBand, result.noise = MinTieBand, MinTieBand
		result.Reason = "no block was measured"
		return result, nil
	}
	twin := studyTwin(h.groups())
	result.TieBand, result.noise = twin.tie(), twin.noise
	band := h.band(twin)
	loss, sizes := result.Curves.Loss, result.Curves.Sizes
	stretches := partition(loss, sizes, band)
	result.lone = loneSizes(stretches)
	result.Segments = segments(stretches, &result.Curves, loss)
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
	f := fitting{bootstrap: &b, spans: spans(sizes), band: band, tie: math.Log1p(twin.tie()), stretches: slices.Clone(stretches)}
	if o.withinRun {
		f.setSupports()
	} else {
		f.prune()
	}
	doubts := f.doubts(stretches)
	stretches = f.stretches
	result.Segments = segments(stretches, &result.Curves, loss)
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
	h.widen(result.Segments, &result.Curves, stretches, o.Precision)
	if !o.withinRun { // a visit of this run changes nothing about the sizes of the next one
		h.reachRuns(result.Segments, &result.Curves, stretches)
	}
	return result, stretches
}
