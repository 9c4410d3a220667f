package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/dispatch"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/songs/race"
	"crossover/sweeps"
)

// options holds the command line.
type options struct {
	calibration string
	ops         string
	shapes      string
	pipelines   []string // nil if the cases and the shapes are checked
	audio       string
	budget      time.Duration
	defaults    bool // whether budget is the default one
	seed        uint64
	json        bool
	quiet       bool
	noProgress  bool
}

// The default budgets are those of calibrate, which measures three times as many cases beside a GPU.
const (
	defaultBudget = 3 * time.Minute
	withGPU       = 6 * time.Minute
)

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("verify", pflag.ContinueOnError)
	flags.StringVar(&o.calibration, "calibration", "calibration.json", "calibration `file` to check")
	flags.StringVar(&o.ops, "ops", "", "check only the cases whose name matches this `regexp`")
	flags.StringVar(&o.shapes, "shapes", "", "also check the shapes in this `file` of calls, as dispatch's Record writes it, and weigh by the calls; --ops leaves out others")
	flags.StringSliceVar(&o.pipelines, "pipelines", nil, "check nothing but the routes of these `pipelines`: analysis, separator, synthesiser, decoder, by default all")
	flags.Lookup("pipelines").NoOptDefVal = race.All
	flags.StringVar(&o.audio, "audio", "", "with --pipelines, analyse and separate this PCM WAV `file`")
	flags.DurationVar(&o.budget, "budget", defaultBudget, "time to spend on measuring; by default 3m (6m with a GPU), and 2m with --pipelines")
	flags.Lookup("budget").DefValue = "0s" // its help says what the default is
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the fresh sizes and shapes, and of the order (default: from the clock, printed)")
	flags.BoolVar(&o.json, "json", false, "print the findings as JSON instead of the table")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors; the exit code tells")
	flags.BoolVar(&o.noProgress, "no-progress", false, "draw no progress bar")
	done, err = command.Parse(flags, args, stdout,
		"Verify measures the choices of calibration.json at fresh sizes and shapes, and says whether they still hold.")
	if done || err != nil {
		return nil, done, err
	}
	o.defaults = !flags.Changed("budget")
	if o.budget < time.Second || o.budget > 24*time.Hour {
		return nil, false, command.Usage("--budget %v: want a duration from 1s to 24h, e.g. 2m", o.budget)
	}
	if flags.Changed("pipelines") {
		if err := o.checkPipelines(); err != nil {
			return nil, false, err
		}
	} else if o.audio != "" {
		return nil, false, command.Usage("--audio without --pipelines: cases and shapes are checked on what they were calibrated on")
	}
	if !flags.Changed("seed") {
		o.seed = uint64(time.Now().UnixNano()) ^ uint64(os.Getpid())
		o.seed %= 1 << 32
	}
	return o, false, nil
}

var errInterrupted = command.Interrupted(errors.New("interrupted: nothing was decided"))

// run runs the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	return runOn(ctx, command.ThisMachine(), stdout, stderr, args)
}

// runOn runs the command on a machine.
func runOn(ctx context.Context, machine command.Machine, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if o.quiet {
		stdout, stderr = io.Discard, io.Discard // command.Exit prints errors
	}
	command.Farewell(ctx, func() error { return errInterrupted })
	file, err := calibration.Load(o.calibration)
	var system syscall.Errno
	switch {
	case errors.As(err, &system):
		return err // which says what is wrong with the path
	case err != nil && (strings.Contains(err.Error(), "(want ") || strings.Contains(err.Error(), "calibrate again")):
		return err // of package calibration, which says what to do
	case err != nil:
		return fmt.Errorf("%w (want a file that go run ./cmd/calibrate wrote)", err)
	}
	// Verify checks the choices of the file, without CROSSOVER_FORCE.
	dispatcher, err := dispatch.New(file, dispatch.Unforced())
	if err != nil {
		return err
	}
	entry, doubt := ownEntry(file)
	if entry == nil {
		return &command.Error{Code: command.ExitNoEntry, Err: fmt.Errorf(
			"%s: %s; verify takes a host's own entry alone, and go run ./cmd/calibrate makes one", o.calibration, dispatcher.Fallback())}
	}
	if o.pipelines != nil {
		return o.judgePipelines(ctx, machine, entry, dispatcher, stdout, stderr)
	}
	v, err := o.verification(entry, machine, stderr)
	if err != nil {
		return err
	}
	if o.defaults && slices.ContainsFunc(v.Checks, func(c *harness.Check) bool { return c.Case.Placement.Elsewhere() }) {
		o.budget = withGPU
	}
	fmt.Fprintf(stderr, "verify: %s: %s, calibrated %s · %s · budget %.0f s · seed %d\n", o.calibration, v.Entry.ID,
		v.Entry.Created.Format("2006-01-02"), extent(v), o.budget.Seconds(), o.seed)
	if v.Entry.Edited {
		warn(stderr, []string{"the entry of this host was edited since calibrate wrote it: it does not match its digest"})
	}
	if force := os.Getenv(dispatch.ForceVariable); force != "" {
		warn(stderr, []string{fmt.Sprintf("%s=%.60s is ignored: the choices of %s are checked", dispatch.ForceVariable, force, o.calibration)})
	}
	if doubt != "" {
		warn(stderr, []string{doubt + ": the entry may be of another machine"})
	}
	before := harness.Doubts(&v.Now)
	warn(stderr, before)
	if err := o.measure(ctx, machine, v, dispatcher, stderr); err != nil {
		return err
	}
	report := summarise(v, o.seed)
	if err := o.comparePlans(ctx, machine, v, report, stderr); err != nil {
		return err
	}
	if err := report.write(stdout, o.json); err != nil {
		return err
	}
	warn(stderr, slices.DeleteFunc(harness.Doubts(&v.Now), func(doubt string) bool { return slices.Contains(before, doubt) }))
	warn(stderr, stateLines(&report.State))
	if err := report.verdict(o.calibration); err != nil {
		return err
	}
	if !o.json {
		_, err = fmt.Fprintf(stdout, "%s still holds%s: no choice has drifted\n", o.calibration, report.where())
	}
	return err
}

// extent says what is checked: "17 cases, 11 operations over all shapes".
func extent(v *harness.Verification) string {
	text := command.Plural(len(v.Checks), "case")
	if len(v.Shapes) > 0 {
		text += ", " + command.Plural(len(v.Shapes), "operation") + " over all shapes"
	}
	return text
}

// ownEntry returns the entry of this host, or nil if the file has none. doubt says why the entry may be of another host, or
// is "".
func ownEntry(file *calibration.File) (entry *calibration.Host, doubt string) {
	facts, id := command.HostFacts()
	entry = file.Host(id)
	if entry == nil {
		return nil, ""
	}
	likeness, doubt := host.Facts(facts).Compare(host.Facts(entry.Facts), true)
	if likeness < host.Untold {
		return nil, ""
	}
	return entry, doubt
}

// verification joins the entry's cases that --ops selects with the cases of this program.
func (o *options) verification(entry *calibration.Host, machine command.Machine, stderr io.Writer) (*harness.Verification, error) {
	matches, err := command.Pattern(o.ops)
	if err != nil {
		return nil, err
	}
	v := harness.NewVerification(entry, withLines(machine, entry), matches.MatchString, command.Environment(machine.Condition()))
	if err := o.addShapes(v, machine, matches.MatchString, stderr); err != nil || len(v.Shapes) > 0 {
		return v, err
	}
	if len(v.Checks) == 0 && len(v.Skipped) > 0 {
		return nil, &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf(
			"no case of %s can be checked: %s (go run ./cmd/calibrate measures afresh)", o.calibration, v.Skipped[0])}
	}
	if len(v.Checks) == 0 {
		return nil, command.Usage("--ops %q matches no case that can be checked (%s has %s: go run ./cmd/calibrate --list names all)",
			o.ops, o.calibration, command.Plural(len(entry.Cases), "case"))
	}
	return v, nil
}

// withLines returns the cases of a machine, and the lines of shapes that the entry has because somebody asked for them.
func withLines(machine command.Machine, entry *calibration.Host) []kernels.Case {
	cases := machine.Cases()
	if machine.Line == nil {
		return cases
	}
	for k := range entry.Cases {
		name := entry.Cases[k].Name
		if slices.ContainsFunc(cases, func(c kernels.Case) bool { return c.Name == name }) {
			continue
		}
		line := strings.TrimSuffix(strings.TrimSuffix(name, ","+string(kernels.Shared)), ","+string(kernels.Resident))
		placed, err := machine.Line(line)
		if err != nil {
			continue // no line of this version
		}
		for _, c := range placed {
			if c.Name == name {
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// addShapes adds the operations of the entry that are checked over their shapes, by the calls of --shapes if there are any.
func (o *options) addShapes(v *harness.Verification, machine command.Machine, asked func(name string) bool, stderr io.Writer) error {
	var spaces []*kernels.Space
	if machine.Spaces != nil && (len(v.Entry.Operations) > 0 || o.shapes != "") {
		spaces = machine.Spaces()
	}
	called := &record{}
	if o.shapes != "" {
		var err error
		if called, err = readRecord(o.shapes, spaces); err != nil {
			return err
		}
	}
	v.AddShapes(spaces, asked, called.shapes)
	if o.shapes != "" && !slices.ContainsFunc(v.Shapes, func(c *harness.ShapesCheck) bool { return len(c.Called) > 0 }) {
		reason := cmp.Or(called.reason, fmt.Errorf("%s predicts nothing for their operations, or --ops leaves these out", o.calibration))
		return fmt.Errorf("--shapes %s: no shape in it can be checked: %w", o.shapes, reason)
	}
	called.warn(stderr)
	return nil
}

// measure sweeps at fresh sizes and shows the progress on stderr.
func (o *options) measure(ctx context.Context, machine command.Machine, v *harness.Verification, dispatcher *dispatch.Dispatcher, stderr io.Writer) error {
	step, clear := command.Progress(stderr, false, o.noProgress)
	ofPlans := plans.BriefBudget(o.budget)
	err := v.Measure(ctx, machine.Machine, dispatcher, harness.VerifyOptions{
		Budget: o.budget - ofPlans, Seed: o.seed, Progress: sweeps.Within(step, 0, ofPlans),
	})
	clear()
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	var results []*sweeps.Result
	for _, check := range v.Checks {
		results = append(results, check.Result)
	}
	for _, check := range v.Shapes {
		results = append(results, check.Result)
	}
	command.WarnLost(stderr, "verify", results)
	return nil
}

// comparePlans compares typed plans with what a sweep times, for a few implementations of the checked cases.
func (o *options) comparePlans(ctx context.Context, machine command.Machine, v *harness.Verification, r *report, stderr io.Writer) error {
	cases := make([]kernels.Case, len(v.Checks))
	for k, check := range v.Checks {
		cases[k] = check.Case
	}
	step, clear := command.Progress(stderr, false, o.noProgress)
	var err error
	r.Plans, err = plans.Brief(ctx, cases, plans.Options{
		Machine: machine, Budget: plans.BriefBudget(o.budget), Seed: o.seed, Progress: sweeps.Within(step, o.budget-plans.BriefBudget(o.budget), 0),
	})
	clear()
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case errors.Is(err, plans.ErrWrong):
		return &command.Error{Code: command.ExitWrong, Err: err}
	}
	return err
}

// warn prints each warning on a line.
func warn(stderr io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(stderr, "verify: warning: %s\n", line)
	}
}
