package harness

import (
	"fmt"

	"crossover/calibration"
	"crossover/sweeps"
)

// crowdedShare is the share of a run from which a reader is told that processors were slower together than alone. A smaller
// share decides no threshold.
const crowdedShare = 0.1

// crowded says in one line for how much of the runs of an entry processors did not reach their speed all at once. It returns
// "" if they did, or if nothing was recorded. The cause may be the machine's nature or its state today, and a sweep cannot
// distinguish them. An older run has only its median on record, and not for how much of the run that holds.
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

// companyShare is the share of a run from which a reader is told that others usually used the core. Blocks of a smaller share are
// those of a disturbed machine.
const companyShare = 0.3

// company says in one line for how much of the runs of an entry others usually used the core of the calls. It returns "" if that
// was for less than companyShare, or was not recorded.
func company(runs []*calibration.Sentinel) string {
	var shares extent
	count := 0
	for _, s := range runs {
		if c := s.Company; c != nil && *c >= companyShare {
			shares.add(100 * *c)
			count++
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("others, perhaps another virtual machine, mostly used the core of the calls%s: "+
		"times and thresholds hold beside such a neighbour, and may be others without one", when(shares, count, len(runs)))
}

// when says for which share of how many runs something holds, as far as that is known.
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

// extent is a range from the least of some figures to the greatest.
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

// words writes the extent, as one figure if both ends are written alike.
func (e *extent) words(format string) string {
	least, greatest := fmt.Sprintf(format, e.least), fmt.Sprintf(format, e.greatest)
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}
