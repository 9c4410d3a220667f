package harness

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/thresholds"
	"crossover/timings"
)

// since returns the run without the times of implementations that have another revision in a newer run and take other times now, and
// without the sizes and shapes that say nothing without them, see [thresholds.Since]. It also returns a line for each operation that
// has lost times. Cases and shapes for which except returns true stay as they are. If no change concerns any time of such a case, its
// times are of the revisions of this program then.
func (r *Run) since(newer *Run, except func(name string) bool) (*Run, []string) {
	out := *r
	out.Timings, out.Earlier, out.Shapes = maps.Clone(r.Timings), map[string][]*timings.Set{}, maps.Clone(r.Shapes)
	maps.Copy(out.Earlier, r.Earlier)
	out.Entry.Cases = slices.Clone(r.Entry.Cases)
	found, processors := changes{}, r.Entry.Processors()
	for k := range r.Entry.Cases {
		c := &r.Entry.Cases[k]
		now := newer.Timings[c.Name]
		of := newer.Declared(c.Name)
		if now == nil || except(c.Name) {
			if of != nil {
				out.relabel(&out.Entry.Cases[k], of)
			}
			continue
		}
		leaveOut := func(set *timings.Set, measured time.Time) *timings.Set {
			changes := set.Changes(now.Revision, holdsIn(of, set, now.Revision, processors))
			found.add(c.Operation, set, changes, measured)
			return thresholds.Since(set, changes)
		}
		out.Timings[c.Name] = leaveOut(r.Timings[c.Name], r.Entry.RunOf(c).Created)
		out.Earlier[c.Name] = slices.Clone(r.Earlier[c.Name])
		for n, e := range c.Earlier {
			out.Earlier[c.Name][n] = leaveOut(r.Earlier[c.Name][n], r.Entry.EarlierRun(e).Created)
		}
	}
	for k := range r.Entry.Operations {
		o := &r.Entry.Operations[k]
		name := shapesName(o)
		now := newer.Shapes[name]
		if now == nil || except(name) {
			continue
		}
		created := r.Entry.Created
		if o.Created != nil {
			created = *o.Created
		}
		changes := r.Shapes[name].Changes(now.Revision, holdsIn(newer.Declared(name), r.Shapes[name], now.Revision, processors))
		found.add(o.Name, r.Shapes[name], changes, created)
		out.Shapes[name] = thresholds.Since(r.Shapes[name], changes)
	}
	return &out, found.lines()
}

// relabel gives all times of a case the revisions of this program, if no change since they were measured concerns any of them.
func (r *Run) relabel(c *calibration.Case, declared *kernels.Case) {
	own := revisionOf(declared)
	all := slices.Concat([]*timings.Set{r.Timings[c.Name]}, r.Earlier[c.Name])
	revisions := map[string]int{}
	for n, set := range all {
		changes := set.Changes(own, holdsIn(declared, set, own, r.Entry.Processors()))
		for i := range changes {
			if changes[i].ConcernsAny(set) {
				return
			}
			revisions[changes[i].Implementation] = changes[i].Revision
		}
		all[n] = set.Without(changes)
	}
	r.Timings[c.Name], r.Earlier[c.Name] = all[0], all[1:]
	c.Implementations = slices.Clone(c.Implementations)
	for i := range c.Implementations {
		if revision, changed := revisions[c.Implementations[i].Name]; changed {
			c.Implementations[i].Revision = revision
		}
	}
}

// changes are the implementations of operations whose times have changed, and when the last times before that were measured.
type changes map[string]*change

type change struct {
	names []string
	some  bool // of their times hold
	last  time.Time
}

// add notes the changes since a set was measured, as far as they concern it.
func (c changes) add(operation string, set *timings.Set, since []timings.Change, measured time.Time) {
	since = slices.DeleteFunc(slices.Clone(since), func(change timings.Change) bool { return !change.ConcernsAny(set) })
	if len(since) == 0 {
		return
	}
	if c[operation] == nil {
		c[operation] = &change{}
	}
	of := c[operation]
	for _, change := range since {
		i := slices.Index(set.Implementations, change.Implementation)
		of.some = of.some || slices.ContainsFunc(set.Blocks, func(b timings.Block) bool { return b.Timed(i) && !change.Concerns(b.Size) })
		if !slices.Contains(of.names, change.Implementation) {
			of.names = append(of.names, change.Implementation)
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
		if of.some {
			whose = "some of " + whose
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
	return set.Without(set.Changes(other.Revision, nil))
}

// Declare gives a loaded run cases and spaces of this program. They know which shapes a change concerns: see [Join].
func (r *Run) Declare(cases []kernels.Case, spaces []*kernels.Space) {
	r.cases, r.Spaces = cases, spaces
}

// DeclaredAs gives the run the cases and spaces of another one: see [Run.Declare].
func (r *Run) DeclaredAs(other *Run) { r.cases, r.Spaces = other.cases, other.Spaces }

// Declared returns the case of the run, or of one of its spaces, with a name. It returns nil if there is none.
func (r *Run) Declared(name string) *kernels.Case {
	for i := range r.cases {
		if r.cases[i].Name == name {
			return &r.cases[i]
		}
	}
	for _, s := range r.Spaces {
		if s.Case.Name == name {
			return &s.Case
		}
	}
	return nil
}

// holdsIn returns a function that reports whether the times of an implementation in a set, of a machine with so many processors, hold at
// a size though it has the revision of now. It returns nil if there is no case that knows. A case knows nothing of other revisions than its own.
func holdsIn(c *kernels.Case, set *timings.Set, now func(implementation string) (revision int, known bool), processors int) func(implementation string, size int) bool {
	if c == nil {
		return nil
	}
	own := revisionOf(c)
	return func(implementation string, size int) bool {
		of, _ := now(implementation)
		if revision, known := own(implementation); !known || revision != of {
			return false
		}
		if values, found := set.Shapes[size]; found {
			return c.HoldsAt(implementation, set.Revisions[implementation], values, processors)
		}
		return c.Holds(implementation, set.Revisions[implementation], size, processors)
	}
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

// holdsOn reports whether all times of an implementation on a line hold that it took at an earlier revision on so many processors, as far as sizes all over
// the line tell. Of the shapes of a space it is not known.
func holdsOn(c *kernels.Case, implementation string, revision, processors int) bool {
	if c.Shape != nil {
		return false
	}
	const steps = 64
	low, high := float64(c.Axis.Min), float64(c.Axis.Max)
	for i := range steps + 1 {
		if !c.Holds(implementation, revision, c.Axis.Nearest(int(math.Round(low*math.Pow(high/low, float64(i)/steps)))), processors) {
			return false
		}
	}
	return true
}

// changedSince returns why nothing can be said of choices that rest on recorded times of so many processors: an implementation that competed has
// changed since, and takes other times. It returns "" if none has.
func changedSince(recorded []calibration.Implementation, c *kernels.Case, processors int) string {
	now := revisionOf(c)
	var names []string
	for _, i := range recorded {
		if revision, known := now(i.Name); known && i.Excluded == "" && revision != i.Revision && !holdsOn(c, i.Name, i.Revision, processors) {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("unmeasured: %s changed since the calibration (go run ./cmd/calibrate measures again)", strings.Join(names, ", "))
}
