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

// output holds the places of a run's results: the calibration file, and the folders of the host's runs and charts.
type output struct {
	*options
	old     *calibration.Host // the host's entry at the last reading of the file; nil if there is none
	broken  bool              // the file cannot be read as a calibration file, and is to be replaced
	samples string
	charts  string
	shapes  []harness.Asked // that were asked for
}

// open checks, before any time is spent, that the run's entry may replace what the file holds, and that all places can be
// written to. cases is nil if they are already measured.
func open(o *options, entry *calibration.Host, cases []kernels.Case) (*output, error) {
	out := newOutput(o, entry.ID)
	file, err := out.load(entry.ID)
	if err != nil {
		return nil, err
	}
	if entry.Simulated {
		if err := o.guardMeasured(file); err != nil {
			return nil, err
		}
	}
	if err := out.guard(entry, cases); err != nil {
		return nil, err
	}
	if err := out.guardSamples(cases); err != nil {
		return nil, err
	}
	if err := file.CheckRoom(entry.ID, max(len(cases), len(entry.Cases))); err != nil {
		return nil, fmt.Errorf("%s: %w", o.output, err)
	}
	for _, dir := range []string{filepath.Dir(o.output), out.charts} {
		if err := command.Writable(dir); err != nil {
			return nil, err
		}
	}
	removeStrays(out.charts)
	return out, nil
}

func newOutput(o *options, id string) *output {
	return &output{options: o, samples: o.folder(o.data, id), charts: o.folder(o.plots, id)}
}

// before returns the runs of the host so far, which guide the planners of the next one. It returns nil if there are none, if their
// samples are not there, or if the next run forgets them.
func (o *output) before() *harness.Run {
	if o.old == nil || o.forgets() {
		return nil
	}
	runs, err := harness.Find(o.samples, o.old)
	if err != nil {
		return nil
	}
	return runs
}

// load reads the calibration file and the host's entry in it. A missing file is an empty one. load does not check the
// entries of other hosts.
func (o *output) load(id string) (*calibration.Index, error) {
	if info, err := os.Stat(o.output); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, and is not replaced by one: -o FILE names another", o.output)
	}
	file, err := calibration.LoadForUpdate(o.output)
	var system syscall.Errno
	switch {
	case err == nil:
		o.broken = false
		o.old, err = o.entryIn(file, id)
		return file, err
	case errors.As(err, &system):
		return nil, err
	case o.force && o.simulate == "": // not for simulations, because an unreadable file may hold measurements
		o.old, o.broken = nil, true
		return new(calibration.Index), nil
	}
	return nil, orElsewhere(err, "mend it")
}

// orElsewhere adds to an error about a file that the command can write elsewhere. Unless the error says itself what to do about the
// file, as those about a whole text or a version do, remedy does.
func orElsewhere(err error, remedy string) error {
	for _, says := range []string{"calibrate again", "update crossover"} {
		if strings.Contains(err.Error(), says) {
			return fmt.Errorf("%w, or write elsewhere (-o FILE)", err)
		}
	}
	return fmt.Errorf("%w: %s, or write elsewhere (-o FILE)", err, remedy)
}

// entryIn returns the entry of an id, or nil if there is none. If forced, it also returns nil for an entry that is not
// valid.
func (o *output) entryIn(file *calibration.Index, id string) (*calibration.Host, error) {
	entry, err := file.Host(id)
	switch {
	case err == nil:
		return entry, nil
	case o.force:
		return nil, nil
	}
	return nil, orElsewhere(fmt.Errorf("%s: %w", o.output, err), "mend it")
}

// guardSamples refuses to measure if samples of this host are damaged, and to measure some of the cases if the samples of the
// others, which are to stay, are not there: all of them are fitted together in the end.
func (o *output) guardSamples(cases []kernels.Case) error {
	if o.old == nil || cases == nil {
		return nil
	}
	stay := 0
	for _, was := range o.old.Cases {
		if !slices.ContainsFunc(cases, func(c kernels.Case) bool { return c.Name == was.Name }) {
			stay++
		}
	}
	_, err := harness.Find(o.samples, o.old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		damaged, ok := errors.AsType[*harness.DamagedError](err)
		switch {
		case stay > 0:
			return o.withoutSamples(stay, err)
		case ok && !o.forgets(): // the runs that this one would be added to
			return orElsewhere(damaged, "restore it")
		}
	case err != nil:
		return orElsewhere(err, "restore it")
	}
	return nil
}

// withoutSamples is the error that cases of the old entry cannot stay, because harness.Find ended with err.
func (o *output) withoutSamples(cases int, err error) error {
	stay, their := "stay", "their"
	if cases == 1 {
		stay, their = "stays", "its"
	}
	what := fmt.Sprintf("%s holds %s of this host that %s, and %s samples", o.output, command.Plural(cases, "case"), stay, their)
	if damaged, ok := errors.AsType[*harness.DamagedError](err); ok {
		return orElsewhere(fmt.Errorf("%s cannot be read: %w", what, damaged), "restore it")
	}
	return fmt.Errorf("%s are not in %s: --data names their folder, -o FILE writes elsewhere", what, o.samples)
}

// another says why an entry is of another machine than the old entry of the same id. It returns "" if it is not.
func another(entry, old *calibration.Host) string {
	likeness, reason := host.Facts(entry.Facts).Compare(host.Facts(old.Facts), true)
	if likeness >= host.Untold {
		return ""
	}
	return reason
}

// guard refuses a run that measures another kind of call than this host's entry, or from which it is certain that no case
// would be taken.
func (o *output) guard(entry *calibration.Host, cases []kernels.Case) error {
	old := o.old
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
	return fmt.Errorf("%s %w: %s: want a larger --budget, or -o FILE for a trial (--force replaces it, and forgets its runs)", o.output, errBetter, reason)
}

// hopeless says why a case of a run with of cases is certain to be poorer than in the old entry. It returns "" if that is
// not certain.
func (o *output) hopeless(old *calibration.Host, c *kernels.Case, of int) string {
	k := slices.IndexFunc(old.Cases, func(o calibration.Case) bool { return o.Name == c.Name })
	if k < 0 {
		return ""
	}
	was := &old.Cases[k]
	// Later runs replace cases of a run, so it may have had more cases than the entry has of it: as many as this one, if not more.
	before := old.RunOf(was).Method.BudgetSeconds / float64(max(of, casesOf(old, was.Run)))
	now := o.budget.Seconds() / float64(of)
	// Shapes of a shorter run add to those of earlier ones.
	addsShapes := slices.ContainsFunc(old.Operations, func(op calibration.Operation) bool { return op.Name == was.Operation })
	switch {
	case 2*now < before && !addsShapes:
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

// casesOf returns the number of an entry's cases that one of its runs measured.
func casesOf(h *calibration.Host, run int) int {
	n := 0
	for _, c := range h.Cases {
		if c.Run == run {
			n++
		}
	}
	return n
}

// guardMeasured refuses to write a simulation into a file with a measured host, even with --force.
func (o *options) guardMeasured(file *calibration.Index) error {
	measured := slices.IndexFunc(file.Entries, func(e calibration.Entry) bool { return !e.Simulated })
	if measured < 0 {
		return nil
	}
	return fmt.Errorf("%s holds the measured host %s, and a simulation is not written beside measurements: -o FILE names another file",
		o.output, file.Entries[measured].ID)
}

// warn prints the warnings about the whole calibration, and the differences in state from the entry that it replaces.
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

// warnEdited warns that the entry file beside the samples of a run was edited.
func warnEdited(stderr io.Writer, r *harness.Run) {
	fmt.Fprintf(stderr, "calibrate: warning: %s was edited since calibrate wrote it: it does not match its digest\n",
		filepath.Join(r.Folder, harness.EntryFile))
}

// print prints the entry of a run as JSON, or as tables of what was measured: all of the run, or a part of it.
func (o *output) print(stdout io.Writer, r, measured *harness.Run) error {
	if o.json {
		one := calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{r.Entry}}
		_, err := one.WriteTo(stdout)
		return err
	}
	entry, others, unmeasured := partOf(&measured.Entry, shown(&r.Entry))
	table(stdout, entry, r.Fits)
	askedTable(stdout, r, o.shapes)
	if others != "" {
		fmt.Fprintf(stdout, "\n%s\n", command.Wrap(fmt.Sprintf("%s has %s of this host, not measured by this run", filepath.Base(o.output), others)))
	}
	if unmeasured > 0 {
		fmt.Fprintf(stdout, "\n%s\n", command.Wrap(fmt.Sprintf("%s chooses nothing in %s that no run has measured (a larger --budget measures more)",
			filepath.Base(o.output), command.Plural(unmeasured, "other case"))))
	}
	moves(stdout, o.old, entry)
	notes(stdout, entry)
	if o.verbose {
		gpuTable(stdout, entry)
	}
	return nil
}
