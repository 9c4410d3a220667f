package dispatch

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// counterOf returns what counts the calls of a case, nil if nothing is recorded. recorded is what the case goes by, nil for
// nothing. The caller holds the lock.
func (d *Dispatcher) counterOf(name string, recorded *calibration.Case) *counter {
	if d.recorder == nil {
		return nil
	}
	operation, parameters, placement := splitName(name)
	axes := d.axesOf(operation)
	fixed, open := fixedValues(parameters), 1
	if axes == nil && recorded != nil && fixed != nil {
		for _, p := range parameters {
			axis, _, _ := strings.Cut(p, "=")
			axes = append(axes, axis)
		}
		axes = append(axes, recorded.Axis.Name)
	}
	if own := d.find(operation, name); fixed == nil && own != nil { // as for matmul/square
		fixed = map[string]int{}
		maps.Copy(fixed, own.Parameters)
		maps.DeleteFunc(fixed, func(p string, _ int) bool { return slices.Contains(placements, p) })
		open = len(axes) - len(fixed)
	}
	c := &counter{counts: &d.recorder.counts}
	if fixed != nil && open > 0 && len(axes) == len(fixed)+open && holdsAll(axes, fixed) {
		c.of = newSubject(operation, placement, axes)
	}
	if c.of != nil {
		for i, axis := range axes {
			c.base[i] = fixed[axis]
		}
	}
	return d.recorder.completed(c, name)
}

// holdsAll reports whether axes are among the given ones.
func holdsAll(axes []string, values map[string]int) bool {
	for axis := range values {
		if !slices.Contains(axes, axis) {
			return false
		}
	}
	return true
}

// counterOver is counterOf for an operation.
func (d *Dispatcher) counterOver(name string) *counter {
	if d.recorder == nil {
		return nil
	}
	operation, fixed, placement := splitName(name)
	c := &counter{counts: &d.recorder.counts}
	if len(fixed) == 0 {
		c.of = newSubject(operation, placement, d.axesOf(operation))
	}
	return d.recorder.completed(c, name)
}

// fixedValues reads the fixed values in the name of a case, nil if it has something else.
func fixedValues(parameters []string) map[string]int {
	values := map[string]int{}
	for _, p := range parameters {
		axis, number, _ := strings.Cut(p, "=")
		v, err := strconv.Atoi(number)
		if err != nil || v < 1 || values[axis] != 0 {
			return nil
		}
		values[axis] = v
	}
	return values
}

// axesOf returns the names of an operation's axes, as the calibration or else the program has them, nil if neither does.
func (d *Dispatcher) axesOf(operation string) []string {
	if h := d.entryFor(operation).host; h != nil {
		for i := range h.Operations {
			if h.Operations[i].Name == operation {
				return h.Operations[i].Surface.Axes
			}
		}
	}
	return axesDeclared(operation)
}

// newSubject returns the subject of an operation, nil if its shapes cannot be written in a line of a file.
func newSubject(operation, placement string, axes []string) *subject {
	if len(axes) == 0 || len(axes) > surface.MostAxes || slices.ContainsFunc(append([]string{operation}, axes...), unwritable) {
		return nil
	}
	h := fnv.New64a()
	for _, word := range append([]string{operation, placement}, axes...) {
		h.Write([]byte(word))
		h.Write([]byte{0})
	}
	return &subject{operation, placement, axes, h.Sum64()}
}

// unwritable reports whether a name cannot stand in the name of a shape.
func unwritable(name string) bool {
	return name == "" || name[0] == '#' || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar || strings.ContainsRune("/,=", r)
	})
}

// name returns the name of a shape: "fft/n=441,batch=64".
func (s *subject) name(shape []int) string {
	var b strings.Builder
	b.WriteString(s.operation)
	separator := byte('/')
	for i, axis := range s.axes {
		b.WriteByte(separator)
		b.WriteString(axis + "=" + strconv.Itoa(shape[i]))
		separator = ','
	}
	if s.placement != caller {
		b.WriteString("," + s.placement)
	}
	return b.String()
}

// completed gives a counter without a subject a count of its own, by the name of its case. The caller holds the dispatcher's
// lock.
func (r *Recorder) completed(c *counter, name string) *counter {
	if c.of != nil {
		return c
	}
	if c.alone = r.alone[name]; c.alone == nil {
		c.alone = new(atomic.Int64)
		r.alone[name] = c.alone
	}
	return c
}
