package harness

import (
	"fmt"
	"math"

	"crossover/calibration"
	"crossover/sweeps"
)

// sentinel returns what a sweep's sentinel measured, in the form of the file.
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
	if o.Company >= 0 {
		s.Company = new(rounded(o.Company))
	}
	if d := calibration.DiscardedBlocks(o.Discarded); d != (calibration.DiscardedBlocks{}) {
		s.Discarded = &d
	}
	return s
}

// SentinelTimes returns the times of a sweep: those of the kept readings, or the baseline if none were kept.
func SentinelTimes(s *calibration.Sentinel) calibration.SentinelTimes {
	if s.Kept != nil {
		return *s.Kept
	}
	return s.Baseline
}

// sameState is the greatest ratio of a figure of two sweeps on a machine in one state. On a virtual machine of two
// processors the medians of quiet sweeps differ by up to 1.2. Its states are 30, 48 and 165 ns for a hand-over, and a ratio
// of 1.0 or 1.95.
const sameState = 1.4

// sameShare is the greatest difference of the share of the time in which processors did not reach their speed all at once.
// With a smaller difference, the medians of times are of the same states.
const sameShare = 0.25

// sameCompany is the greatest difference of the share of two runs in which others usually used the core of the calls.
const sameCompany = 0.5

// sameSpeed is the greatest ratio of the readings of one processor alone on one machine. Two processors of one name have
// differed by a factor of 2, and the clock of one machine by 1.09.
const sameSpeed = 1.25

// States has the state of the machine at the calibration and now, and their differences.
type States struct {
	Then       *calibration.SentinelTimes `json:"then"` // null if the file does not have it
	Now        *calibration.SentinelTimes `json:"now"`  // null if it was not measured
	Moved      []string                   `json:"moved"`
	Speed      string                     `json:"speed"`      // how the speed of one processor differs from then; "" if it does not
	Conditions []string                   `json:"conditions"` // differences in power, power mode and priority
}

// CompareStates returns the differences of two environments. It compares only figures that both have.
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
		clause := "processors take"
		if now.Processors == 1 {
			clause = "processor takes"
		}
		s.Moved = append(s.Moved, fmt.Sprintf("%d %s part now, %d then", now.Processors, clause, then.Processors))
		return s // the other figures are of another number of processors
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
	if before, after := then.Company, now.Company; before != nil && after != nil && math.Abs(*after-*before) > sameCompany {
		s.Moved = append(s.Moved, fmt.Sprintf("others usually use the core of the calls in %.0f %% of the run now, in %.0f %% then", 100**after, 100**before))
	}
	if before, after := s.Then.HandoverSeconds, s.Now.HandoverSeconds; differ(before, after, sameState) {
		s.Moved = append(s.Moved, fmt.Sprintf("a hand-over from processor to processor takes %.0f ns now, %.0f ns then",
			1e9*after, 1e9*before))
	}
	return s
}

// differ reports whether two known figures differ by more than a factor.
func differ(before, after, factor float64) bool {
	return before > 0 && after > 0 && (after > factor*before || before > factor*after)
}
