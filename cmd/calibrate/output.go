package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/plots"
)

// output is where the entry of a run goes: the calibration file and the folder of the host's charts.
type output struct {
	*options
	file   *calibration.File // as it was before the run
	charts string
}

// open refuses, before any time is spent, what must not be replaced by an entry of so many cases, and places that cannot be
// written to.
func open(o *options, entry *calibration.Host, cases int) (*output, error) {
	file, err := load(o)
	if err != nil {
		return nil, err
	}
	out := &output{options: o, file: file, charts: o.folder(o.plots, entry.ID)}
	if entry.Simulated {
		if err := out.guardMeasured(); err != nil {
			return nil, err
		}
	}
	if err := out.guard(entry, cases); err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(o.output), out.charts} {
		if err := command.Writable(dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// load reads the file that the entry will be merged into; a missing one is an empty one.
func load(o *options) (*calibration.File, error) {
	file, err := calibration.Load(o.output)
	switch {
	case err == nil:
		return file, nil
	case errors.Is(err, fs.ErrNotExist):
		return &calibration.File{SchemaVersion: calibration.SchemaVersion}, nil
	case o.force && o.simulate == "": // what cannot be read may hold measurements
		return &calibration.File{SchemaVersion: calibration.SchemaVersion}, nil
	}
	if o.simulate != "" {
		return nil, fmt.Errorf("%w; -o names another file", err)
	}
	return nil, fmt.Errorf("%w; --force replaces the file, -o names another", err)
}

// guard refuses to replace this host's entry by a lesser one or by one that means something else.
func (o *output) guard(entry *calibration.Host, cases int) error {
	old := o.file.Host(entry.ID)
	if old == nil || o.force {
		return nil
	}
	if before, now := methodName(&old.Method), methodName(&entry.Method); before != now {
		return fmt.Errorf("%s holds a calibration of this host for %s and this one is for %s: --force replaces it, -o FILE writes elsewhere",
			o.output, before, now)
	}
	if len(old.Cases) > cases {
		return fmt.Errorf("%s holds %s of this host and this run has %d: --force replaces them all, -o FILE writes elsewhere",
			o.output, command.Plural(len(old.Cases), "case"), cases)
	}
	if o.quick && old.Method.BudgetSeconds > o.budget.Seconds() {
		return fmt.Errorf("%s holds a calibration of this host that took %.0f s: --force replaces it by a quick one, -o FILE writes elsewhere",
			o.output, old.Method.BudgetSeconds)
	}
	return nil
}

// guardMeasured refuses to write a simulation into a file that holds a measured host, also under --force.
func (o *output) guardMeasured() error {
	measured := slices.IndexFunc(o.file.Hosts, func(h calibration.Host) bool { return !h.Simulated })
	if measured < 0 {
		return nil
	}
	return fmt.Errorf("%s holds the measured host %s, and a simulation is not written beside measurements: -o FILE names another file",
		o.output, o.file.Hosts[measured].ID)
}

// publish writes the file, then the charts, then the table.
func (o *output) publish(r *harness.Run, stdout, stderr io.Writer) error {
	entry := &r.Entry
	var states harness.States
	if replaced := o.file.Host(entry.ID); replaced != nil {
		states = harness.CompareStates(&replaced.Environment, &entry.Environment)
	}
	if err := o.file.Merge(*entry); err != nil {
		return err
	}
	if err := calibration.Save(o.output, o.file); err != nil {
		return err
	}
	written, err := plots.Write(o.charts, entry, r.Timings)
	if err != nil {
		return err
	}
	if err := o.print(stdout, entry); err != nil {
		return err
	}
	if o.quiet {
		return nil
	}
	if !o.json {
		fmt.Fprintf(stderr, "\nwrote %s and %s in %s\n", o.output, command.Plural(len(written), "chart"), o.charts)
	}
	warn(stderr, entry, &states)
	return nil
}

// warn prints what a reader should know of the calibration as a whole, and what differs from the entry that it replaces.
func warn(stderr io.Writer, entry *calibration.Host, states *harness.States) {
	for _, warning := range entry.Warnings {
		fmt.Fprintf(stderr, "calibrate: warning: %s\n", warning)
	}
	if len(states.Moved) > 0 {
		fmt.Fprintf(stderr, "calibrate: warning: the machine was in another state than for the entry that this replaces: %s "+
			"(parallel implementations change with it)\n", strings.Join(states.Moved, "; "))
	}
	if len(states.Conditions) > 0 {
		fmt.Fprintf(stderr, "calibrate: warning: the entry that this replaces was measured under other conditions: %s\n",
			strings.Join(states.Conditions, "; "))
	}
}

// print prints the entry as JSON or as tables.
func (o *options) print(stdout io.Writer, entry *calibration.Host) error {
	if o.json {
		one := calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{*entry}}
		_, err := one.WriteTo(stdout)
		return err
	}
	if err := table(stdout, entry); err != nil {
		return err
	}
	if o.verbose {
		return gpuTable(stdout, entry)
	}
	return nil
}
