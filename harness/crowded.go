package harness

import (
	"fmt"

	"crossover/calibration"
	"crossover/sweeps"
)

// crowdedShare is for how much of a run processors do not reach their speed all at once before a reader should know. What
// is rarer decides no threshold.
const crowdedShare = 0.1

// crowded says in one line for how much of the runs of an entry processors did not reach their speed all at once, "" where
// they did or nobody looked. It may be the machine's nature or its state today, and the sweep cannot tell the one from the
// other.
func crowded(runs []*calibration.Sentinel) string {
	var ratios, shares extent
	count, processors := 0, 0
	for _, s := range runs {
		ratio, share := whileCrowded(s)
		if share < crowdedShare {
			continue
		}
		ratios.add(ratio)
		shares.add(100 * share)
		count, processors = count+1, max(processors, s.Processors)
	}
	if count == 0 {
		return ""
	}
	of := "the run"
	if len(runs) > 1 {
		of = fmt.Sprintf("the time in %d of %d runs", count, len(runs))
	}
	return fmt.Sprintf("all %d processors at once took %s times as long as one alone for %s %% of %s: "+
		"they share cores, differ in speed or were in use, and the thresholds of parallel implementations hold for a machine like that",
		processors, ratios.words("%.2f"), shares.words("%.0f"), of)
}

// whileCrowded returns what processors took all at once while they did not reach their speed, and for how much of a run that
// was. Of a run that does not say so, the median stands for all of it.
func whileCrowded(s *calibration.Sentinel) (ratio, share float64) {
	if s.Crowded != nil {
		return s.Crowded.AllProcessorsRatio, s.Crowded.Share
	}
	if ratio = SentinelTimes(s).AllProcessorsRatio; ratio > sweeps.CrowdedAbove {
		return ratio, 1
	}
	return ratio, 0
}

// extent is from the least of some figures to the greatest.
type extent struct {
	least, greatest float64
	some            bool
}

func (e *extent) add(value float64) {
	if !e.some {
		*e = extent{value, value, true}
	}
	e.least, e.greatest = min(e.least, value), max(e.greatest, value)
}

// words writes the extent, as one figure where that is all that a reader sees of it.
func (e *extent) words(format string) string {
	least, greatest := fmt.Sprintf(format, e.least), fmt.Sprintf(format, e.greatest)
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}
