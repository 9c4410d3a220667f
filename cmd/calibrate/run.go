package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"crossover/audio"
	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/plots"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// quickBudget is the budget of --quick: with fits and charts it ends within 30 s.
const quickBudget = 22 * time.Second

// options is the command line.
type options struct {
	ops       string
	impl      []string
	sizes     string
	budget    time.Duration
	precision float64
	mode      string
	inFlight  int
	state     string
	audio     string
	seed      uint64
	output    string
	data      string
	plots     string
	from      string
	simulate  string

	list, dryRun, quick, json, quiet, verbose, noProgress, force bool

	sizeRange command.SizeRange      // of sizes, when given
	given     func(flag string) bool // reports whether the command line names it
}

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("calibrate", pflag.ContinueOnError)
	flags.StringVar(&o.ops, "ops", "", "measure only the cases whose name matches this `regexp`")
	flags.StringSliceVar(&o.impl, "impl", nil, "let only these implementations compete, e.g. go,fftw,go/direct")
	flags.StringVar(&o.sizes, "sizes", "", "sizes as `lo:hi:xN`, e.g. 64:1Mi:x2")
	flags.DurationVar(&o.budget, "budget", 2*time.Minute, "time to spend on measuring")
	flags.Float64Var(&o.precision, "precision", 0.1, "half width of a threshold's interval to aim at, relative")
	flags.StringVar(&o.mode, "mode", string(sweeps.Latency), "latency (one call, then wait) or throughput (calls without a pause)")
	flags.IntVar(&o.inFlight, "in-flight", sweeps.DefaultInFlight, "GPU calls under way at a time, in throughput mode")
	flags.StringVar(&o.state, "state", string(sweeps.Warm), "warm, cold (first call: planned, compiled) or after-idle (after a pause)")
	flags.StringVar(&o.audio, "audio", "", "feed this PCM WAV `file` to the audio operations")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of everything random (default: from the clock, printed and saved)")
	flags.StringVarP(&o.output, "output", "o", "calibration.json", "calibration `file` to write this host's entry into")
	flags.StringVar(&o.data, "data", filepath.Join("sweeps", "data"), "`folder` for the raw samples, one folder a host in it")
	flags.StringVar(&o.plots, "plots", "plots", "`folder` for the charts, one folder a host in it")
	flags.StringVar(&o.from, "from", "", "refit the samples saved in this `folder`; measure nothing")
	flags.StringVar(&o.simulate, "simulate", "", "calibrate a modelled Apple `chip`, e.g. m3-max, into simulated/; \"list\" prints them")
	flags.BoolVar(&o.list, "list", false, "list the cases, their implementations and what is missing here")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be measured, and how long it would take")
	flags.BoolVar(&o.quick, "quick", false, "a smoke run of at most 30 s")
	flags.BoolVar(&o.json, "json", false, "print this host's entry as JSON instead of the table")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print a line for every visit to a size")
	flags.BoolVar(&o.noProgress, "no-progress", false, "draw no progress bar")
	flags.BoolVar(&o.force, "force", false, "replace a larger entry of this host, or an output file that cannot be read")
	if done, err = command.Parse(flags, args, stdout,
		"Calibrate finds the input sizes at which the fastest implementation changes on this machine."); done || err != nil {
		return nil, done, err
	}
	o.given = flags.Changed
	if o.quick && !flags.Changed("budget") {
		o.budget = quickBudget
	}
	if o.simulate != "" {
		o.separate()
	}
	return o, false, o.check()
}

func (o *options) check() (err error) {
	if o.sizes != "" {
		if o.sizeRange, err = command.ParseSizes(o.sizes); err != nil {
			return err
		}
	}
	switch {
	case o.budget < time.Second || o.budget > 24*time.Hour:
		return command.Usage("--budget %v: want a duration from 1s to 24h, e.g. 2m", o.budget)
	case !(o.precision >= 0.01 && o.precision <= 1):
		return command.Usage("--precision %v: want a number from 0.01 to 1, e.g. 0.1", o.precision)
	case o.mode != string(sweeps.Latency) && o.mode != string(sweeps.Throughput):
		return command.Usage("--mode %q: want latency or throughput", o.mode)
	case o.given("in-flight") && o.mode != string(sweeps.Throughput):
		return command.Usage("--in-flight %d with --mode %s: it is waited for each call (want --mode throughput)", o.inFlight, o.mode)
	case o.inFlight < 1 || o.inFlight > calibration.MaxInFlight:
		return command.Usage("--in-flight %d: want a number from 1 to %d, e.g. %d", o.inFlight, calibration.MaxInFlight, sweeps.DefaultInFlight)
	case o.state != string(sweeps.Warm) && o.state != string(sweeps.Cold) && o.state != string(sweeps.AfterIdle):
		return command.Usage("--state %q: want warm, cold or after-idle", o.state)
	case o.state != string(sweeps.Warm) && o.mode == string(sweeps.Throughput):
		return command.Usage("--state %s with --mode throughput: calls in a row are warm (want --mode latency)", o.state)
	case o.output == "":
		return command.Usage("--output is empty: want a file name, e.g. calibration.json")
	case o.given("simulate"):
		return o.checkSimulation()
	}
	return nil
}

// run is the command on this machine.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	return runOn(ctx, command.ThisMachine(), stdout, stderr, args)
}

// runOn is the command: flags and wiring.
func runOn(ctx context.Context, machine command.Machine, stdout, stderr io.Writer, args []string) error {
	o, done, err := parse(args, stdout)
	if done || err != nil {
		return err
	}
	if o.simulate == listChips {
		return writeChips(stdout)
	}
	if o.quiet {
		stdout = io.Discard
	}
	if o.from != "" {
		return refit(o, stdout, stderr)
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
	if o.list {
		return list(stdout, of.entry(), cases)
	}
	if o.dryRun {
		return plan(stdout, cases, o)
	}
	return measure(ctx, of, cases, o, stdout, stderr)
}

// subject returns the machine to calibrate: the one at hand, or the chip that --simulate names.
func (o *options) subject(machine command.Machine) (*subject, error) {
	if o.simulate == "" {
		return thisHost(machine), nil
	}
	c, err := o.chip()
	if err != nil {
		return nil, err
	}
	return simulated(c, o.seed), nil
}

// drawSeed makes up a seed where the command line has none.
func (o *options) drawSeed() {
	if !o.given("seed") {
		o.seed = uint64(time.Now().UnixNano()) ^ uint64(os.Getpid())
		o.seed %= 1 << 32 // short enough to type again
	}
}

// cases selects what --ops, --impl and --sizes leave.
func (o *options) cases(all []kernels.Case, stderr io.Writer) ([]kernels.Case, error) {
	cases, err := command.SelectCases(all, o.ops)
	if err != nil {
		return nil, err
	}
	if err := o.checkImplementations(cases); err != nil {
		return nil, err
	}
	if o.sizes == "" {
		return cases, nil
	}
	var kept []kernels.Case
	var ranges []string
	for _, c := range cases {
		low, high := max(o.sizeRange.Low, c.Axis.Min), min(o.sizeRange.High, c.Axis.Max)
		if low > high {
			ranges = append(ranges, fmt.Sprintf("%s takes %d to %d %s", c.Name, c.Axis.Min, c.Axis.Max, c.Axis.Unit))
			continue
		}
		c.Axis.Min, c.Axis.Max = low, high
		kept = append(kept, c)
	}
	if len(kept) == 0 {
		return nil, command.Usage("--sizes %q lies outside every case (%s)", o.sizes, strings.Join(ranges, "; "))
	}
	for _, r := range ranges {
		fmt.Fprintf(stderr, "calibrate: left out: %s\n", r)
	}
	return kept, nil
}

func (o *options) checkImplementations(cases []kernels.Case) error {
	var known []string
	for _, c := range cases {
		for _, i := range c.Implementations {
			known = append(known, i.Name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range o.impl {
		if !slices.Contains(known, name) {
			return command.Usage("--impl %q: no such implementation in these cases (there are %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// measure sweeps, fits, draws and writes.
func measure(ctx context.Context, of *subject, cases []kernels.Case, o *options, stdout, stderr io.Writer) error {
	input := kernels.GeneratedInput()
	if o.audio != "" {
		var err error
		if input, err = audio.ReadWAV(o.audio); err != nil {
			return fmt.Errorf("--audio: %w", err)
		}
	}
	file, err := openOutput(o)
	if err != nil {
		return err
	}
	if of.simulated {
		if err := o.guardMeasured(file); err != nil {
			return err
		}
	}
	data, charts := o.folder(o.data, of.id), o.folder(o.plots, of.id)
	for _, dir := range []string{filepath.Dir(o.output), data, charts} {
		if err := command.Writable(dir); err != nil {
			return err
		}
	}
	entry := of.entry()
	entry.Created, entry.Method = time.Now().UTC().Truncate(time.Second), *o.method(cases)
	entry.Method.Audio = input.Name
	if err := o.guard(file.Host(of.id), &entry.Method, len(cases)); err != nil {
		return err
	}
	if !o.quiet {
		announce(stderr, entry, len(cases))
	}

	clock := of.Clock
	if clock == nil {
		clock = sweeps.SystemClock()
	}
	start := clock.Now()
	step, clear := command.Progress(stderr, o.verbose, o.noProgress || o.quiet)
	store := &store{dir: data, entry: entry}
	results, err := sweeps.Run(ctx, cases, sweeps.Options{
		Budget: o.budget, Seed: entry.Method.Seed, Input: input,
		Mode: sweeps.Mode(o.mode), InFlight: o.inFlight, State: sweeps.State(o.state),
		Planner:   o.planner(entry.Method.Seed),
		Include:   o.include,
		Clock:     clock,
		Sentinel:  of.Sentinel,
		Together:  of.Together,
		Observe:   func(o sweeps.Observed) { entry.Environment.Sentinel = command.Sentinel(o) },
		Throttled: of.Throttled,
		Others:    of.Others,
		Forget:    of.Forget,
		Trim:      of.Trim,
		Save:      store.save,
		Progress:  step,

		Uncollected: of.simulated,
	})
	clear()
	command.Worsen(&entry.Environment, of.Condition())
	entry.Method.SpentSeconds = float64((clock.Now() - start).Round(time.Millisecond)) / float64(time.Second)
	if saveErr := store.finish(results); err == nil {
		err = saveErr
	}
	if errors.Is(err, context.Canceled) {
		return &command.Error{Code: command.ExitInterrupted, Err: fmt.Errorf(
			"interrupted after %.0f s: the samples are in %s (calibrate --from %s fits them); %s is as it was",
			entry.Method.SpentSeconds, data, data, o.output)}
	}
	if err != nil {
		return err
	}
	command.WarnLost(stderr, "calibrate", results)
	if o.verbose {
		waking(stderr, results, entry.Method.SpentSeconds)
	}
	sets := make(map[string]*timings.Set, len(results))
	for _, r := range results {
		sets[r.Case.Name] = &r.Samples
	}
	fit(entry, sets)
	return publish(o, file, entry, sets, charts, stdout, stderr)
}

// method is the method of a run over cases, as far as the command line says it.
func (o *options) method(cases []kernels.Case) *calibration.Method {
	m := &calibration.Method{
		Seed: o.seed, BudgetSeconds: o.budget.Seconds(), Precision: o.precision,
		Mode: o.mode, State: o.state, TieBand: thresholds.MinTieBand,
	}
	onGPU := func(i kernels.Implementation) bool {
		return i.Processor == kernels.GPU && o.include(i.Name) && i.Missing() == nil
	}
	if o.mode == string(sweeps.Throughput) && slices.ContainsFunc(cases, func(c kernels.Case) bool {
		return slices.ContainsFunc(c.Implementations, onGPU)
	}) {
		m.InFlight = o.inFlight
	}
	return m
}

func (o *options) include(implementation string) bool {
	return len(o.impl) == 0 || slices.Contains(o.impl, implementation)
}

// planner joins the statistics to the sweep.
func (o *options) planner(seed uint64) func(c *kernels.Case) sweeps.Planner {
	return func(c *kernels.Case) sweeps.Planner { return newPlanner(c, o, seed) }
}

func newPlanner(c *kernels.Case, o *options, seed uint64) *thresholds.Planner {
	return thresholds.NewPlanner(thresholds.PlannerOptions{
		Low: c.Axis.Min, High: c.Axis.Max, Round: c.Axis.Round, Ratio: o.sizeRange.Ratio,
		Fit: thresholds.Options{Seed: seed, Precision: o.precision},
	})
}

// openOutput reads the file that the entry will be merged into; a missing one is an empty one.
func openOutput(o *options) (*calibration.File, error) {
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

// guard refuses, before any time is spent, to replace this host's entry by a lesser one or by one that means something
// else.
func (o *options) guard(old *calibration.Host, method *calibration.Method, cases int) error {
	if old == nil || o.force {
		return nil
	}
	if before, now := methodName(&old.Method), methodName(method); before != now {
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

// refit fits saved samples again; the same samples give the same bytes.
func refit(o *options, stdout, stderr io.Writer) error {
	entry, sets, err := load(o.from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := o.checkRefit(entry); err != nil {
		return err
	}
	file, err := openOutput(o)
	if err != nil {
		return err
	}
	if entry.Simulated {
		if err := o.guardMeasured(file); err != nil {
			return err
		}
	}
	if err := o.guard(file.Host(entry.ID), &entry.Method, len(entry.Cases)); err != nil {
		return err
	}
	charts := o.folder(o.plots, entry.ID)
	for _, dir := range []string{filepath.Dir(o.output), charts} {
		if err := command.Writable(dir); err != nil {
			return err
		}
	}
	fit(entry, sets)
	return publish(o, file, entry, sets, charts, stdout, stderr)
}

// publish writes the charts, then the file, then the table.
func publish(o *options, file *calibration.File, entry *calibration.Host, sets map[string]*timings.Set, charts string, stdout, stderr io.Writer) error {
	var states command.States
	if replaced := file.Host(entry.ID); replaced != nil {
		states = command.CompareStates(&replaced.Environment, &entry.Environment)
	}
	if err := file.Merge(*entry); err != nil {
		return err
	}
	if err := calibration.Save(o.output, file); err != nil {
		return err
	}
	written, err := plots.Write(charts, entry, sets)
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
		fmt.Fprintf(stderr, "\nwrote %s and %s in %s\n", o.output, command.Plural(len(written), "chart"), charts)
	}
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
	return nil
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
