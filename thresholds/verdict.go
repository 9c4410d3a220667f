package thresholds

import (
	"fmt"
	"math"
	"slices"
)

// Verdict is the kind of answer that the samples give.
type Verdict int

// The verdicts.
const (
	Unresolved Verdict = iota // the samples do not decide
	Switches                  // the winner changes, at sizes that the samples determine
	Always                    // one implementation is chosen at every measured size
	Tie                       // the best ones are within the tie band at every measured size
)

// judge returns the verdict, and a reason if the segments do not explain it.
func judge(r *Result) (Verdict, string) {
	if r.noise > MostTieBand && !r.clear() {
		return Unresolved, fmt.Sprintf("the same comparison differs by up to %.0f %% from one visit to the next: the machine was too noisy", 100*r.noise)
	}
	if share := r.moody(); share > tooMoody {
		return Unresolved, fmt.Sprintf("on %.0f %% of the axis, on a logarithmic scale, it depends on the state of the machine which one is faster", 100*share)
	}
	few := ""
	switch len(r.Curves.Sizes) {
	case 1:
		few = "only one size was measured"
	case 2:
		few = "only two sizes were measured"
	}
	switch {
	case len(r.Segments) > 1:
		return Switches, few
	case !r.tiedEverywhere():
		return Always, few
	case few != "":
		return Tie, fmt.Sprintf("the best two stay within %.1f %% of each other, and %s", 100*r.TieBand, few)
	}
	return Tie, fmt.Sprintf("the best two stay within %.1f %% of each other at every measured size", 100*r.TieBand)
}

// clear reports whether one implementation is chosen everywhere and the others are slower by more than the noise on most of
// the axis. Then the machine scatters less than they differ.
func (r *Result) clear() bool {
	if len(r.Segments) != 1 {
		return false
	}
	spans := spans(r.Curves.Sizes)
	var tied, all float64
	for s, span := range spans {
		if all += span; r.tied(s) {
			tied += span
		}
	}
	return tied < all/2
}

// tooMoody is the least share of the axis, in log-size, on which a case's winner depends on the state of the machine, so
// that the case has no answer.
const tooMoody = 0.25

// moody returns the share of the axis, in log-size, on which the faster implementation depends on the state of the machine.
func (r *Result) moody() float64 {
	sizes, spans := r.Curves.Sizes, spans(r.Curves.Sizes)
	var sum, all float64
	for s, size := range sizes {
		all += spans[s]
		for _, segment := range r.Segments {
			if slices.ContainsFunc(segment.Doubts, func(d Doubt) bool { return !d.Tie && d.From <= size && size <= d.To }) {
				sum += spans[s]
			}
		}
	}
	return sum / all
}

// tiedEverywhere reports whether the choice is tied at each measured size.
func (r *Result) tiedEverywhere() bool {
	for s := range r.Curves.Sizes {
		if !r.tied(s) {
			return false
		}
	}
	return true
}

// tied reports whether both the first segment's implementation and some other one are within the noise of the best at a measured
// size.
func (r *Result) tied(s int) bool {
	chosen, band := r.Segments[0].Implementation, math.Log1p(r.noise)
	for i, loss := range r.Curves.Loss {
		if i != chosen && max(loss[s], r.Curves.Loss[chosen][s]) <= band {
			return true
		}
	}
	return false
}

// warnings lists what a reader should know before trusting the segments.
func warnings(r *Result, names []string) []string {
	var out []string
	for _, s := range r.Segments {
		for _, d := range s.Doubts {
			if !d.Tie {
				out = append(out, fmt.Sprintf("from %d to %d %s may be faster than %s: it depends on the state of the machine",
					d.From, d.To, names[d.Implementation], names[s.Implementation]))
			}
		}
	}
	for n := 1; n < len(r.Segments); n++ {
		s := &r.Segments[n]
		if x, ok := modelCrossing(r, n); ok && (x < float64(s.Low)/2 || x > float64(s.High)*2) {
			out = append(out, fmt.Sprintf("the cost model puts the change from %s to %s at %.0f, far from the measured %d (%d to %d)",
				names[r.Segments[n-1].Implementation], names[s.Implementation], x, s.From, s.Low, s.High))
		}
	}
	return out
}
