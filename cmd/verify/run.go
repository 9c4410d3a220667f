package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
)

// options is the command line.
type options struct {
	calibration string
	ops         string
	budget      time.Duration
	seed        uint64
	json        bool
	quiet       bool
	noProgress  bool
}

func parse(args []string, stdout io.Writer) (o *options, done bool, err error) {
	o = &options{}
	flags := pflag.NewFlagSet("verify", pflag.ContinueOnError)
	flags.StringVar(&o.calibration, "calibration", "calibration.json", "calibration `file` to check")
	flags.StringVar(&o.ops, "ops", "", "check only the cases whose name matches this `regexp`")
	flags.DurationVar(&o.budget, "budget", 3*time.Minute, "time to spend on measuring")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the fresh sizes and the order (default: from the clock, printed)")
	flags.BoolVar(&o.json, "json", false, "print the findings as JSON instead of the table")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors; the exit code tells")
	flags.BoolVar(&o.noProgress, "no-progress", false, "draw no progress bar")
	done, err = command.Parse(flags, args, stdout,
		"Verify measures the choices of calibration.json at fresh sizes and says whether they still hold.")
	if done || err != nil {
		return nil, done, err
	}
	if o.budget < time.Second || o.budget > 24*time.Hour {
		return nil, false, command.Usage("--budget %v: want a duration from 1s to 24h, e.g. 2m", o.budget)
	}
	if !flags.Changed("seed") {
		o.seed = uint64(time.Now().UnixNano()) ^ uint64(os.Getpid())
		o.seed %= 1 << 32
	}
	return o, false, nil
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
	if o.quiet {
		stdout = io.Discard
	}
	file, err := calibration.Load(o.calibration)
	if err != nil {
		return err
	}
	_, id := command.HostFacts()
	entry := file.Host(id)
	if entry == nil {
		return &command.Error{Code: command.ExitNoEntry, Err: fmt.Errorf(
			"%s has no entry for this host, %s (it has %s); go run ./cmd/calibrate makes one", o.calibration, id, hostNames(file))}
	}
	checks, skipped, err := choose(entry, machine.Cases(), o)
	if err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(stderr, "verify: %s, calibrated %s · %s · budget %.0f s · seed %d\n",
			id, entry.Created.Format("2006-01-02"), command.Plural(len(checks), "case"), o.budget.Seconds(), o.seed)
	}
	now := command.Environment(machine.Condition())
	before := command.Doubts(&now)
	o.warn(stderr, before)
	if now.Sentinel, err = measure(ctx, machine, checks, entry, o, file, stderr); err != nil {
		return err
	}
	command.Worsen(&now, machine.Condition())
	report := summarise(entry, &now, checks, skipped, o)
	if o.json {
		err = report.writeJSON(stdout)
	} else {
		err = report.writeTable(stdout)
	}
	if err != nil {
		return err
	}
	o.warn(stderr, slices.DeleteFunc(command.Doubts(&now), func(doubt string) bool { return slices.Contains(before, doubt) }))
	o.warn(stderr, stateLines(&report.State))
	return report.verdict(o.calibration)
}

// warn prints warnings, a line each.
func (o *options) warn(stderr io.Writer, lines []string) {
	if o.quiet {
		return
	}
	for _, line := range lines {
		fmt.Fprintf(stderr, "verify: warning: %s\n", line)
	}
}

// check is one case of the file under verification.
type check struct {
	recorded *calibration.Case
	c        kernels.Case
	choice   *dispatch.Case
	auditor  *thresholds.Auditor
	result   *sweeps.Result
}

// audit begins the check, at the same fresh sizes each time.
func (ch *check) audit(seed uint64) *thresholds.Auditor {
	fresh := thresholds.NewFresh(ch.c.Axis.Min, ch.c.Axis.Max, ch.c.Axis.Round, ch.recorded.Sizes, rngOf(ch.c.Name, seed))
	ch.auditor = thresholds.NewAuditor(
		fresh.Sizes(thresholdsOf(ch.recorded)), ch.choice.Choose, fresh.Near, ch.recorded.TieBand, unsure(ch.recorded))
	return ch.auditor
}

// choose pairs the recorded cases with the catalogue's. skipped lists those that cannot be checked, with the reason.
func choose(entry *calibration.Host, all []kernels.Case, o *options) (checks []*check, skipped []string, err error) {
	matches, err := command.Pattern(o.ops)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]kernels.Case{}
	for _, c := range all {
		known[c.Name] = c
	}
	for k := range entry.Cases {
		recorded := &entry.Cases[k]
		c, ok := known[recorded.Name]
		switch {
		case !matches.MatchString(recorded.Name):
		case !ok:
			skipped = append(skipped, fmt.Sprintf("%s: not in the catalogue of this version", recorded.Name))
		case len(recorded.Segments) == 0:
			skipped = append(skipped, fmt.Sprintf("%s: the file chooses nothing (%s)", recorded.Name, recorded.Reason))
		default:
			// Only what was measured is promised, so only that is checked.
			c.Axis.Min, c.Axis.Max = recorded.Axis.From, recorded.Axis.To
			checks = append(checks, &check{recorded: recorded, c: c})
		}
	}
	if len(checks) == 0 {
		return nil, nil, command.Usage("--ops %q matches no case that can be checked (%s has %s)",
			o.ops, o.calibration, command.Plural(len(entry.Cases), "case"))
	}
	return checks, skipped, nil
}

// measure sweeps every case at its fresh sizes. It returns what the sweep's sentinel saw, nil where nobody looked.
func measure(ctx context.Context, machine command.Machine, checks []*check, entry *calibration.Host, o *options, file *calibration.File, stderr io.Writer) (now *calibration.Sentinel, err error) {
	dispatcher, err := dispatch.New(file)
	if err != nil {
		return nil, err
	}
	cases := make([]kernels.Case, len(checks))
	byName := map[string]*check{}
	for k, ch := range checks {
		ch.c.Implementations = recordedOnly(ch)
		ch.choice = dispatcher.Case(ch.c.Name, available(&ch.c)...)
		cases[k] = ch.c
		byName[ch.c.Name] = ch
	}
	step, clear := command.Progress(stderr, false, o.noProgress || o.quiet)
	results, err := sweeps.Run(ctx, cases, sweeps.Options{
		Budget: o.budget, Seed: o.seed,
		Mode: sweeps.Mode(entry.Method.Mode), InFlight: entry.Method.InFlight, State: sweeps.State(entry.Method.State),
		// A recording that the calibration was made on need not be at hand, and no operation's time depends on what it
		// sounds like.
		Input:      kernels.GeneratedInput(),
		VisitShare: 0.5,
		Planner:    func(c *kernels.Case) sweeps.Planner { return byName[c.Name].audit(o.seed) },
		Clock:      machine.Clock,
		Sentinel:   machine.Sentinel,
		Together:   machine.Together,
		Observe:    func(o sweeps.Observed) { now = command.Sentinel(o) },
		Throttled:  machine.Throttled,
		Others:     machine.Others,
		Forget:     machine.Forget,
		Trim:       machine.Trim,
		Progress:   step,
	})
	clear()
	if errors.Is(err, context.Canceled) {
		return nil, &command.Error{Code: command.ExitInterrupted, Err: errors.New("interrupted: nothing was decided")}
	}
	if err != nil {
		return nil, err
	}
	command.WarnLost(stderr, "verify", results)
	for k, r := range results {
		checks[k].result = r
	}
	return now, nil
}

// rngOf returns the source of a case's fresh sizes.
func rngOf(name string, seed uint64) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, hash.Sum64()))
}

// thresholdsOf returns the lower edges of all segments but the first.
func thresholdsOf(recorded *calibration.Case) []int {
	var from []int
	for _, s := range recorded.Segments[1:] {
		from = append(from, s.From)
	}
	return from
}

// unsure returns where the file says that it does not know: the intervals of the thresholds of an unresolved case.
func unsure(recorded *calibration.Case) [][2]int {
	if recorded.Verdict != calibration.Unresolved {
		return nil
	}
	var all [][2]int
	for _, s := range recorded.Segments[1:] {
		if s.Interval != nil {
			all = append(all, [2]int{s.Interval.Low, s.Interval.High})
		}
	}
	return all
}

// recordedOnly leaves out implementations that the file does not know or that did not compete: it promises nothing
// about them.
func recordedOnly(ch *check) []kernels.Implementation {
	var kept []kernels.Implementation
	for _, implementation := range ch.c.Implementations {
		for _, recorded := range ch.recorded.Implementations {
			if recorded.Name == implementation.Name && recorded.Excluded == "" {
				kept = append(kept, implementation)
			}
		}
	}
	return kept
}

func available(c *kernels.Case) []string {
	var names []string
	for _, implementation := range c.Implementations {
		if implementation.Missing() == nil {
			names = append(names, implementation.Name)
		}
	}
	return names
}

func hostNames(file *calibration.File) string {
	if len(file.Hosts) == 0 {
		return "none"
	}
	names := make([]string, len(file.Hosts))
	for k := range file.Hosts {
		names[k] = file.Hosts[k].ID
	}
	slices.Sort(names)
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", join(names[:most]), len(names)-most)
	}
	return join(names)
}
