package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels"
)

// run is the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	return runOn(ctx, command.ThisMachine(), stdout, stderr, args)
}

// runOn is the command.
func runOn(ctx context.Context, machine command.Machine, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if o.simulate == listChips {
		return writeChips(stdout)
	}
	if o.quiet {
		stdout, stderr = io.Discard, io.Discard // errors are Exit's
	}
	if o.from != "" {
		return refit(ctx, o, stdout, stderr)
	}
	o.drawSeed()
	of, err := o.subject(machine)
	if err != nil {
		return err
	}
	cases, err := o.cases(of.Cases(), stderr)
	if err != nil {
		return err
	}
	switch {
	case o.list:
		return list(stdout, &of.host, cases)
	case o.dryRun:
		return plan(stdout, harness.NewRun(of.host, cases, o.asked()), cases, o)
	}
	return measure(ctx, of, cases, o, stdout, stderr)
}

// measure makes a calibration.
func measure(ctx context.Context, of *subject, cases []kernels.Case, o *options, stdout, stderr io.Writer) error {
	asked := o.asked()
	var err error
	if asked.Input, err = o.input(); err != nil {
		return err
	}
	asked.Folder = o.folder(o.data, of.host.ID)
	var clear func()
	asked.Progress, clear = command.Progress(stderr, o.verbose, o.noProgress || o.quiet)
	r := harness.NewRun(of.host, cases, asked)
	out, err := open(o, &r.Entry, len(cases))
	if err != nil {
		return err
	}
	if err := command.Writable(asked.Folder); err != nil {
		return err
	}
	announce(stderr, &r.Entry, len(cases))
	begin := time.Now()
	interrupted := func() error {
		return command.Interrupted(fmt.Errorf(
			"interrupted after %.0f s: the samples are in %s (calibrate --from %s fits them); %s is as it was",
			time.Since(begin).Seconds(), asked.Folder, asked.Folder, o.output))
	}
	command.Farewell(ctx, interrupted)
	err = r.Measure(ctx, of.Machine.Machine)
	clear()
	if errors.Is(err, context.Canceled) {
		return interrupted()
	}
	if err != nil {
		return err
	}
	command.WarnLost(stderr, "calibrate", r.Results)
	if o.verbose {
		waking(stderr, r)
	}
	r.Fit()
	halfWritten(ctx, o.output, asked.Folder)
	return out.publish(r, stdout, stderr)
}

// halfWritten sets what is said where a signal ends the program while the file and the charts are written.
func halfWritten(ctx context.Context, file, folder string) {
	command.Farewell(ctx, func() error {
		return command.Interrupted(fmt.Errorf("interrupted while %s and its charts were written: calibrate --from %s writes them", file, folder))
	})
}

// refit fits saved samples again; the same samples give the same bytes.
func refit(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	r, err := harness.Load(o.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := o.checkRefit(&r.Entry); err != nil {
		return err
	}
	out, err := open(o, &r.Entry, len(r.Entry.Cases))
	if err != nil {
		return err
	}
	r.Fit()
	halfWritten(ctx, o.output, o.from)
	return out.publish(r, stdout, stderr)
}
