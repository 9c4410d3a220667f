package kernels

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// line returns the case in which all axes are fixed but one. Its name has the parameters in the order in which a plan names
// them, whatever their order here.
func (o *Op[P]) line(b *Backends, fixed []Param) (Case, error) {
	if err := checkFixed(o.Axes, fixed); err != nil {
		return Case{}, fmt.Errorf("%s: %w", o.Name, err)
	}
	running := slices.IndexFunc(o.Axes, func(a Axis) bool {
		return !slices.ContainsFunc(fixed, func(p Param) bool { return p.Name == a.Name })
	})
	var known []Line // on the same axis, whose order of names counts
	for _, l := range o.Lines {
		if l.Axis.Name == o.Axes[running].Name && len(l.Fixed) == len(fixed) {
			known = append(known, l)
		}
	}
	order := func(p Param) int {
		if len(known) > 0 {
			return slices.IndexFunc(known[0].Fixed, func(q Param) bool { return q.Name == p.Name })
		}
		return axisIndex(o.Axes, p.Name)
	}
	fixed = slices.SortedFunc(slices.Values(fixed), func(p, q Param) int { return cmp.Compare(order(p), order(q)) })
	along := Along(o.Axes, o.Axes[running].Name, fixed...)
	if err := o.limit(&along); err != nil {
		return Case{}, err
	}
	return o.CaseOf(b, along), nil
}

// limit limits the axis of a line to the sizes that the typed plan takes, which are next to one another. It returns the plan's
// error if it takes none.
func (o *Op[P]) limit(l *Line) error {
	takes := func(size int) bool { return o.check(l.At(l.Axis.Nearest(size))) == nil }
	low, high := l.Axis.Min, l.Axis.Max
	taken := low // a size that is taken
	for !takes(taken) {
		if taken == high {
			return o.check(l.At(l.Axis.Nearest(low)))
		}
		taken = min(high, 1+taken+taken/16)
	}
	if !takes(low) {
		l.Axis.Min = low + sort.Search(taken-low, func(i int) bool { return takes(low + i) })
	}
	if !takes(high) {
		l.Axis.Max = taken + sort.Search(high-taken, func(i int) bool { return !takes(taken + 1 + i) })
	}
	return nil
}

// check returns the error with which the typed plan refuses the parameters of a shape.
func (o *Op[P]) check(s Shape) error {
	if o.Check == nil {
		return nil
	}
	return o.Check(o.Params(s))
}

// checkFixed says what is wrong with parameters that are to fix all axes but one.
func checkFixed(axes []Axis, fixed []Param) error {
	if err := checkValues(axes, fixed); err != nil {
		return err
	}
	for _, p := range fixed {
		if p.Value > mostValue {
			return fmt.Errorf("%s=%d: want 1 to %d", p.Name, p.Value, mostValue)
		}
	}
	if len(fixed) != len(axes)-1 {
		return fmt.Errorf("%d of %d axes have a value (want values of all of %s, or of all but one)", len(fixed), len(axes), AxisList(axes))
	}
	return nil
}

// mostValue is the greatest value of an axis that a case can be asked for.
const mostValue = 1 << 26

// checkValues says what is wrong with values of axes.
func checkValues(axes []Axis, values []Param) error {
	seen := map[string]bool{}
	for _, p := range values {
		switch {
		case !slices.ContainsFunc(axes, func(a Axis) bool { return a.Name == p.Name }):
			return fmt.Errorf("%q is not an axis (there are %s)", p.Name, AxisList(axes))
		case seen[p.Name]:
			return fmt.Errorf("%s is there twice", p.Name)
		case p.Value < 1:
			return fmt.Errorf("%s=%d: want 1 to %d", p.Name, p.Value, mostValue)
		}
		seen[p.Name] = true
	}
	return nil
}

// AxisList returns the names of axes, for a message.
func AxisList(axes []Axis) string {
	var names []string
	for _, a := range axes {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// ShapeOf returns the shape with the given values, in any order. There must be one for each axis.
func ShapeOf(axes []Axis, values []Param) (Shape, error) {
	var s Shape
	if err := checkValues(axes, values); err != nil {
		return s, err
	}
	if len(values) != len(axes) {
		return s, fmt.Errorf("%d of %d axes have a value (want all of %s)", len(values), len(axes), AxisList(axes))
	}
	for _, p := range values {
		s[axisIndex(axes, p.Name)] = p.Value
	}
	return s, nil
}
