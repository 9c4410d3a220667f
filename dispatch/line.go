package dispatch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// The placements of data. A calibration predicts for the first two at all shapes.
const (
	caller   = "caller"
	shared   = "shared"
	resident = "resident"
)

// placements are the words for placements at the end of a name. A name without one is about the placement caller.
var placements = []string{shared, resident}

// splitName splits the name of a case, or of an operation in a placement: "stft/n_fft=1024,hop=256,shared".
func splitName(name string) (operation string, fixed []string, placement string) {
	operation, rest, _ := strings.Cut(name, "/")
	if rest != "" {
		fixed = strings.Split(rest, ",")
	}
	placement = caller
	if last := len(fixed) - 1; last >= 0 && slices.Contains(placements, fixed[last]) {
		fixed, placement = fixed[:last], fixed[last]
	}
	return operation, fixed, placement
}

// inCaller returns the name of the same case with its data in caller memory, or "" if that is where they are.
func inCaller(name string) string {
	operation, fixed, placement := splitName(name)
	switch {
	case placement == caller:
		return ""
	case len(fixed) == 0:
		return operation
	}
	return operation + "/" + strings.Join(fixed, ",")
}

// line is the shapes of an operation that differ in the value of one axis. Other axes may vary together with it, as those of
// square matrices do.
type line struct {
	of   *predicted
	axis int
	base [surface.MostAxes]int // the shape, with 0 for the axes that vary
}

// newLine parses the axes that the name of a case fixes, such as "n_fft=1024" and "hop=256". Its error says in one clause
// what is wrong.
func newLine(p *predicted, fixed []string) (*line, error) {
	l := &line{of: p}
	for _, parameter := range fixed {
		axis, value, err := p.parameter(parameter)
		if err != nil {
			return nil, err
		}
		if l.base[axis] != 0 {
			return nil, fmt.Errorf("%s is there twice", p.Axes[axis].Name)
		}
		l.base[axis] = value
	}
	var open []string
	for i := range p.Axes {
		if l.base[i] == 0 {
			open = append(open, p.Axes[i].Name)
			l.axis = i
		}
	}
	switch len(open) {
	case 0:
		return nil, fmt.Errorf("every axis of %s has a value (want one of %s left open)", p.Name, p.axisNames())
	case 1:
		return l, nil
	}
	return nil, fmt.Errorf("%s are left open (want one axis of %s: %s)", strings.Join(open, " and "), p.Name, p.axisNames())
}

// parameter reads one axis and its value.
func (p *predicted) parameter(text string) (axis, value int, err error) {
	name, number, found := strings.Cut(text, "=")
	if !found {
		return 0, 0, fmt.Errorf("%q is no value of an axis of %s: %s", short(text), p.Name, p.axisNames())
	}
	axis = p.axis(name)
	if axis < 0 {
		return 0, 0, fmt.Errorf("axis %q is not an axis of %s: %s", short(name), p.Name, p.axisNames())
	}
	value, err = strconv.Atoi(number)
	if err != nil || value < 1 || value > mostSize {
		return 0, 0, fmt.Errorf("%s is %q (want a whole number from 1 to %d)", name, short(number), mostSize)
	}
	return axis, value, nil
}

// mostSize is the greatest value of an axis in a name.
const mostSize = math.MaxInt32

// short cuts a text for a message.
func short(text string) string { return fmt.Sprintf("%.80s", text) }

// shape returns the shape of a size.
func (l *line) shape(size int) [surface.MostAxes]int {
	shape := l.base
	for i := range l.of.Axes {
		if shape[i] == 0 {
			shape[i] = max(size, 1)
		}
	}
	return shape
}

// described returns the line as a measured case without segments.
func (l *line) described() *calibration.Case {
	return &calibration.Case{Operation: l.of.Name, Axis: l.of.Axes[l.axis], Implementations: l.of.Implementations}
}

// seconds returns a function that predicts the seconds of a call by an implementation.
func (l *line) seconds(implementation string) func(size int) float64 {
	i := l.of.index(implementation)
	return func(size int) float64 {
		shape := l.shape(size)
		return l.of.seconds(shape[:len(l.of.Axes)], i)
	}
}

// jumps reports whether times jump from each size to the next. Such a line has no segments.
func (l *line) jumps() bool { return l.of.byFactors[l.axis] }

// beyond says which of the fixed values lie outside of what was measured, "" if none does.
func (l *line) beyond() string {
	shape := l.shape(l.of.Axes[l.axis].From)
	return l.of.beyond(shape[:len(l.of.Axes)])
}

// is reports whether a case is about this line.
func (l *line) is(c *calibration.Case) bool {
	if c.Operation != l.of.Name || c.Axis.Name != l.of.Axes[l.axis].Name || placementOf(c) != l.of.Placement {
		return false
	}
	for i, a := range l.of.Axes {
		if i != l.axis && c.Parameters[a.Name] != l.base[i] {
			return false
		}
	}
	return true
}

// placementOf returns the placement of a case.
func placementOf(c *calibration.Case) string {
	for _, p := range placements {
		if c.Parameters[p] != 0 {
			return p
		}
	}
	return caller
}
