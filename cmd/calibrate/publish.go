package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// publication is what takes the place of a host's entry, runs and charts: a fitted run that is saved in a folder.
type publication struct {
	run      *harness.Run
	whole    bool         // the entry becomes what the run measured, and nothing else
	replaced *harness.Run // the run of the entry before; nil where there is none or its samples are elsewhere
	kept     []string     // of the cases that the new run has, those whose entry before is better, each with the reason
	held     string       // folder of the run that has them
	backup   string       // of the file, "" where none was made
}

// publish puts a fitted run into the host's entry, samples and charts: its cases take the place of the same ones, where they
// are not poorer, and all others stay. Until the file is replaced, everything is as it was.
func (o *output) publish(ctx context.Context, r *harness.Run, stdout, stderr io.Writer) error {
	folder := r.Folder
	command.Farewell(ctx, func() error { return o.halfWritten(folder) })
	for {
		old := o.file.Host(r.Entry.ID)
		p, charts, err := o.try(ctx, r, old)
		if err == nil {
			return o.report(p, old, charts, stdout, stderr)
		}
		if o.broken || ctx.Err() != nil {
			return err
		}
		// Another run of this host may have been quicker; then this one joins that.
		if loadErr := o.load(); loadErr != nil || reflect.DeepEqual(old, o.file.Host(r.Entry.ID)) {
			return err
		}
	}
}

// try publishes a run onto the entry that the file holds, and returns the number of charts.
func (o *output) try(ctx context.Context, r *harness.Run, old *calibration.Host) (*publication, int, error) {
	p, err := o.combine(r, old)
	if err != nil {
		return nil, 0, err
	}
	done := false
	defer func() {
		if !done && p.run != r {
			os.RemoveAll(p.run.Folder) // r has its samples still
		}
	}()
	drawn, err := o.draw(p.run)
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(drawn)
	if err := cmp.Or(ctx.Err(), o.write(ctx, p, old)); err != nil {
		return nil, 0, err
	}
	done = true
	for _, behind := range []*harness.Run{p.replaced, r} {
		if behind != nil && !same(behind.Folder, p.run.Folder) && o.holds(behind.Folder) && (behind != r || len(p.kept) == 0) {
			os.RemoveAll(behind.Folder)
		}
	}
	charts, err := o.placeCharts(drawn)
	if err != nil {
		return nil, 0, fmt.Errorf("%s is written, but not its charts: %w", o.output, err)
	}
	return p, charts, nil
}

// holds reports whether a folder is that of a run among those of the host.
func (o *output) holds(folder string) bool { return same(filepath.Dir(folder), o.samples) }

// combine decides what a run becomes together with the entry that is there.
func (o *output) combine(r *harness.Run, old *calibration.Host) (*publication, error) {
	p := &publication{run: r, held: r.Folder}
	p.whole = old == nil || o.force && (!o.partial() || methodName(&old.Method) != methodName(&r.Entry.Method) || another(&r.Entry, old) != "")
	if measured(r) == 0 {
		return nil, errors.New("nothing could be measured: want a larger --budget")
	}
	if old == nil {
		return p, nil
	}
	base, err := harness.Find(o.samples, old)
	if err == nil {
		p.replaced = base
	}
	if p.whole {
		return p, nil
	}
	kept := o.kept(p, &r.Entry, old)
	switch {
	case len(p.kept) == len(r.Entry.Cases):
		return nil, fmt.Errorf("%s holds a better calibration of this host (%s): --force replaces it, -o FILE writes elsewhere",
			o.output, p.kept[0])
	case len(kept) == 0:
		return p, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s holds %s of this host that stay, and their samples are not in %s: --data names their folder, "+
			"-o FILE writes elsewhere", o.output, command.Plural(len(kept), "case"), o.samples)
	case err != nil:
		return nil, err
	}
	p.run, err = o.join(base, r, kept)
	return p, err
}

// kept returns the cases of an entry that stay: those that a run did not measure and, unless forced, those that it measured
// less well, which it notes.
func (o *output) kept(p *publication, entry, old *calibration.Host) []string {
	var kept []string
	for k := range old.Cases {
		was := &old.Cases[k]
		n := slices.IndexFunc(entry.Cases, func(c calibration.Case) bool { return c.Name == was.Name })
		if n < 0 {
			kept = append(kept, was.Name)
			continue
		}
		now := &entry.Cases[n]
		from, of := old.RunOf(was), entry.RunOf(now)
		if o.force || from.Created.Equal(of.Created) && from.Method.Seed == of.Method.Seed && now.Blocks >= was.Blocks {
			continue // the same samples, fitted again
		}
		if reason := harness.Poorer(now, was); reason != "" {
			kept = append(kept, was.Name)
			p.kept = append(p.kept, was.Name+": "+reason)
		}
	}
	return kept
}

// join saves the kept cases of the run before and the others of a run that is saved as one, and fits that.
func (o *output) join(base, r *harness.Run, kept []string) (*harness.Run, error) {
	newer, err := harness.Load(r.Folder) // as it was before the fit
	if err != nil {
		return nil, err
	}
	folder, err := harness.NewFolder(o.samples)
	if err != nil {
		return nil, err
	}
	joined := harness.Join(base, newer, func(name string) bool { return slices.Contains(kept, name) })
	err = joined.Save(folder)
	if err == nil {
		joined, err = harness.Load(folder) // in the order in which a refit will find it
	}
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	joined.Resamples = r.Resamples
	joined.Fit()
	return joined, nil
}

// partial reports whether the command line asks for less than everything that there is.
func (o *options) partial() bool { return o.given("ops") || o.given("sizes") || o.given("from") }

// measured counts the blocks of a run.
func measured(r *harness.Run) int {
	blocks := 0
	for _, c := range r.Entry.Cases {
		blocks += c.Blocks
	}
	return blocks
}

// write gives the run its place among those of the host and puts its entry into the file, both or neither.
func (o *output) write(ctx context.Context, p *publication, old *calibration.Host) error {
	folder := p.run.Folder
	change := func(file *calibration.File) (err error) {
		if !reflect.DeepEqual(old, file.Host(p.run.Entry.ID)) {
			return errors.New("another process changed the entry of this host meanwhile")
		}
		if p.run.Entry.Simulated {
			if err := o.guardMeasured(file); err != nil {
				return err
			}
		}
		if o.broken || o.force && old != nil {
			if p.backup, err = o.backup(); err != nil {
				return fmt.Errorf("cannot keep a copy of %s: %w", o.output, err)
			}
		}
		if err := file.Merge(p.run.Entry); err != nil {
			return err
		}
		if harness.IsUnfinished(folder) {
			p.run.Folder, err = harness.Finish(folder)
		}
		return err
	}
	var err error
	if o.broken {
		if err = change(o.file); err == nil {
			err = calibration.Save(o.output, o.file)
		}
	} else {
		err = calibration.Update(ctx, o.output, change)
	}
	if err == nil {
		return nil
	}
	if p.run.Folder != folder {
		err = errors.Join(err, os.Rename(p.run.Folder, folder))
		p.run.Folder = folder
	}
	if p.backup != "" {
		os.Remove(p.backup)
	}
	return err
}

// report prints what was published.
func (o *output) report(p *publication, old *calibration.Host, charts int, stdout, stderr io.Writer) error {
	entry := &p.run.Entry
	if err := o.print(stdout, entry); err != nil {
		return err
	}
	if !o.json {
		fmt.Fprintf(stderr, "\nwrote %s, %s in %s and the samples in %s\n",
			o.output, command.Plural(charts, "chart"), o.charts, p.run.Folder)
	}
	if p.backup != "" {
		fmt.Fprintf(stderr, "calibrate: what %s held before is in %s\n", o.output, p.backup)
	}
	if len(p.kept) > 0 {
		fmt.Fprintf(stderr, "calibrate: warning: %s kept %s that this run measured less well (%s): %s --force replaces them\n",
			o.output, command.Plural(len(p.kept), "case"), strings.Join(p.kept, "; "), o.again(p.held))
	}
	var states harness.States
	if old != nil {
		states = harness.CompareStates(&old.Environment, &entry.Environment)
	}
	warn(stderr, entry, &states)
	return nil
}
