package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/thresholds"
	"crossover/timings"
)

// since returns the run without the times of implementations that have another revision in a newer run, and without the sizes and
// shapes that say nothing without them, see [thresholds.Since]. It also returns a line for each operation that has lost times.
// Cases and shapes for which except returns true stay as they are.
func (r *Run) since(newer *Run, except func(name string) bool) (*Run, []string) {
	out := *r
	out.Timings, out.Earlier, out.Shapes = maps.Clone(r.Timings), map[string][]*timings.Set{}, maps.Clone(r.Shapes)
	maps.Copy(out.Earlier, r.Earlier)
	found := changes{}
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		now := newer.Timings[c.Name]
		if now == nil || except(c.Name) {
			continue
		}
		changed := r.Timings[c.Name].Changed(now.Revision)
		out.Timings[c.Name] = thresholds.Since(r.Timings[c.Name], changed)
		found.add(c.Operation, changed, r.Entry.RunOf(c).Created)
		out.Earlier[c.Name] = slices.Clone(r.Earlier[c.Name])
		for n, e := range c.Earlier {
			changed := r.Earlier[c.Name][n].Changed(now.Revision)
			out.Earlier[c.Name][n] = thresholds.Since(r.Earlier[c.Name][n], changed)
			found.add(c.Operation, changed, r.Entry.EarlierRun(e).Created)
		}
	}
	for k := range r.Entry.Operations {
		o := &r.Entry.Operations[k]
		name := shapesName(o)
		now := newer.Shapes[name]
		if now == nil || except(name) {
			continue
		}
		changed := r.Shapes[name].Changed(now.Revision)
		out.Shapes[name] = thresholds.Since(r.Shapes[name], changed)
		created := r.Entry.Created
		if o.Created != nil {
			created = *o.Created
		}
		found.add(o.Name, changed, created)
	}
	return &out, found.lines()
}

// changes are the implementations of operations that have changed, and when their last times before that were measured.
type changes map[string]*change

type change struct {
	names []string
	last  time.Time
}

func (c changes) add(operation string, names []string, measured time.Time) {
	if len(names) == 0 {
		return
	}
	if c[operation] == nil {
		c[operation] = &change{}
	}
	of := c[operation]
	for _, name := range names {
		if !slices.Contains(of.names, name) {
			of.names = append(of.names, name)
		}
	}
	if measured.After(of.last) {
		of.last = measured
	}
}

// lines returns a line for each operation.
func (c changes) lines() []string {
	var lines []string
	for _, operation := range slices.Sorted(maps.Keys(c)) {
		of, whose := c[operation], "their"
		if len(of.names) == 1 {
			whose = "its"
		}
		lines = append(lines, fmt.Sprintf("%s: %s changed since the run of %s: %s earlier times are left out",
			operation, strings.Join(of.names, ", "), of.last.Format(time.DateOnly), whose))
	}
	return lines
}

// sameAs returns a set without the times of implementations that have another revision in another set of the run. So times
// before and after a change are never fitted together, also if a run has measured only a part of what the entry has.
func sameAs(other, set *timings.Set) *timings.Set {
	if other == nil {
		return set
	}
	return set.Without(set.Changed(other.Revision))
}

// revisionOf returns the revision that a case of this program has of an implementation.
func revisionOf(c *kernels.Case) func(implementation string) (revision int, known bool) {
	return func(implementation string) (int, bool) {
		for _, i := range c.Implementations {
			if i.Name == implementation {
				return i.Revision, true
			}
		}
		return 0, false
	}
}

// changedSince returns why nothing can be said of choices that rest on recorded times: an implementation that competed has
// changed since. It returns "" if none has.
func changedSince(recorded []calibration.Implementation, c *kernels.Case) string {
	now := revisionOf(c)
	var names []string
	for _, i := range recorded {
		if revision, known := now(i.Name); known && i.Excluded == "" && revision != i.Revision {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("unmeasured: %s changed since the calibration (go run ./cmd/calibrate measures again)", strings.Join(names, ", "))
}
