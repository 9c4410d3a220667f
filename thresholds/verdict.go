package thresholds

import (
	"fmt"
	"math"
)

// Verdict says what kind of answer the samples give.
type Verdict int

// The verdicts.
const (
	Unresolved Verdict = iota // the samples do not decide
	Switches                  // the winner changes, at sizes that the samples pin down
	Always                    // one implementation is chosen at every measured size
	Tie                       // the best ones stay within the tie band at every measured size
)

// blind is the tie band above which the machine was too noisy to compare anything.
const blind = 0.25

// judge returns the verdict, and the reason for it where the segments do not explain it.
func judge(r *Result, stretches []stretch) (Verdict, string) {
	if r.TieBand > blind {
		return Unresolved, fmt.Sprintf("an implementation differs from itself by up to %.0f %%: the machine was too noisy", 100*r.TieBand)
	}
	if len(r.Segments) == 1 {
		if tiedEverywhere(r, stretches[0].implementation) {
			return Tie, fmt.Sprintf("the best two stay within %.1f %% of each other at every measured size", 100*r.TieBand)
		}
		return Always, ""
	}
	for n := 1; n < len(r.Segments); n++ {
		if s := &r.Segments[n]; s.Support < Confidence-0.05 {
			return Unresolved, fmt.Sprintf("the switch at %d is in only %.0f %% of the resamples (want %.0f %%)",
				s.From, 100*s.Support, 100*(Confidence-0.05))
		}
	}
	return Switches, ""
}

// tiedEverywhere reports whether, at each measured size, the chosen implementation and some other one are both within the
// tie band of the best.
func tiedEverywhere(r *Result, chosen int) bool {
	band := math.Log1p(r.TieBand)
	for s := range r.Curves.Sizes {
		tied := false
		for i, loss := range r.Curves.Loss {
			tied = tied || i != chosen && max(loss[s], r.Curves.Loss[chosen][s]) <= band
		}
		if !tied {
			return false
		}
	}
	return true
}

// warnings lists what a reader should know before trusting the segments.
func warnings(r *Result, names []string) []string {
	var out []string
	for n := 1; n < len(r.Segments); n++ {
		s := &r.Segments[n]
		if x, ok := modelCrossing(r, n); ok && (x < float64(s.Low)/2 || x > float64(s.High)*2) {
			out = append(out, fmt.Sprintf("the cost model puts the change from %s to %s at %.0f, far from the measured %d (%d to %d)",
				names[r.Segments[n-1].Implementation], names[s.Implementation], x, s.From, s.Low, s.High))
		}
	}
	return out
}
