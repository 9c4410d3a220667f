package harness

import (
	"fmt"
	"reflect"
	"slices"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/timings"
)

// MostRuns is the greatest number of runs of a case that are kept.
const MostRuns = 6

// Join returns a run that is made of an older run and a newer one. Neither of them may be fitted, and the result is neither
// fitted nor saved. If kept returns true for a case, the case stays as in the older run, and what the newer run measured of it
// while the machine was quiet becomes its next timings, unless there is [Run.NothingToAdd]. Every other case of the newer run has the
// newer timings, and the older run's timings of such a case become earlier timings. If fresh returns true for a case, the timings
// of the other run are forgotten instead. A case has at most MostRuns runs: of more, those go first that have no size which the others
// lack, the oldest before the newer ones, and then the oldest. Earlier times of an implementation whose revision has changed are left
// out, also those of shapes, and the result's Changes say so. If the change concerns some shapes only, as the newer run's cases and
// spaces know, the times at others stay. The entry's date, environment and method are those of the run of its first case, which is a
// kept case if there is one.
func Join(older, newer *Run, kept, fresh func(name string) bool) *Run {
	j := &joint{Run: &Run{
		Entry: newer.Entry, Timings: map[string]*timings.Set{}, Earlier: map[string][]*timings.Set{}, Resamples: newer.Resamples,
		Shapes: map[string]*timings.Set{},
	}}
	older, j.Changes = older.since(newer, func(name string) bool { return kept(name) || fresh(name) })
	j.Entry.Operations = nil
	j.Entry.Cases, j.Entry.Runs, j.Entry.Warnings = nil, nil, nil
	for _, c := range older.Entry.Cases {
		if kept(c.Name) {
			j.add(older, c)
			if !fresh(c.Name) {
				j.putBehind(older, newer, &c)
			}
			j.rememberEarlier(older, &c)
			j.keepEarlier()
		}
	}
	for _, c := range newer.Entry.Cases {
		if kept(c.Name) {
			continue
		}
		j.add(newer, c)
		j.rememberEarlier(newer, &c)
		if !fresh(c.Name) {
			j.remember(older, c.Name)
		}
		j.keepEarlier()
	}
	j.joinShapes(older, newer, fresh)
	if len(j.runs) > 0 {
		own := j.runs[0]
		j.Entry.Created, j.Entry.Environment, j.Entry.Method = own.Created, own.Environment, own.Method
		j.Entry.Runs = j.runs[1:]
	}
	return j.Run
}

// joint is the run that Join makes.
type joint struct {
	*Run
	runs    []calibration.Run // that its timings are from; the first one becomes the entry's own
	earlier []earlier         // timings of the last case, from the newest to the oldest
}

// earlier are the timings of an earlier run of a case, in brief.
type earlier struct {
	run     calibration.Run
	set     *timings.Set
	samples string // digest of the set
}

// number returns the number of a run in the joint. It adds a run that is not there yet.
func (j *joint) number(run calibration.Run) int {
	n := slices.IndexFunc(j.runs, func(other calibration.Run) bool { return reflect.DeepEqual(run, other) })
	if n < 0 {
		n = len(j.runs)
		j.runs = append(j.runs, run)
	}
	return n
}

// add adds a case of a run, without its earlier timings.
func (j *joint) add(from *Run, c calibration.Case) {
	c.Run, c.Earlier = j.number(from.Entry.RunOf(&c)), nil
	j.Entry.Cases = append(j.Entry.Cases, c)
	j.Timings[c.Name] = from.Timings[c.Name]
}

// remember adds the timings that a run has of the last case to the earlier timings of the case.
func (j *joint) remember(from *Run, name string) {
	if c := caseOf(&from.Entry, name); c != nil {
		j.addEarlier(from.Entry.RunOf(c), from.Timings[name])
		j.rememberEarlier(from, c)
	}
}

// rememberEarlier adds the earlier timings that a run has of the last case.
func (j *joint) rememberEarlier(from *Run, c *calibration.Case) {
	for n, e := range c.Earlier {
		j.addEarlier(from.Entry.EarlierRun(e), from.Earlier[c.Name][n])
	}
}

// putBehind adds what a newer run measured of the last case, which is that of an older run, while the machine was quiet. It does
// nothing if the older run has all of these timings already.
func (j *joint) putBehind(older, newer *Run, before *calibration.Case) {
	now := caseOf(&newer.Entry, before.Name)
	if now == nil || older.NothingToAdd(now, before, newer.Timings[before.Name], newer.Declared(before.Name)) != "" {
		return
	}
	run := newer.Entry.RunOf(now)
	if !slices.ContainsFunc(before.Earlier, func(e calibration.Earlier) bool { return reflect.DeepEqual(older.Entry.EarlierRun(e), run) }) {
		j.addEarlier(run, newer.Timings[before.Name].Quiet())
	}
}

// NothingToAdd says why a run adds nothing to what a better run, r, measured of a case. It returns "" if it does: if it has times of a
// quiet machine, of all implementations that competed then, they take the same times, and it pushes out no run that tells more. set has
// the times of the case. declared is the case in this program, or nil: see [Run.Declared].
func (r *Run) NothingToAdd(now, before *calibration.Case, set *timings.Set, declared *kernels.Case) string {
	quiet := set.Quiet()
	switch missing := missing(now, before); {
	case missing != "":
		return missing + " did not compete"
	case wrongNow(now, before) || changedNow(now, before, declared, r.Entry.Processors()):
		return "an implementation is another one now"
	case len(quiet.Blocks) == 0:
		return "none of its blocks was quiet"
	case len(before.Earlier) < MostRuns-1:
		return ""
	}
	all := []earlier{{set: quiet}}
	for _, set := range r.Earlier[before.Name] {
		all = append(all, earlier{set: set})
	}
	switch out := leastTelling(r.Timings[before.Name], all); {
	case out == 0:
		return fmt.Sprintf("%d runs know its sizes", MostRuns)
	case 2*len(quiet.Blocks) < len(all[out].set.Blocks):
		return fmt.Sprintf("%d runs have more blocks", MostRuns)
	}
	return ""
}

// caseOf returns the case of an entry, or nil if there is none.
func caseOf(entry *calibration.Host, name string) *calibration.Case {
	for k := range entry.Cases {
		if entry.Cases[k].Name == name {
			return &entry.Cases[k]
		}
	}
	return nil
}

// addEarlier adds the timings of a run to the earlier timings of the last case. It does nothing if the case has these timings, or
// others of that run.
func (j *joint) addEarlier(run calibration.Run, set *timings.Set) {
	c := &j.Entry.Cases[len(j.Entry.Cases)-1]
	if len(set.Blocks) == 0 || reflect.DeepEqual(run, j.runs[c.Run]) {
		return
	}
	set = set.Brief()
	samples := set.Digest()
	if samples == j.Timings[c.Name].Brief().Digest() || slices.ContainsFunc(j.earlier, func(e earlier) bool {
		return e.samples == samples || reflect.DeepEqual(e.run, run)
	}) {
		return
	}
	j.earlier = append(j.earlier, earlier{run, set, samples})
}

// keepEarlier puts the earlier timings of the last case into the entry, without those of too many runs.
func (j *joint) keepEarlier() {
	c := &j.Entry.Cases[len(j.Entry.Cases)-1]
	for len(j.earlier) >= MostRuns {
		out := leastTelling(j.Timings[c.Name], j.earlier)
		j.earlier = slices.Delete(j.earlier, out, out+1)
	}
	for _, e := range j.earlier {
		c.Earlier = append(c.Earlier, calibration.Earlier{Run: j.number(e.run), Blocks: len(e.set.Blocks), Samples: e.samples})
		j.Earlier[c.Name] = append(j.Earlier[c.Name], e.set)
	}
	j.earlier = nil
}

// leastTelling returns which of the earlier timings go first: the oldest of those that have no size which the others and the main
// timings lack, or else the oldest. A run of a single size, which every run measures, must not push out one that knows others.
func leastTelling(main *timings.Set, all []earlier) int {
	count := map[int]int{}
	for _, size := range main.Sizes() {
		count[size]++
	}
	for _, e := range all {
		for _, size := range e.set.Sizes() {
			count[size]++
		}
	}
	for n, e := range slices.Backward(all) {
		if !slices.ContainsFunc(e.set.Sizes(), func(size int) bool { return count[size] == 1 }) {
			return n
		}
	}
	return len(all) - 1
}

// Poorer says why the result of a run for a case must not replace the result from before. It returns "" if it may. declared is the
// case in this program, or nil: see [Run.Declared]. processors is the number of those that the result from before belongs to: see
// [calibration.Host.Processors].
func Poorer(now, before *calibration.Case, declared *kernels.Case, processors int) string {
	switch missing := missing(now, before); {
	case now.Blocks == 0 && before.Blocks > 0:
		return "nothing was measured"
	case len(before.Segments) == 0, wrongNow(now, before), changedNow(now, before, declared, processors):
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

// wrongNow reports whether an implementation that competed before computes wrong values now. The choices from before must
// not stay then, because they may be that implementation.
func wrongNow(now, before *calibration.Case) bool {
	return slices.ContainsFunc(now.Implementations, func(is calibration.Implementation) bool {
		return is.Wrong && slices.ContainsFunc(before.Implementations, func(was calibration.Implementation) bool {
			return was.Name == is.Name && was.Excluded == ""
		})
	})
}

// changedNow reports whether an implementation that competed before has a higher revision now, of which a change concerns the case. The
// choices from before rest on times that it no longer takes.
func changedNow(now, before *calibration.Case, declared *kernels.Case, processors int) bool {
	return slices.ContainsFunc(now.Implementations, func(is calibration.Implementation) bool {
		return slices.ContainsFunc(before.Implementations, func(was calibration.Implementation) bool {
			return was.Name == is.Name && was.Excluded == "" && is.Revision > was.Revision &&
				(declared == nil || !holdsOn(declared, was.Name, was.Revision, processors))
		})
	})
}

// missing returns the name of an implementation that competed before and does not compete now. It returns "" if there is
// none.
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
