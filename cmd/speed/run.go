package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/catalogue"
)

// options holds the command line.
type options struct {
	api  string
	rows string
	runs int
	json bool

	quiet bool

	plans   bool
	budget  time.Duration
	earlier string
}

// leastRuns is the least number of runs for a median and a spread.
const leastRuns = 10

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("speed", pflag.ContinueOnError)
	flags.StringVar(&o.api, "api", "", "measure this API (default: the first one that has a device)")
	flags.StringVar(&o.rows, "rows", "", "measure only the rows whose name matches this `regexp`")
	flags.IntVar(&o.runs, "runs", 40, "timed runs of each side of a row")
	flags.BoolVar(&o.json, "json", false, "print the rows as JSON instead of the table")
	flags.BoolVar(&o.plans, "plans", false, "compare the typed plans of programs with what a sweep times, by case")
	flags.DurationVar(&o.budget, "budget", 3*time.Minute, "with --plans: time for all cases together")
	flags.StringVar(&o.earlier, "earlier", "", "with --plans: go on from this `file`, which an earlier --json printed; settled rows are not measured again")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors; the exit code tells")
	done, err = command.Parse(flags, args, stdout,
		"Speed compares our GPU kernels with the vendor's libraries and the device's limits, side by side in one run.")
	if done || err != nil {
		return nil, done, err
	}
	return o, false, o.check(flags.Changed)
}

// check fails if a flag is out of its range, or says nothing beside the others. given reports whether the command line has a flag.
func (o *options) check(given func(flag string) bool) error {
	if o.runs < leastRuns {
		return command.Usage("--runs %d: want at least %d", o.runs, leastRuns)
	}
	for _, flag := range []string{"budget", "earlier"} {
		if given(flag) && !o.plans {
			return command.Usage("--%s: it is about plans (want --plans, too)", flag)
		}
	}
	if o.budget < time.Second || o.budget > 24*time.Hour {
		return command.Usage("--budget %v: want a duration from 1s to 24h, e.g. 2m", o.budget)
	}
	if _, err := pattern(o.rows); err != nil {
		return err
	}
	if given("api") {
		return o.checkAPI()
	}
	return nil
}

// checkAPI fails if --api names no GPU API of this system. Whether that has a device is not tested here.
func (o *options) checkAPI() error {
	var known []string
	for _, b := range kernels.Here().GPUs {
		known = append(known, b.API)
	}
	switch {
	case o.plans:
		return command.Usage("--api: it says nothing about plans, which are compared on all of them (leave it or --plans out)")
	case len(known) == 0:
		return command.Usage("--api %q: Crossover knows no GPU API on this system (leave it out)", o.api)
	case o.api == "":
		return command.Usage("--api is empty: want %s (see speed --help)", strings.Join(known, " or "))
	case !slices.Contains(known, o.api):
		return command.Usage("--api %q: no such GPU API on this system (want %s)", o.api, strings.Join(known, " or "))
	}
	return nil
}

// run runs the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if o.quiet {
		stdout = io.Discard // only errors and the progress go to stderr
	}
	if o.plans {
		return comparePlans(ctx, command.ThisMachine(), o, stdout, stderr)
	}
	device, err := openDevice(o.api)
	if err != nil {
		return err
	}
	return measureOn(ctx, device, rows(catalogue.Cases(kernels.Here())), o, stdout, stderr)
}

// openDevice returns the device of an API of this system, or of the first one that has a device.
func openDevice(api string) (*gpu.Device, error) {
	var missing []string
	for _, b := range kernels.Here().GPUs {
		if api != "" && api != b.API {
			continue
		}
		device, err := b.OpenFit()
		if err == nil {
			return device, nil
		}
		missing = append(missing, err.Error())
	}
	if len(missing) == 0 {
		return nil, errors.New("there is no GPU API that Crossover knows on this system")
	}
	return nil, errors.New(strings.Join(missing, "; "))
}

// measureOn measures the selected rows and prints each as soon as it is measured. A row that fails prints its error, and the
// others continue.
func measureOn(ctx context.Context, device *gpu.Device, all []row, o *options, stdout, stderr io.Writer) error {
	matches, err := pattern(o.rows)
	if err != nil {
		return err
	}
	p := newPrinter(stdout, o.json)
	p.begin(device.Facts())
	measured, failed := 0, 0
	for _, r := range all {
		if !matches.MatchString(r.name) {
			continue
		}
		if ctx.Err() != nil {
			return command.Interrupted(errors.New("interrupted"))
		}
		if err := r.print(device, o.runs, p); err != nil {
			failed++
			fmt.Fprintf(stderr, "speed: %s: %s\n", r.name, oneLine(err))
		}
		measured++
		device.Trim()
	}
	if measured == 0 {
		return command.Usage("--rows %q matches no row (there are %s)", o.rows, names(all))
	}
	if err := p.end(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s failed", command.Plural(failed, "row"))
	}
	return nil
}

// print measures the row and prints its results.
func (r row) print(device *gpu.Device, runs int, p *printer) error {
	if r.rise != nil {
		rise, err := r.rise(device)
		if err == nil {
			p.printRise(rise)
		}
		return err
	}
	results, err := r.measure(device, runs)
	for _, result := range results {
		p.print(result)
	}
	return err
}
