package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
)

// output is where the entry of a run goes: the calibration file, and the folders of the host's runs and charts.
type output struct {
	*options
	file    *calibration.File // as it was last read
	broken  bool              // what is there is no calibration file, and is to be replaced
	samples string
	charts  string
}

// open refuses, before any time is spent, what must not be replaced by the entry of a run over cases, and places that cannot
// be written to. cases is nil where they are measured already.
func open(o *options, entry *calibration.Host, cases []kernels.Case) (*output, error) {
	out := &output{options: o, samples: o.folder(o.data, entry.ID), charts: o.folder(o.plots, entry.ID)}
	if err := out.load(); err != nil {
		return nil, err
	}
	if entry.Simulated {
		if err := o.guardMeasured(out.file); err != nil {
			return nil, err
		}
	}
	if err := out.guard(entry, cases); err != nil {
		return nil, err
	}
	if !out.broken {
		if err := calibration.CheckRoom(o.output, entry.ID, max(len(cases), len(entry.Cases))); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{filepath.Dir(o.output), out.charts} {
		if err := command.Writable(dir); err != nil {
			return nil, err
		}
	}
	removeStrays(out.charts)
	return out, nil
}

// load reads the file that the entry will be merged into; a missing one is an empty one.
func (o *output) load() error {
	if info, err := os.Stat(o.output); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and is not replaced by one: -o FILE names another", o.output)
	}
	file, err := calibration.Load(o.output)
	var system syscall.Errno
	switch {
	case err == nil:
		o.file, o.broken = file, false
		return nil
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &system):
		return err
	case o.force && o.simulate == "": // what cannot be read may hold measurements
		o.broken = true
	default:
		return fmt.Errorf("%w (mend the file, or -o FILE names another)", err)
	}
	o.file = &calibration.File{SchemaVersion: calibration.SchemaVersion}
	return nil
}

// another says what makes the machine of an entry another one than that of the entry of its id before, "" where nothing does.
func another(entry, old *calibration.Host) string {
	likeness, reason := host.Facts(entry.Facts).Compare(host.Facts(old.Facts), true)
	if likeness >= host.Untold {
		return ""
	}
	return reason
}

// guard refuses a run that means something else than this host's entry, or of which it is clear beforehand that nothing of it
// would be taken.
func (o *output) guard(entry *calibration.Host, cases []kernels.Case) error {
	old := o.file.Host(entry.ID)
	if old == nil || o.force {
		return nil
	}
	if reason := another(entry, old); reason != "" {
		return fmt.Errorf("%s holds another machine as %s (%s): --force replaces it, -o FILE writes elsewhere", o.output, old.ID, reason)
	}
	if before, now := methodName(&old.Method), methodName(&entry.Method); before != now {
		return fmt.Errorf("%s holds a calibration of this host for %s and this one is for %s: --force replaces it, -o FILE writes elsewhere",
			o.output, before, now)
	}
	reason := ""
	for k := range cases {
		if reason = o.hopeless(old, &cases[k], len(cases)); reason == "" {
			return nil
		}
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("%s holds a better calibration of this host: %s: --force replaces it, -o FILE writes elsewhere", o.output, reason)
}

// hopeless says why what a run finds in a case, which is one of so many, will be poorer than what the entry holds, "" where it
// need not be.
func (o *output) hopeless(old *calibration.Host, c *kernels.Case, of int) string {
	k := slices.IndexFunc(old.Cases, func(o calibration.Case) bool { return o.Name == c.Name })
	if k < 0 {
		return ""
	}
	was := &old.Cases[k]
	before := old.RunOf(was).Method.BudgetSeconds / float64(casesOf(old, was.Run))
	now := o.budget.Seconds() / float64(of)
	switch {
	case 2*now < before:
		return fmt.Sprintf("%s took %.1f s of its budget and this run has %.1f s a case", c.Name, before, now)
	case was.Axis.From > 0 && (c.Axis.Min > 2*was.Axis.From || 2*c.Axis.Max < was.Axis.To):
		return fmt.Sprintf("%s covers %d to %d %s and --sizes covers less", c.Name, was.Axis.From, was.Axis.To, was.Axis.Unit)
	}
	for _, i := range was.Implementations {
		if i.Excluded == "" && !o.include(i.Name) {
			return fmt.Sprintf("%s competed in %s and --impl leaves it out", i.Name, c.Name)
		}
	}
	return ""
}

// casesOf counts the cases of an entry that one of its runs measured.
func casesOf(h *calibration.Host, run int) int {
	n := 0
	for _, c := range h.Cases {
		if c.Run == run {
			n++
		}
	}
	return n
}

// guardMeasured refuses to write a simulation into a file that holds a measured host, also under --force.
func (o *options) guardMeasured(file *calibration.File) error {
	measured := slices.IndexFunc(file.Hosts, func(h calibration.Host) bool { return !h.Simulated })
	if measured < 0 {
		return nil
	}
	return fmt.Errorf("%s holds the measured host %s, and a simulation is not written beside measurements: -o FILE names another file",
		o.output, file.Hosts[measured].ID)
}

// backup copies the calibration file to a new one beside it, FILE.bak or with a number, and returns that one's name.
func (o *options) backup() (string, error) {
	text, err := os.ReadFile(o.output)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name := o.output + ".bak"
		if n > 1 {
			name = fmt.Sprintf("%s%d", name, n)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(text)
		for _, last := range []func() error{file.Sync, file.Close} {
			if e := last(); err == nil {
				err = e
			}
		}
		if err != nil {
			os.Remove(name)
			return "", err
		}
		return name, nil
	}
}

// warn prints what a reader should know of the calibration as a whole, and what differs from the entry that it replaces.
func warn(stderr io.Writer, entry *calibration.Host, states *harness.States) {
	for _, warning := range entry.Warnings {
		fmt.Fprintf(stderr, "calibrate: warning: %s\n", warning)
	}
	if states.Speed != "" {
		fmt.Fprintf(stderr, "calibrate: warning: the entry that this replaces is a near match: %s (--force replaces the cases too "+
			"that it keeps)\n", states.Speed)
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
