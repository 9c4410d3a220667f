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
// other. An older run tells its median alone, and not for how much of it that holds.
func crowded(runs []*calibration.Sentinel) string {
	var ratios, shares extent
	count, processors := 0, 0
	for _, s := range runs {
		ratio := SentinelTimes(s).AllProcessorsRatio
		switch {
		case s.Crowded == nil && !(ratio > sweeps.CrowdedAbove), s.Crowded != nil && s.Crowded.Share < crowdedShare:
			continue
		case s.Crowded != nil:
			ratio = s.Crowded.AllProcessorsRatio
			shares.add(100 * s.Crowded.Share)
		}
		ratios.add(ratio)
		count, processors = count+1, max(processors, s.Processors)
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("all %d processors at once took %s times as long as one alone%s: "+
		"they share cores, differ in speed or were in use, and the thresholds of parallel implementations hold for a machine like that",
		processors, ratios.words("%.2f"), when(shares, count, len(runs)))
}

// when says for which share of how many runs, as far as it is known, something holds.
func when(shares extent, count, runs int) string {
	share, of := "", ""
	if shares.some {
		share = " for " + shares.words("%.0f") + " % of the "
	}
	switch {
	case runs > 1 && shares.some:
		of = fmt.Sprintf("time in %d of %d runs", count, runs)
	case runs > 1:
		of = fmt.Sprintf(" in %d of %d runs", count, runs)
	case shares.some:
		of = "run"
	}
	return share + of
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
