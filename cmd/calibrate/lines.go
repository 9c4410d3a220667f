package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// lineBudget is the default budget of each line of shapes from the command line.
const lineBudget = 10 * time.Second

// mostLines is the greatest number of lines of shapes, which are measured as cases.
const mostLines = 1000

// readNames reads the names of --shape and of the file of --shapes. A name leaves one axis open, and asks for a line, or none,
// and asks for a shape.
func (o *options) readNames() error {
	for _, name := range o.shape {
		if err := o.readName(dispatch.Called{Name: name, Calls: 1}, "--shape"); err != nil {
			return err
		}
	}
	if o.shapesFile == "" {
		return nil
	}
	called, err := command.ReadShapes(o.shapesFile)
	if err != nil {
		return err
	}
	for _, c := range called {
		if err := o.readName(c, fmt.Sprintf("--shapes %s:%d:", o.shapesFile, c.Line)); err != nil {
			return err
		}
	}
	if !o.picks() {
		return command.Usage("--shapes %s: no shape in it (want lines such as fft/n=441,batch=64 1000)", o.shapesFile)
	}
	return nil
}

// readName reads a name that an error says the origin of.
func (o *options) readName(c dispatch.Called, origin string) error {
	s, whole, err := catalogue.ReadShape(c.Name)
	switch {
	case err != nil:
		return command.Usage("%s %.80q: %v", origin, c.Name, err)
	case whole:
		o.ask(asked{s, c, origin})
		return nil
	}
	if _, err := catalogue.Line(&kernels.Backends{}, c.Name); err != nil {
		return command.Usage("%s %.80q: %v", origin, c.Name, err)
	}
	if o.lines = append(o.lines, c.Name); len(o.lines) > mostLines {
		return command.Usage("%s %s: more than %d lines of shapes", origin, c.Name, mostLines)
	}
	return nil
}

// ask adds a shape. One that is there already, however its axes are ordered, gets more calls if a file has both. Of --shape and a file
// the file stays, because it asks for the cases of the operation too.
func (o *options) ask(a asked) {
	k := slices.IndexFunc(o.asked, func(b asked) bool {
		return a.Operation == b.Operation && a.Placement == b.Placement && slices.Equal(a.Values, b.Values)
	})
	switch {
	case k < 0:
		o.asked = append(o.asked, a)
	case o.asked[k].fromFile():
		o.asked[k].Calls += min(a.Calls, math.MaxInt64-o.asked[k].Calls)
	case a.fromFile():
		o.asked[k] = a
	}
}

// picks reports whether the command line asks for lines or shapes.
func (o *options) picks() bool { return len(o.lines)+len(o.asked) > 0 }

// selectCases returns the cases of the catalogue that --ops selects, or the lines of --shape and --shapes in every placement and
// the cases that asked shapes need.
func (o *options) selectCases(all []kernels.Case, stderr io.Writer) ([]kernels.Case, error) {
	if !o.picks() {
		return command.SelectCases(all, o.ops)
	}
	if o.given("ops") {
		if err := o.selectShapes(all, stderr); err != nil {
			return nil, err
		}
	}
	var cases []kernels.Case
	for _, name := range o.lines {
		placed, err := catalogue.Line(kernels.Here(), name)
		if err != nil {
			return nil, command.Usage("--shape %s: %v", name, err)
		}
		cases = addCases(cases, placed...)
	}
	for _, c := range all {
		if slices.ContainsFunc(o.asked, func(a asked) bool { return a.needs(&c) }) {
			cases = addCases(cases, c)
		}
	}
	if !o.given("budget") && !o.quick {
		o.budget = max(leastBudget, time.Duration(len(cases))*lineBudget+time.Duration(len(o.asked))*shapeBudget)
	}
	return cases, nil
}

// selectShapes leaves the lines and shapes of a file that --ops selects, by their own name or, as for verify, by that of the
// operation or of one of its cases with the data in the same place. stderr says how many are left out.
func (o *options) selectShapes(all []kernels.Case, stderr io.Writer) error {
	matches, err := command.Pattern(o.ops)
	if err != nil {
		return err
	}
	var left []string // operations that are left out
	selected := func(name, operation string, placement kernels.Placement) bool {
		if matches.MatchString(name) || matches.MatchString(placedAs(operation, placement)) || slices.ContainsFunc(all, func(c kernels.Case) bool {
			return c.Operation == operation && c.Placement == placement && matches.MatchString(c.Name)
		}) {
			return true
		}
		if !slices.Contains(left, operation) {
			left = append(left, operation)
		}
		return false
	}
	before := len(o.lines) + len(o.asked)
	o.lines = slices.DeleteFunc(o.lines, func(name string) bool {
		operation, _, _ := strings.Cut(name, "/")
		return !selected(name, operation, kernels.Caller)
	})
	o.asked = slices.DeleteFunc(o.asked, func(a asked) bool { return !selected(a.Name, a.Operation, a.Placement) })
	if !o.picks() {
		return command.Usage("--ops %q matches no shape of --shapes %s (it has shapes of %s)", o.ops, o.shapesFile, strings.Join(left, ", "))
	}
	if kept := len(o.lines) + len(o.asked); kept < before {
		fmt.Fprintf(stderr, "calibrate: left out: %d of %s in %s, which --ops %q does not match\n",
			before-kept, command.Plural(before, "shape"), o.shapesFile, o.ops)
	}
	return nil
}

// addCases adds the cases that are not there yet.
func addCases(cases []kernels.Case, more ...kernels.Case) []kernels.Case {
	for _, c := range more {
		if !slices.ContainsFunc(cases, func(known kernels.Case) bool { return known.Name == c.Name }) {
			cases = append(cases, c)
		}
	}
	return cases
}
