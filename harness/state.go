package harness

import (
	"fmt"
	"math"

	"crossover/calibration"
	"crossover/sweeps"
)

// sentinel is what a sweep's sentinel saw, as the file holds it.
func sentinel(o sweeps.Observed) *calibration.Sentinel {
	times := func(f sweeps.Figures) calibration.SentinelTimes {
		return calibration.SentinelTimes{
			OneProcessorSeconds: f.OneProcessor, AllProcessorsRatio: f.AllRatio, HandoverSeconds: f.HandOver,
		}
	}
	s := &calibration.Sentinel{Processors: o.Processors, Baseline: times(o.Baseline), Readings: o.Readings, Epochs: o.Epochs}
	if o.Readings > 0 {
		kept := times(o.Kept)
		s.Kept = &kept
	}
	if o.Baseline.AllRatio > 0 {
		s.Crowded = &calibration.Crowded{Share: o.Crowded.Share, AllProcessorsRatio: o.Crowded.AllRatio}
	}
	if d := calibration.DiscardedBlocks(o.Discarded); d != (calibration.DiscardedBlocks{}) {
		s.Discarded = &d
	}
	return s
}

// SentinelTimes returns what stands for a sweep: what was kept, or where nothing was, the baseline.
func SentinelTimes(s *calibration.Sentinel) calibration.SentinelTimes {
	if s.Kept != nil {
		return *s.Kept
	}
	return s.Baseline
}

// sameState is the factor by which a figure of two sweeps may differ on a machine in one state. On a virtual machine of two
// processors the medians of quiet sweeps differ by up to 1.2; its states are 30, 48 and 165 ns a hand-over, and a ratio of
// 1.0 or 1.95.
const sameState = 1.4

// sameShare is by how much the share of the time may differ in which processors do not reach their speed all at once. Where
// it differs by less, the median of a time is of the same state, or of both.
const sameShare = 0.25

// sameSpeed is the factor by which the readings of one processor alone may differ on one machine. Two processors of one name
// have been seen at a factor of 2, and the clock of one machine at 1.09.
const sameSpeed = 1.25

// States is the state of the machine at the calibration and now, and the differences.
type States struct {
	Then       *calibration.SentinelTimes `json:"then"` // null where the file does not say
	Now        *calibration.SentinelTimes `json:"now"`  // null where it was not looked at
	Moved      []string                   `json:"moved"`
	Speed      string                     `json:"speed"`      // why one processor alone is not the one of then; "" where it is
	Conditions []string                   `json:"conditions"` // power, power mode and priority, as far as they differ
}

// CompareStates returns the differences of two environments. Figures that one of them does not know are not compared.
func CompareStates(then, now *calibration.Environment) States {
	s := compareSentinels(then.Sentinel, now.Sentinel)
	s.Conditions = compareConditions(then, now)
	return s
}

func compareSentinels(then, now *calibration.Sentinel) States {
	times := func(s *calibration.Sentinel) *calibration.SentinelTimes {
		if s == nil {
			return nil
		}
		t := SentinelTimes(s)
		return &t
	}
	s := States{Then: times(then), Now: times(now), Moved: []string{}}
	if s.Then == nil || s.Now == nil {
		return s
	}
	if before, after := s.Then.OneProcessorSeconds, s.Now.OneProcessorSeconds; differ(before, after, sameSpeed) {
		s.Speed = fmt.Sprintf("one processor alone takes %.3g µs for the sentinel's work now, %.3g µs then: it is another "+
			"processor, or its clock is another one", 1e6*after, 1e6*before)
	}
	if then.Processors != now.Processors {
		noun := "processors"
		if now.Processors == 1 {
			noun = "processor"
		}
		s.Moved = append(s.Moved, fmt.Sprintf("%d %s take part now, %d then", now.Processors, noun, then.Processors))
		return s // the other figures are of other processors
	}
	before, after := s.Then.AllProcessorsRatio, s.Now.AllProcessorsRatio
	switch {
	case differ(before, after, sameState):
		s.Moved = append(s.Moved, fmt.Sprintf("all %d processors at once take %.2f times as long as one alone now, %.2f then",
			now.Processors, after, before))
	case then.Crowded != nil && now.Crowded != nil && math.Abs(now.Crowded.Share-then.Crowded.Share) > sameShare:
		s.Moved = append(s.Moved, fmt.Sprintf("all %d processors at once take over %.1f times as long as one alone for %.0f %% of the time now, "+
			"%.0f %% then", now.Processors, sweeps.CrowdedAbove, 100*now.Crowded.Share, 100*then.Crowded.Share))
	}
	if before, after := s.Then.HandoverSeconds, s.Now.HandoverSeconds; differ(before, after, sameState) {
		s.Moved = append(s.Moved, fmt.Sprintf("a hand-over from processor to processor takes %.0f ns now, %.0f ns then",
			1e9*after, 1e9*before))
	}
	return s
}

// differ reports whether two figures, both known, are further apart than a factor.
func differ(before, after, factor float64) bool {
	return before > 0 && after > 0 && (after > factor*before || before > factor*after)
}
