package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
)

// options are the flags.
type options struct {
	calibration  string
	budget       time.Duration
	seed         uint64
	ops          string
	perOperation int
	placement    string
	json         string
	verbose      bool
}

const purpose = "Outside measures what the choices in a calibration cost a program at shapes that programs really use."

// parse reads the flags. done says that the user asked for --help and has the answer.
func parse(args []string, stdout io.Writer) (o options, done bool, err error) {
	flags := pflag.NewFlagSet("outside", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.SortFlags = false
	flags.StringVar(&o.calibration, "calibration", "calibration.json", "the `FILE` whose choices are judged")
	flags.DurationVar(&o.budget, "budget", 10*time.Minute, "how long to measure; the operations take turns")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the shapes and of the order in blocks")
	flags.StringVar(&o.ops, "ops", "", "only operations that match this `REGEXP`")
	flags.IntVar(&o.perOperation, "per-operation", 0, "at most `N` shapes of each operation; 0 for as many as the budget allows")
	flags.StringVar(&o.placement, "placement", string(kernels.Caller),
		"`WHERE` the data of calls lie: caller for ordinary slices, shared for those of Alloc, which a GPU reaches")
	flags.StringVar(&o.json, "json", "", "write a line for each shape to this `FILE`")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print a line for each shape on standard error")
	usage := func(format string, args ...any) error { return coded{exitUsage, fmt.Errorf(format, args...)} }
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nUsage: outside [flags]\n\n%s", purpose, flags.FlagUsages())
		return o, true, nil
	case err != nil:
		return o, false, usage("%v (see --help)", err)
	case flags.NArg() > 0:
		return o, false, usage("unexpected argument %q (see --help)", flags.Arg(0))
	case o.budget <= 0:
		return o, false, usage("--budget is %v (want more than 0, e.g. 10m)", o.budget)
	case o.placement != string(kernels.Caller) && o.placement != string(kernels.Shared):
		return o, false, usage("--placement is %q (want caller or shared)", o.placement)
	case o.perOperation < 0:
		return o, false, usage("--per-operation is %d (want at least 0)", o.perOperation)
	}
	return o, false, nil
}

// selected returns the operations that match a regular expression.
func selected(pattern string) ([]operation, error) {
	matches, err := regexp.Compile(pattern)
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("--ops %q: %v (want a regular expression such as '^fft')", pattern, err)}
	}
	var some []operation
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
		if matches.MatchString(op.name) {
			some = append(some, op)
		}
	}
	if len(some) == 0 {
		return nil, coded{exitUsage, fmt.Errorf("--ops %q matches no operation (there are %v)", pattern, names)}
	}
	return some, nil
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	ops, err := selected(o.ops)
	if err != nil {
		return err
	}
	m, err := memoryOf(kernels.Placement(o.placement))
	if err != nil {
		return err
	}
	// A choice that is forced from outside is not the file's.
	d, err := dispatch.Load(o.calibration, dispatch.Unforced())
	if err != nil {
		return err
	}
	if f := d.Fallback(); f != "" {
		return coded{exitNoEntry, fmt.Errorf("%s: %s (calibrate on this host, or name another --calibration)", o.calibration, f)}
	}
	d.OnFailure(func(f dispatch.Failure) { fmt.Fprintf(stderr, "outside: %s failed: %v\n", f.Implementation, f.Err) })
	var entry *calibration.Host
	e := d.Case(ops[0].name).Explain(1)
	if e.Fallback != "" {
		return coded{exitNoEntry, fmt.Errorf("%s: %s (calibrate everything on this host, or name another --calibration)", o.calibration, e.Fallback)}
	}
	id := e.Host
	err = calibration.View(o.calibration, func(entries []calibration.Entry) error {
		k := slices.IndexFunc(entries, func(e calibration.Entry) bool { return e.ID == id })
		if k < 0 {
			return fmt.Errorf("there is no host %q any more (run again)", id)
		}
		var err error
		entry, err = entries[k].Host()
		return err
	})
	if err != nil {
		return err
	}

	records, err := recordAll(ctx, o, ops, m, d, stderr)
	if err != nil {
		return err
	}
	writeReport(stdout, ops, records, entry, o.placement)
	all := judge(records, func(record) bool { return true })
	switch {
	case ctx.Err() != nil:
		return coded{exitInterrupted, errors.New("interrupted: the report has the shapes before that")}
	case all.failed > 0:
		return fmt.Errorf("%d shapes could not be measured, and the report names them", all.failed)
	case len(all.chosen) == 0:
		return coded{exitTooLittle, errors.New("no choice could be judged (want a larger --budget, or a file that knows these operations)")}
	}
	return nil
}

// recordAll measures. It writes each shape to the file of --json, and with --verbose to stderr.
func recordAll(ctx context.Context, o options, ops []operation, m memory, d *dispatch.Dispatcher, stderr io.Writer) ([]record, error) {
	start := time.Now()
	lines := io.Discard
	each := func(r record) error {
		if o.verbose {
			fmt.Fprintf(stderr, "%6.1fs  %s/%s\n", time.Since(start).Seconds(), r.Operation, r.Shape)
		}
		return r.write(lines)
	}
	if o.json == "" {
		return measureAll(ctx, o, ops, m, d, each)
	}
	if sameFile(o.json, o.calibration) {
		return nil, coded{exitUsage, fmt.Errorf("--json would overwrite %s, which --calibration names (want another file)", o.calibration)}
	}
	file, err := os.Create(o.json)
	if err != nil {
		return nil, err
	}
	lines = file
	records, err := measureAll(ctx, o, ops, m, d, each)
	return records, errors.Join(err, file.Close())
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// firstVisits is the share of the budget that first visits take. Later ones take less time each: compiled code is there, and
// implementations that are far behind are left out.
const firstVisits = 0.4

// measureAll draws shapes of the operations in turn until its share of the budget is spent, and visits them. Then it visits all of them
// again, and hands each to each after its last visit. After an interruption, shapes that lack a visit are left out.
func measureAll(ctx context.Context, o options, ops []operation, m memory, d *dispatch.Dispatcher, each func(record) error) ([]record, error) {
	start := time.Now()
	shapes := make([]*rand.Rand, len(ops))
	for i := range ops {
		shapes[i] = randomFor(o.seed, ops[i].name)
	}
	order := randomFor(o.seed, "the order in a block")
	var outcomes []*outcome
	for n := 0; ctx.Err() == nil && time.Since(start).Seconds() < firstVisits*o.budget.Seconds(); n++ {
		i := n % len(ops)
		if o.perOperation > 0 && n/len(ops) == o.perOperation {
			break
		}
		outcomes = append(outcomes, &outcome{operation: &ops[i], shape: ops[i].shapes.draw(shapes[i])})
		outcomes[n].visit(ctx, m, d, order)
	}
	var records []record
	for v := 1; v < visits; v++ {
		for _, measured := range outcomes {
			if measured.visit(ctx, m, d, order); ctx.Err() != nil {
				return records, nil
			}
			if v < visits-1 {
				continue
			}
			r := measured.record()
			if err := each(r); err != nil {
				return nil, err
			}
			records = append(records, r)
		}
	}
	return records, nil
}
