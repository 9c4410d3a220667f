package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// checkChoose refuses flags that --choose has no use for, and wants one size.
func (o *options) checkChoose() error {
	for _, flag := range []string{
		"ops", "shape", "shapes", "impl", "sizes", "budget", "precision", "mode", "in-flight", "state", "audio", "seed", "data", "plots", "from",
		"simulate", "list", "dry-run", "quick", "json", "verbose", "force", "fresh", "pipelines",
	} {
		if o.given(flag) {
			return command.Usage("--choose with --%s: it reads the calibration file and measures nothing", flag)
		}
	}
	name, _ := catalogue.CutPlacement(o.choose)
	_, whole, err := catalogue.ReadShape(name)
	switch {
	case whole && err == nil && len(o.arguments) > 0:
		return command.Usage("--choose %.80q %s: the shape has all its sizes (leave %[2]s out)", o.choose, strings.Join(o.arguments, " "))
	case whole && err == nil:
		return nil
	case err != nil && (whole || len(o.arguments) == 0 && !isCase(name)):
		return command.Usage("--choose %.80q: %v", o.choose, err)
	case len(o.arguments) != 1:
		return o.wantsSize(name)
	}
	_, err = o.size()
	return err
}

// wantsSize is the error of --choose for a case that has no size behind it, or several. name is that of the case in caller memory.
func (o *options) wantsSize(name string) error {
	all := catalogue.Cases(&kernels.Backends{})
	at := slices.IndexFunc(all, func(c kernels.Case) bool { return c.Name == name })
	if at < 0 {
		var err error
		if all, err = catalogue.Line(&kernels.Backends{}, name); err != nil {
			return command.Usage("--choose %.80q: %v", o.choose, err)
		}
		at = 0
	}
	c := &all[at]
	return command.Usage("--choose %.80q: want a value of %s behind it, in %s, e.g. --choose %s %d, or values of all axes of %s: %s",
		o.choose, c.Axis.Name, c.Axis.Unit, o.choose, c.Axis.Min, c.Operation, kernels.AxisList(catalogue.AxesOf(name)))
}

// isCase reports whether the catalogue has a case of this name, such as attention/self, which names no values of axes.
func isCase(name string) bool {
	return slices.ContainsFunc(catalogue.Cases(&kernels.Backends{}), func(c kernels.Case) bool { return c.Name == name })
}

// asksForShape reports whether --choose names a whole shape, which has no size behind it.
func (o *options) asksForShape() bool {
	_, whole, err := catalogue.ReadShape(o.choose)
	return whole && err == nil && len(o.arguments) == 0
}

// size returns the size of --choose.
func (o *options) size() (int, error) {
	size, err := strconv.Atoi(o.arguments[0])
	if err != nil || size < 1 || size > math.MaxInt32 {
		return 0, command.Usage("--choose %.80q %.40s: want a whole number from 1 to %d", o.choose, o.arguments[0], math.MaxInt32)
	}
	return size, nil
}

// negativeSize returns what is wrong with a size of --choose that was read as a flag, "-5", and err if there is none.
func (o *options) negativeSize(err error) error {
	var flag *pflag.NotExistError
	if o.choose == "" || !errors.As(err, &flag) {
		return err
	}
	letters := flag.GetSpecifiedShortnames()
	if letters == "" || letters[0] < '0' || letters[0] > '9' {
		return err
	}
	o.arguments = []string{"-" + letters}
	_, err = o.size()
	return err
}

// choose prints the implementation that a program on this machine would get, and the reason on a second line. Where nothing is
// known, a third line says how to measure the shape. With --quiet only the first line is printed.
func choose(o *options, machine command.Machine, stdout io.Writer) error {
	e, err := explain(o, machine)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, e.Implementation)
	if o.quiet {
		return nil
	}
	fmt.Fprintln(stdout, e)
	if shape := o.measurable(machine); shape != "" && e.Answer == dispatch.Unknown && !strings.Contains(e.Reason, dispatch.ForceVariable) {
		if o.given("output") {
			shape += " -o " + o.output
		}
		fmt.Fprintf(stdout, "calibrate --shape %s measures it\n", shape)
	}
	return nil
}

// measurable returns the name of the shape of --choose, or "" if this machine cannot measure it as one.
func (o *options) measurable(machine command.Machine) string {
	name := o.choose
	if !o.asksForShape() {
		size, _ := o.size() // which explain has read
		name = shapeName(o.choose, size)
	}
	shape, whole, err := catalogue.ReadShape(name)
	if err != nil || !whole {
		return "" // a case that values of axes do not name
	}
	var spaces []*kernels.Space
	if machine.Spaces != nil {
		spaces = machine.Spaces()
	}
	if _, err := (&asked{Shape: shape}).place(spaces, thisHost(machine).Cases()); err != nil {
		return ""
	}
	return name
}

// explain returns what a program on this machine would get, and why.
func explain(o *options, machine command.Machine) (e dispatch.Explanation, err error) {
	if o.asksForShape() {
		return explainShape(o, machine)
	}
	size, err := o.size()
	if err != nil {
		return e, err
	}
	return explainCase(o, o.choose, size, machine)
}

// explainCase does what explain does for a size of a case.
func explainCase(o *options, name string, size int, machine command.Machine) (e dispatch.Explanation, err error) {
	all, err := competingAt(name, machine)
	if err != nil {
		return e, err
	}
	d, err := dispatch.Load(o.output)
	if err != nil {
		return e, err
	}
	e = d.Case(name, present(all)...).Explain(size)
	if s, whole := shapeOf(name, size); whole && e.Unit == "" && spaceOf(machine, s.Operation, s.Placement) != nil {
		return explainAt(d, s, machine), nil // the file has no such case, and the shape says more
	}
	return e, nil
}

// shapeOf returns the shape of a size of a line, or false if the case is no line that values of axes name.
func shapeOf(name string, size int) (s catalogue.Shape, whole bool) {
	s, whole, err := catalogue.ReadShape(shapeName(name, size))
	return s, whole && err == nil
}

// shapeName returns the name of a size of a line, "fft/batch=1,n=441" of "fft/batch=1", or "" if the case is no such line.
func shapeName(name string, size int) string {
	line, placement := catalogue.CutPlacement(name)
	cases, err := catalogue.Line(&kernels.Backends{}, line)
	if err != nil {
		return ""
	}
	separator := ","
	if !strings.Contains(line, "/") {
		separator = "/"
	}
	name = fmt.Sprintf("%s%s%s=%d", line, separator, cases[0].Axis.Name, size)
	if placement != kernels.Caller {
		name += "," + string(placement)
	}
	return name
}

// competingAt returns the implementations of a case: one that is measured by default, or another line of shapes.
func competingAt(name string, machine command.Machine) ([]kernels.Implementation, error) {
	for _, c := range thisHost(machine).Cases() {
		if c.Name == name {
			return c.Implementations, nil
		}
	}
	line, placement := catalogue.CutPlacement(name)
	if placement != kernels.Caller && isCase(line) {
		return nil, notPlaced(name, placement)
	}
	lines, err := catalogue.Line(kernels.Here(), line)
	if err != nil {
		return nil, command.Usage("--choose %.80q: %v", name, err)
	}
	if space := spaceOf(machine, lines[0].Operation, placement); space != nil {
		return space.Case.Implementations, nil
	}
	if at := slices.IndexFunc(lines, func(c kernels.Case) bool { return c.Placement == placement }); at >= 0 {
		return lines[at].Implementations, nil
	}
	return nil, notPlaced(name, placement)
}

// notPlaced is the error for data in a placement in which this machine measures nothing.
func notPlaced(name string, p kernels.Placement) error {
	return command.Usage("--choose %.80q: %s memory takes a GPU that computes the operation, and none does here (leave %[2]q out)", name, p)
}

// spaceOf returns the shapes of an operation in a placement, nil if this machine has none.
func spaceOf(machine command.Machine, operation string, placement kernels.Placement) *kernels.Space {
	if machine.Spaces == nil {
		return nil
	}
	for _, space := range machine.Spaces() {
		if space.Operation == operation && space.Placement == placement {
			return space
		}
	}
	return nil
}

// explainShape does what explain does for a whole shape. The shape of an operation with one axis is a size of its case.
func explainShape(o *options, machine command.Machine) (e dispatch.Explanation, err error) {
	s, _, err := catalogue.ReadShape(o.choose)
	if err != nil {
		return e, err
	}
	space := spaceOf(machine, s.Operation, s.Placement)
	switch {
	case space == nil && len(s.Values) == 1:
		return explainCase(o, placedAs(s.Operation, s.Placement), s.Values[0], machine)
	case space == nil && s.Placement == kernels.Resident && slices.ContainsFunc(thisHost(machine).Cases(), func(c kernels.Case) bool {
		return c.Operation == s.Operation && c.Placement == s.Placement
	}):
		line, size := lineThrough(s)
		return e, command.Usage("--choose %.80q: %s (ask for a size of a line: --choose %s,%s %d)", o.choose, notWhole, line, s.Placement, size)
	case space == nil && s.Placement != kernels.Caller:
		return e, notPlaced(o.choose, s.Placement)
	case space == nil:
		return e, command.Usage("--choose %.80q: no such shape on this machine: want one of an operation that is measured here (calibrate --list prints them)", o.choose)
	}
	d, err := dispatch.Load(o.output)
	if err != nil {
		return e, err
	}
	return explainAt(d, s, machine), nil
}

// notWhole is why a shape of several axes is not known with resident data.
const notWhole = "whole shapes have data in caller or in shared memory, as the calls of plans have"

// lineThrough returns the line through a shape of several axes along the axis of the operation's first case, and the size there.
func lineThrough(s catalogue.Shape) (name string, size int) {
	cases := catalogue.Cases(&kernels.Backends{})
	first := cases[slices.IndexFunc(cases, func(c kernels.Case) bool { return c.Operation == s.Operation })]
	var fixed []string
	for i, a := range catalogue.AxesOf(s.Operation) {
		if a.Name == first.Axis.Name {
			size = s.Values[i]
			continue
		}
		fixed = append(fixed, fmt.Sprintf("%s=%d", a.Name, s.Values[i]))
	}
	return s.Operation + "/" + strings.Join(fixed, ","), size
}

// explainAt returns what a typed plan would get at a shape of an operation that has a space: a line through the shape decides where
// the file has no more of the operation than lines.
func explainAt(d *dispatch.Dispatcher, s catalogue.Shape, machine command.Machine) dispatch.Explanation {
	space := spaceOf(machine, s.Operation, s.Placement)
	names := present(space.Case.Implementations)
	e := d.Operation(space.Case.Name, names...).ExplainShape(s.Values...)
	if e.Answer != dispatch.Unknown {
		return e
	}
	for along := range space.Axes {
		var fixed []string
		for i, a := range space.Axes {
			if i != along {
				fixed = append(fixed, fmt.Sprintf("%s=%d", a.Name, s.Values[i]))
			}
		}
		lines, err := catalogue.Line(&kernels.Backends{}, s.Operation+"/"+strings.Join(fixed, ","))
		if err != nil {
			continue
		}
		name := lines[0].Name
		if s.Placement != kernels.Caller {
			name += "," + string(s.Placement)
		}
		if line := d.Case(name, names...).Explain(s.Values[along]); line.Answer != dispatch.Unknown {
			return line
		}
	}
	return e
}

// present returns the names of the implementations that this machine has.
func present(all []kernels.Implementation) (names []string) {
	for _, i := range all {
		if i.Missing() == nil {
			names = append(names, i.Name)
		}
	}
	return names
}
