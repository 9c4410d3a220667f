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

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// publish merges a fitted run into the host's entry, samples and charts. Its cases replace those of the same name, unless
// they are poorer. All others stay. Until the file is replaced, everything stays as it was.
func (o *output) publish(ctx context.Context, r *harness.Run, stdout, stderr io.Writer) error {
	folder := r.Folder
	command.Farewell(ctx, func() error { return o.halfWritten(folder) })
	for {
		before := o.old
		clear := command.Status(stderr, o.noProgress, "draws charts of "+command.Plural(len(r.Entry.Cases), "case"))
		p, err := o.attempt(ctx, r)
		clear()
		if err == nil {
			if err := o.place(p); err != nil {
				return fmt.Errorf("%s is written, but not its charts: %w", o.output, err)
			}
			harness.RemoveForgotten(o.samples)
			return o.report(p, stdout, stderr)
		}
		if o.broken || ctx.Err() != nil {
			return err
		}
		// If another process changed the entry meanwhile, combine with the changed one.
		if _, loadErr := o.load(r.Entry.ID); loadErr != nil || reflect.DeepEqual(before, o.old) {
			return err
		}
	}
}

// attempt publishes a run onto the entry that was read last. The charts are drawn aside, and then the file is replaced. If
// that fails, attempt removes everything that it made, and keeps the run.
func (o *output) attempt(ctx context.Context, r *harness.Run) (*publication, error) {
	p, err := o.combine(ctx, r)
	if err != nil {
		return nil, err
	}
	if p.drawn, err = o.draw(ctx, p.run); err == nil {
		if err = cmp.Or(ctx.Err(), o.write(ctx, p)); err == nil {
			return p, nil
		}
		os.RemoveAll(p.drawn)
	}
	if p.run != r {
		harness.Discard(p.run.Folder)
	}
	return nil, err
}

// write moves the run among those of the host and writes its entry into the file: both or neither.
func (o *output) write(ctx context.Context, p *publication) error {
	folder := p.run.Folder
	change := func(file *calibration.Index) error { return o.change(file, p) }
	var err error
	if o.broken {
		file := new(calibration.Index)
		if err = change(file); err == nil {
			err = file.Save(o.output)
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

// change changes the file and moves the run's folder to its place. calibration.Update calls it while no other process can
// write the file.
func (o *output) change(file *calibration.Index, p *publication) error {
	entry := &p.run.Entry
	now, err := o.entryIn(file, entry.ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(o.old, now) {
		return errors.New("another process changed the entry of this host meanwhile")
	}
	if entry.Simulated {
		if err := o.guardMeasured(file); err != nil {
			return err
		}
	}
	if o.broken || o.force && has(file, entry.ID) {
		if p.backup, err = o.copyAside(); err != nil {
			return fmt.Errorf("cannot keep a copy of %s: %w", o.output, err)
		}
	}
	if now != nil && entry.Pipelines == nil {
		entry.Pipelines = now.Pipelines // which no run over cases measures
	}
	if err := file.Merge(*entry); err != nil {
		return err
	}
	if harness.IsUnfinished(p.run.Folder) {
		p.run.Folder, err = harness.Finish(p.run.Folder)
	}
	return err
}

// copyAside copies the calibration file to FILE.bak, or FILE.bak2 and so on if that exists, and returns the name of the
// copy.
func (o *output) copyAside() (string, error) {
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
		if err = cmp.Or(err, file.Sync(), file.Close()); err != nil {
			os.Remove(name)
			return "", err
		}
		return name, nil
	}
}

// place removes the samples of the old entry and moves the charts to their places. The file is already replaced.
func (o *output) place(p *publication) (err error) {
	defer os.RemoveAll(p.drawn)
	behind := []*harness.Run{p.replaced}
	if len(p.kept) == 0 { // otherwise it has samples that the new run does not have, of cases that add nothing
		behind = append(behind, p.measured)
	}
	for _, r := range behind {
		if r != nil && !command.SamePlace(r.Folder, p.run.Folder) && o.holds(r.Folder) {
			harness.Discard(r.Folder)
		}
	}
	p.charts, err = o.placeCharts(p.drawn, o.old)
	return err
}

// holds reports whether a folder lies among the runs of the host.
func (o *output) holds(folder string) bool { return command.SamePlace(filepath.Dir(folder), o.samples) }

// has reports whether a file has an entry with an id, valid or not.
func has(file *calibration.Index, id string) bool {
	return slices.ContainsFunc(file.Entries, func(e calibration.Entry) bool { return e.ID == id })
}

// restlessParts returns how many cases and operations of an entry are degraded, and how many there are.
func restlessParts(entry *calibration.Host) (degraded, all int) {
	for k := range entry.Cases {
		if entry.Cases[k].Degraded {
			degraded++
		}
	}
	for k := range entry.Operations {
		if entry.Operations[k].Degraded {
			degraded++
		}
	}
	return degraded, len(entry.Cases) + len(entry.Operations)
}

// report prints the published entry and what became of the old one.
func (o *output) report(p *publication, stdout, stderr io.Writer) error {
	entry := &p.run.Entry
	if err := o.print(stdout, p.run, p.measured); err != nil {
		return err
	}
	if !o.json {
		charts := ""
		if p.charts > 0 { // shapes that were asked for have none
			charts = fmt.Sprintf(", %s in %s", command.Plural(p.charts, "chart"), o.charts)
		}
		fmt.Fprintf(stderr, "\nwrote %s%s and the samples in %s\n", o.output, charts, p.run.Folder)
	}
	if restless, all := restlessParts(&p.measured.Entry); o.from == "" && 2*restless > all {
		fmt.Fprintf(stderr, "calibrate: warning: the machine was not quiet for %d of %d cases and operations, so choices of this run may be wrong: run it again beside no other program\n",
			restless, all)
	}
	for _, line := range p.changes {
		fmt.Fprintf(stderr, "calibrate: %s\n", line)
	}
	if p.backup != "" {
		fmt.Fprintf(stderr, "calibrate: what %s held before is in %s\n", o.output, p.backup)
	}
	if base := p.replaced; base != nil && p.run != p.measured && base.Entry.Edited {
		warnEdited(stderr, base)
	}
	if p.behind > 0 {
		fmt.Fprintf(stderr, "calibrate: added behind an earlier run that measured more: %s\n", command.Plural(p.behind, "case"))
	}
	if p.known > 0 {
		fmt.Fprintf(stderr, "calibrate: %s had what this run measured of %s already\n", o.output, command.Plural(p.known, "case"))
	}
	if len(p.kept) > 0 {
		fmt.Fprintf(stderr, "calibrate: warning: %s kept %s that this run measured less well (%s): %s --force puts all of this run in place of what several runs measured\n",
			o.output, command.Plural(len(p.kept), "case"), command.Few(p.kept, "; "), o.again(cmp.Or(o.from, p.measured.Folder)))
	}
	var states harness.States
	if o.old != nil {
		states = harness.CompareStates(&o.old.Environment, &entry.Environment)
	}
	warn(stderr, entry, &states)
	return nil
}
