package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/harness"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/sweeps"
)

// shapeBudget is the default budget of each shape from the command line, and leastBudget that of all together.
const (
	shapeBudget = 2 * time.Second
	leastBudget = 4 * time.Second
)

// asked is a shape that the command line asks for.
type asked struct {
	catalogue.Shape
	dispatch.Called
	origin string // "--shape" or the file and the line
}

// fromFile reports whether a file asks for the shape.
func (a *asked) fromFile() bool { return a.Line > 0 }

// needs reports whether a case is measured because of the shape. A file stands for a program, so all cases of its operations
// are.
func (a *asked) needs(c *kernels.Case) bool {
	return a.Operation == c.Operation && (a.fromFile() || a.inCase(c))
}

// inCase reports whether the shape is a size of a case: one of an operation with a single axis.
func (a *asked) inCase(c *kernels.Case) bool {
	return len(a.Values) == 1 && a.Operation == c.Operation && a.Placement == c.Placement
}

// alone reports whether nothing is measured of the operations' spaces but shapes that were asked for.
func (o *options) alone() bool {
	return o.picks() && !slices.ContainsFunc(o.asked, func(a asked) bool { return a.fromFile() })
}

// mostAsked is the greatest number of shapes of an operation in a placement.
const mostAsked = 400

// resolve returns where the asked shapes are measured. A shape of a file that cannot be measured here is left out, and stderr
// says so: the file may be from another machine. One of --shape is an error.
func (o *options) resolve(spaces []*kernels.Space, cases []kernels.Case, stderr io.Writer) ([]harness.Asked, error) {
	var all []harness.Asked
	number := map[string]int{}
	left, calls, reason := 0, int64(0), error(nil)
	byCalls := slices.Clone(o.asked)
	slices.SortStableFunc(byCalls, func(a, b asked) int { return cmp.Compare(b.Calls, a.Calls) })
	for _, a := range byCalls {
		c, err := a.place(spaces, cases)
		switch {
		case err != nil:
		case !o.list && !slices.ContainsFunc(c.Implementations, o.competes):
			err = fmt.Errorf("none of --impl can run here (%s can)", strings.Join(present(c.Implementations), ", "))
		case number[c.Name] == mostAsked:
			err = fmt.Errorf("more than %d shapes of one operation are asked for", mostAsked)
		}
		switch {
		case err == nil:
			number[c.Name]++
			all = append(all, harness.Asked{Name: a.Name, Case: c.Name, Shape: a.Values, Calls: a.Calls})
		case !a.fromFile():
			return nil, command.Usage("%s %s: %v", a.origin, a.Name, err)
		default:
			left, calls = left+1, calls+min(a.Calls, math.MaxInt64-calls)
			reason = cmp.Or(reason, fmt.Errorf("%s: %w", a.Name, err))
		}
	}
	if left > 0 {
		fmt.Fprintf(stderr, "calibrate: warning: left out %s with %d calls: %v\n", command.Plural(left, "shape"), calls, reason)
	}
	return all, nil
}

// place returns the case in which the shape is measured, which may be that of a space.
func (a *asked) place(spaces []*kernels.Space, cases []kernels.Case) (*kernels.Case, error) {
	for k := range cases {
		if c := &cases[k]; a.inCase(c) {
			return c, kernels.Affordable(a.Values, func() kernels.Work { return workOf(c, a.Values[0]) })
		}
	}
	for _, s := range spaces {
		if s.Operation == a.Operation && s.Placement == a.Placement {
			var shape kernels.Shape
			copy(shape[:], a.Values)
			return &s.Case, s.Affordable(shape)
		}
	}
	if a.Placement == kernels.Resident && len(a.Values) > 1 {
		line, _ := lineThrough(a.Shape)
		return nil, fmt.Errorf("cannot be measured here: %s (leave %q out, or measure the line %s, also with resident data where a GPU has "+
			"memory of its own)", notWhole, a.Placement, line)
	}
	if a.Placement != kernels.Caller {
		return nil, fmt.Errorf("cannot be measured here: %s memory takes a GPU that computes the operation, warm and one call at a time (leave %[1]q, --mode, "+
			"--state, --sizes and --simulate out)", a.Placement)
	}
	return nil, errors.New("cannot be measured here: shapes are measured warm and one call at a time (leave --mode, --state, --sizes and --simulate out)")
}

// workOf is the work of a case, none if it is not known.
func workOf(c *kernels.Case, size int) kernels.Work {
	if c.Work == nil {
		return kernels.Work{}
	}
	return c.Work(size, "")
}

// spaces returns the operations whose shapes are measured: those of the selected cases, or of the shapes that were asked for.
// There are none with --sizes, --simulate, and any mode or state but the defaults.
func (o *options) spaces(machine command.Machine, cases []kernels.Case) []*kernels.Space {
	if machine.Spaces == nil || o.sizes != "" || o.simulate != "" || o.mode != string(sweeps.Latency) || o.state != string(sweeps.Warm) ||
		o.picks() && len(o.asked) == 0 {
		return nil
	}
	return slices.DeleteFunc(machine.Spaces(), func(s *kernels.Space) bool {
		if o.picks() {
			return !slices.ContainsFunc(o.asked, func(a asked) bool {
				return a.Operation == s.Operation && (a.fromFile() || a.Placement == s.Placement)
			})
		}
		return !slices.ContainsFunc(cases, func(c kernels.Case) bool {
			return c.Operation == s.Operation && c.Placement == s.Placement
		})
	})
}

// askedTable prints what was found at the shapes that the command line asks for, the most frequent first.
func askedTable(w io.Writer, r *harness.Run, all []harness.Asked) {
	const most = 50
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"SHAPE", "CALLS", "IMPLEMENTATION", callHeading, nextHeading, "REGRET"}}
	for _, a := range all[:min(len(all), most)] {
		s := r.ResultOf(a)
		row := []string{s.Name, command.Thousands(int(s.Calls)), "not measured", "", "", ""}
		if s.Implementation != "" {
			row = append(row[:2], s.Implementation, command.TimeRange(s.Seconds, s.Seconds), leadOf(s.Least, s.Most), "?")
			if s.Regret != nil {
				row[5] = percent(*s.Regret)
			}
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(w)
	for _, line := range command.Align(rows, 1, 3, 4, 5) {
		fmt.Fprintln(w, line)
	}
	if len(all) > most {
		fmt.Fprintf(w, "and %d more with fewer calls\n", len(all)-most)
	}
	fmt.Fprint(w, askedLegend)
}

const askedLegend = `
These shapes were measured exactly. NEXT BEST TAKES says how many times as long the best other
implementation takes, in each half of the samples: below 1, it is faster in that half. REGRET is how
much longer calls take if one half chooses and the other half judges.
`

// byCallsTable prints what the choices cost at the shapes that somebody asked for, weighted by their calls, or nothing if
// there are no such shapes.
func byCallsTable(w io.Writer, entry *calibration.Host) {
	rows := [][]string{{"OPERATION, SHAPES ASKED FOR", "SHAPES", "CALLS", "REGRET", "WITHIN 5 %", "WORST", "AT"}}
	var all weighted
	for k := range entry.Operations {
		o := &entry.Operations[k]
		var of weighted
		for i := range o.Asked {
			of.add(&o.Asked[i])
		}
		all.join(&of)
		if len(o.Asked) > 0 {
			rows = append(rows, of.row(placedName(o), command.Shape(o.Surface.Axes, of.worstShape)))
		}
	}
	switch {
	case len(rows) == 1:
		return
	case len(rows) > 2:
		rows = append(rows, all.row("all of these", ""))
	}
	fmt.Fprintln(w)
	for _, line := range command.Align(rows, 1, 2, 3, 4, 5) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprint(w, byCallsLegend)
}

const byCallsLegend = `
A shape that was asked for is measured, not predicted. Regret and share are weighted by calls.
Sizes of operations with one axis are in their cases.
`

// weighted sums up regrets by calls.
type weighted struct {
	shapes            int
	calls, judged     float64 // all, and those of shapes whose regret is known
	loss, good, worst float64
	worstShape        []int
}

func (s *weighted) add(a *calibration.Asked) {
	calls := float64(a.Calls)
	s.shapes++
	s.calls += calls
	if a.Regret == nil {
		return
	}
	s.judged += calls
	s.loss += calls * math.Log1p(*a.Regret)
	if *a.Regret <= 0.05 {
		s.good += calls
	}
	if s.worstShape == nil || *a.Regret > s.worst {
		s.worst, s.worstShape = *a.Regret, a.Shape
	}
}

func (s *weighted) join(other *weighted) {
	s.shapes += other.shapes
	s.calls += other.calls
	s.judged += other.judged
	s.loss += other.loss
	s.good += other.good
	s.worst = max(s.worst, other.worst)
}

// row returns the row of the table.
func (s *weighted) row(name, at string) []string {
	row := []string{name, fmt.Sprint(s.shapes), command.Thousands(int(s.calls)), "?", "?", "?", ""}
	if s.judged > 0 {
		row = append(row[:3], percent(math.Expm1(s.loss/s.judged)), fmt.Sprintf("%.0f %%", 100*s.good/s.judged), percent(s.worst), at)
	}
	return row
}

// unmeasured returns an error if nothing of what a command line asks for could be measured, and says on stderr how many of the
// shapes were not.
func unmeasured(r *harness.Run, stderr io.Writer) error {
	n := 0
	var first []string
	for _, a := range r.Asked {
		if !r.Measured(a) {
			n++
			first = append(first, a.Name)
		}
	}
	switch {
	case n == 0:
		return nil
	case n == len(r.Asked) && r.Alone:
		return errors.New("nothing could be measured: want a larger --budget")
	}
	fmt.Fprintf(stderr, "calibrate: warning: %s of %d could not be measured (%s): want a larger --budget\n",
		command.Plural(n, "asked shape"), len(r.Asked), strings.Join(first[:min(n, 3)], "; "))
	return nil
}
