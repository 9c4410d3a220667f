package command

import (
	"crossover/calibration"
	"crossover/sweeps"
)

// Sentinel is what a sweep's sentinel saw, as the file holds it.
func Sentinel(o sweeps.Observed) *calibration.Sentinel {
	times := func(f sweeps.Figures) calibration.SentinelTimes {
		return calibration.SentinelTimes{
			OneProcessorSeconds: f.OneProcessor, AllProcessorsRatio: f.AllRatio, HandoverSeconds: f.HandOver,
		}
	}
	s := &calibration.Sentinel{Processors: o.Processors, Baseline: times(o.Baseline), Readings: o.Readings}
	if o.Readings > 0 {
		kept := times(o.Kept)
		s.Kept = &kept
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
