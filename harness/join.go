package harness

import (
	"reflect"
	"slices"

	"crossover/calibration"
	"crossover/timings"
)

// Join returns a run, not fitted and not saved, of the cases of an older run that are kept and those of a newer one that
// are not kept from the older. Neither may be fitted. Each case says which run measured it; what the entry says of itself
// stays that of the older run as long as it keeps a case of that.
func Join(older, newer *Run, kept func(name string) bool) *Run {
	j := &Run{Entry: newer.Entry, Timings: map[string]*timings.Set{}, Resamples: newer.Resamples}
	j.Entry.Cases, j.Entry.Runs, j.Entry.Warnings = nil, nil, nil
	var runs []calibration.Run
	add := func(from *Run, c calibration.Case) {
		run := from.Entry.RunOf(&c)
		c.Run = slices.IndexFunc(runs, func(other calibration.Run) bool { return reflect.DeepEqual(run, other) })
		if c.Run < 0 {
			c.Run = len(runs)
			runs = append(runs, run)
		}
		j.Entry.Cases = append(j.Entry.Cases, c)
		j.Timings[c.Name] = from.Timings[c.Name]
	}
	for _, c := range older.Entry.Cases {
		if kept(c.Name) {
			add(older, c)
		}
	}
	for _, c := range newer.Entry.Cases {
		if !kept(c.Name) {
			add(newer, c)
		}
	}
	own := runs[0]
	j.Entry.Created, j.Entry.Environment, j.Entry.Method = own.Created, own.Environment, own.Method
	j.Entry.Runs = runs[1:]
	return j
}

// Poorer says why what a run found in a case must not take the place of what was known before, "" where it may.
func Poorer(now, before *calibration.Case) string {
	switch missing := missing(now, before); {
	case now.Blocks == 0 && before.Blocks > 0:
		return "nothing was measured"
	case len(before.Segments) == 0:
		return ""
	case len(now.Segments) == 0:
		return "the samples do not decide"
	case now.Degraded && !before.Degraded:
		return "the machine was not quiet"
	case now.Axis.From > 2*before.Axis.From || 2*now.Axis.To < before.Axis.To:
		return "it covers fewer sizes"
	case missing != "":
		return missing + " did not compete"
	case 2*now.Blocks < before.Blocks:
		return "it has fewer blocks"
	}
	return ""
}

// missing names an implementation that competed before and does not now.
func missing(now, before *calibration.Case) string {
	for _, was := range before.Implementations {
		if was.Excluded == "" && !slices.ContainsFunc(now.Implementations, func(is calibration.Implementation) bool {
			return is.Name == was.Name && is.Excluded == ""
		}) {
			return was.Name
		}
	}
	return ""
}
