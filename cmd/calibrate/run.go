package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// run runs the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	return runOn(ctx, command.ThisMachine(), stdout, stderr, args)
}

// runOn runs the command on a machine. What could not be printed is an error, also of a command that did all else.
func runOn(ctx context.Context, machine command.Machine, stdout, stderr io.Writer, args []string) error {
	printed := &watchedWriter{to: stdout}
	if err := runFor(ctx, machine, printed, stderr, args); err != nil {
		return err
	}
	if printed.err != nil {
		return fmt.Errorf("cannot print all of the result: %w", command.Cause(printed.err))
	}
	return nil
}

// watchedWriter keeps the first error of a writer to itself, and writes nothing after it. Its Write always succeeds, so that a run
// still says on stderr what it wrote.
type watchedWriter struct {
	to  io.Writer
	err error
}

func (w *watchedWriter) Write(text []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.to.Write(text)
	}
	return len(text), nil
}

// runFor does what runOn does, but for errors of stdout.
func runFor(ctx context.Context, machine command.Machine, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if o.choose != "" {
		return choose(o, machine, stdout)
	}
	if o.quiet {
		stdout, stderr = io.Discard, io.Discard // command.Exit prints errors
	}
	if o.simulate == listChips {
		return writeChips(stdout)
	}
	if o.from != "" {
		return refit(ctx, o, stdout, stderr)
	}
	o.drawSeed()
	of, err := o.subject(machine)
	if err != nil {
		return err
	}
	if o.given("pipelines") {
		return measurePipelines(ctx, of, kernels.Here(), o, stdout, stderr)
	}
	cases, err := o.cases(of.Cases(), stderr)
	if err != nil {
		return err
	}
	spaces := o.spaces(of.Machine, cases)
	if err := o.checkImplementations(cases, spaces); err != nil {
		return err
	}
	asked, err := o.resolve(spaces, cases, stderr)
	if err != nil {
		return err
	}
	if !o.list {
		cases, spaces = o.withImplementations(cases, spaces, stderr)
	}
	if len(spaces) > 0 && !o.alone() && !o.given("budget") && !o.quick {
		if o.budget = withShapes; of.host.Facts.GPU != "" {
			o.budget = withShapesAndGPU
		}
		o.budget += min(o.budget, harness.AskedBudget(len(asked)))
	}
	switch {
	case o.list:
		return list(stdout, &of.host, cases)
	case o.dryRun:
		r, out := harness.NewRun(of.host, cases, o.runOptions()), newOutput(o, of.host.ID)
		if _, err := out.load(of.host.ID); err == nil { // a damaged file changes nothing about what is measured first
			r.Before = out.before()
		}
		return plan(stdout, r, cases, asked, o)
	}
	return measure(ctx, of, cases, spaces, asked, o, stdout, stderr)
}

// measure measures, fits and publishes a run.
func measure(ctx context.Context, of *subject, cases []kernels.Case, spaces []*kernels.Space, asked []harness.Asked, o *options, stdout, stderr io.Writer) error {
	options := o.runOptions()
	var err error
	if options.Input, err = o.input(); err != nil {
		return err
	}
	var clear func()
	options.Progress, clear = command.Progress(stderr, o.verbose, o.noProgress)
	r := harness.NewRun(of.host, cases, options)
	r.Spaces, r.Asked, r.Alone = spaces, asked, o.alone()
	out, err := open(o, &r.Entry, cases)
	if err != nil {
		return err
	}
	r.Before = out.before()
	if r.Folder, err = out.newFolder(); err != nil {
		return err
	}
	announce(stderr, of.Machine.Machine, &r.Entry, len(cases), len(asked))
	begin, folder := time.Now(), r.Folder
	interrupted := func() error { return out.interrupted(folder, time.Since(begin)) }
	command.Farewell(ctx, interrupted)
	err = r.Measure(ctx, of.Machine.Machine)
	clear()
	if err == nil {
		command.WarnLost(stderr, "calibrate", r.Results)
		if o.verbose {
			waking(stderr, r)
			disturbances(stderr, r.Entry.Environment.Sentinel)
		}
		if err = unmeasured(r, stderr); err == nil {
			err = out.fit(ctx, r, stderr)
		}
		if err == nil {
			out.shapes = asked
			err = out.publish(ctx, r, stdout, stderr)
		}
	}
	switch {
	case err == nil || !harness.IsUnfinished(r.Folder):
		return err // an error here is about the charts only
	case measured(r) == 0:
		harness.Discard(r.Folder)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return interrupted()
	}
	if _, statErr := os.Stat(filepath.Join(r.Folder, harness.EntryFile)); statErr != nil {
		return err
	}
	if errors.Is(err, errBetter) {
		return fmt.Errorf("%w; the samples are in %s for %d days (calibrate --from %s -o FILE fits them into another file)", err, r.Folder, harness.KeptDays,
			quoted(r.Folder))
	}
	return fmt.Errorf("%w; the samples are in %s for %d days (%s fits them)", err, r.Folder, harness.KeptDays, o.again(r.Folder))
}

// interrupted returns the error of a run that a signal ended after some time. If there are samples, the error says where
// they are and which command fits them.
func (o *output) interrupted(folder string, after time.Duration) error {
	err := fmt.Errorf("interrupted after %.0f s: %s is as it was, and nothing was saved yet", after.Seconds(), o.output)
	if _, statErr := os.Stat(filepath.Join(folder, harness.EntryFile)); statErr == nil {
		err = fmt.Errorf("interrupted after %.0f s: %s is as it was; the samples are in %s for %d days (%s fits them)",
			after.Seconds(), o.output, folder, harness.KeptDays, o.again(folder))
	}
	return command.Interrupted(err)
}

// halfWritten returns the error of a run that a signal ended while its entry and its charts were written.
func (o *output) halfWritten(folder string) error {
	if o.from != "" {
		folder = o.from // folder may be a copy that is being removed
	}
	if _, err := os.Stat(folder); err != nil {
		folder = o.samples // the run has already moved there
	}
	return command.Interrupted(fmt.Errorf("interrupted while %s and its charts were written: %s writes them", o.output, o.again(folder)))
}

// newFolder makes the folder of a run.
func (o *output) newFolder() (string, error) {
	folder, err := harness.NewFolder(o.samples)
	if err != nil {
		return "", fmt.Errorf("cannot write to %s: %w", o.samples, command.Cause(err))
	}
	return folder, nil
}

// refit fits saved samples again. The same samples give the same bytes.
func refit(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	asItWas := command.Interrupted(fmt.Errorf("interrupted: %s is as it was", o.output))
	command.Farewell(ctx, func() error { return asItWas })
	r, err := harness.Load(o.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := o.checkRefit(&r.Entry); err != nil {
		return err
	}
	if measured(r) == 0 {
		return fmt.Errorf("--from: %s holds no samples, because its run ended before the first ones: want another folder, or run calibrate without --from",
			r.Folder)
	}
	if !command.SamePlace(r.Folder, o.from) {
		fmt.Fprintf(stderr, "calibrate: %s holds runs; this fits the newest, %s\n", o.from, r.Folder)
	}
	if r.Entry.Edited {
		warnEdited(stderr, r)
	}
	if !r.Entry.Simulated {
		r.Declare(catalogue.Declared())
	}
	out, err := open(o, &r.Entry, nil)
	if err != nil {
		return err
	}
	if err = out.refit(ctx, r, stdout, stderr); errors.Is(err, context.Canceled) {
		return asItWas
	}
	return err
}

// refit fits a loaded run and publishes it. The samples of a host lie in its own folder, so refit copies samples of another
// folder there. The copy is removed unless it becomes the host's.
func (o *output) refit(ctx context.Context, r *harness.Run, stdout, stderr io.Writer) error {
	if !o.holds(r.Folder) {
		folder, err := o.newFolder()
		if err != nil {
			return err
		}
		defer harness.Discard(folder) // does nothing once the run was published, because its folder then has another name
		if err := r.Save(ctx, folder); err != nil {
			return err
		}
	}
	if err := o.fit(ctx, r, stderr); err != nil {
		return err
	}
	return o.publish(ctx, r, stdout, stderr)
}

// fit fits a run. Meanwhile it shows a status on a terminal.
func (o *output) fit(ctx context.Context, r *harness.Run, stderr io.Writer) error {
	defer command.Status(stderr, o.noProgress, "fits "+command.Plural(len(r.Entry.Cases), "case"))()
	return r.Fit(ctx)
}
