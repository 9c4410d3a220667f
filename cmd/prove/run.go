package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
	"crossover/lab/model"
	"crossover/lab/proof"
)

// study is one table.
type study struct {
	name      string
	about     string
	scenarios func() []model.Scenario
	print     func(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error
}

var studies = []study{
	{"coverage", "how often the 95 % interval of a threshold holds the true crossover", crossings, coverage},
	{"between", "how often the 95 % interval of a threshold holds what the next run finds, by how much runs differ", model.Scenarios, between},
	{"extra", "how often a run has more thresholds than there are, also between two identical implementations", everything, extra},
	{"drift", "how often verify says DRIFTED on an unchanged machine, and after a crossover has moved twofold", model.Scenarios, drift},
	{"loss", "what verify says of choices of a known loss at every size", model.Same, loss},
	{"regret", "what the choices cost at sizes that were not measured, by budget", model.Scenarios, regret},
	{"cost", "how many blocks a regret of 2 % takes, against plain grids", model.Scenarios, cost},
	{"rules", "what the choices of other programs' rules cost on the same samples", model.Scenarios, ruleTable},
}

// crossings returns the scenarios that have a crossover.
func crossings() []model.Scenario { return append(model.Scenarios(), model.TwoStates()[0]) }

// everything returns all scenarios.
func everything() []model.Scenario {
	return slices.Concat(model.Scenarios(), model.TwoStates(), model.Same())
}

// mostRuns is the greatest number of calibrations of a scenario. So many take hours, and 2 GB, because a table keeps the
// calibrations of a scenario. The standard error of a share of 95 % is then 0.2 points.
const mostRuns = 10_000

// run runs the command.
func run(ctx context.Context, stdout, _ io.Writer, args []string) error {
	flags := pflag.NewFlagSet("prove", pflag.ContinueOnError)
	var names []string
	for _, s := range studies {
		names = append(names, s.name)
	}
	only := flags.StringSlice("only", nil, "print only these tables (`names` of "+strings.Join(names, ", ")+")")
	runs := flags.Int("runs", 1000, "calibrations of each scenario")
	seed := flags.Uint64("seed", 1, "seed of the machines' noise")
	luck := flags.String("luck", "", "use the measured luck of a host's visits and runs, not a formula's (a `folder` of sweeps/data with several runs)")
	data := flags.String("data", "", "compare the rules, and the runs, on the measured samples of a host instead (a `folder` of sweeps/data)")
	plots := flags.String("plots", "", "draw coverage.png and regret.png into a `folder` instead")
	quiet := flags.BoolP("quiet", "q", false, "print nothing but errors")
	done, err := command.Parse(flags, args, stdout,
		"Prove runs calibrations on modelled machines whose truth is known and counts how often they are right.")
	if done || err != nil {
		return err
	}
	if *runs < 1 || *runs > mostRuns {
		return command.Usage("--runs %d: want 1 to %d", *runs, mostRuns)
	}
	if flags.Changed("only") && len(*only) == 0 { // a variable that a script has not set
		return command.Usage("--only is empty: want some of %s", strings.Join(names, ", "))
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if count(len(*only) > 0, *data != "", *plots != "") > 1 {
		return command.Usage("--only, --data and --plots: want one of them, each prints or draws something else")
	}
	if *luck != "" && (*data != "" || *plots != "") {
		return command.Usage("--luck: it changes the tables of modelled machines (leave --data or --plots out)")
	}
	if *quiet {
		stdout = io.Discard // command.Exit prints errors
	}
	switch {
	case *data != "":
		err = measured(ctx, stdout, *data)
	case *plots != "":
		err = draw(ctx, *plots, *runs, *seed)
	default:
		err = tables(ctx, stdout, chosen, *luck, *runs, *seed)
	}
	if err != nil && ctx.Err() != nil {
		return command.Interrupted(errors.New("interrupted"))
	}
	return err
}

// tables prints the chosen tables, each as soon as it is complete. luck is the folder of the host whose luck the machines
// have, or "" for the luck of their formulas.
func tables(ctx context.Context, stdout io.Writer, chosen []study, luck string, runs int, seed uint64) error {
	var lucks []model.Luck
	machines := "modelled machines"
	if luck != "" {
		var err error
		if lucks, err = proof.MeasuredLuck(luck); err != nil {
			return err
		}
		machines += " with the luck of " + luck
	}
	for _, s := range chosen {
		fmt.Fprintf(stdout, "%s: %s (%s, %s a scenario, seed %d)\n\n", s.name, s.about, machines, command.Plural(runs, "run"), seed)
		w := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
		if err := s.print(ctx, w, withLuck(s.scenarios(), lucks), runs, seed); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	return nil
}

// withLuck returns the scenarios with the luck of real cases. It leaves out scenarios that have a luck of their own.
func withLuck(scenarios []model.Scenario, lucks []model.Luck) []model.Scenario {
	if len(lucks) == 0 {
		return scenarios
	}
	var lucky []model.Scenario
	for _, s := range scenarios {
		if len(s.Noise.Luck.Visits) == 0 {
			s.Noise.Lucks = lucks
			lucky = append(lucky, s)
		}
	}
	return lucky
}

func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

func choose(only []string) ([]study, error) {
	if len(only) == 0 {
		return studies, nil
	}
	var chosen []study
	for _, name := range only {
		found := false
		for _, s := range studies {
			if s.name == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			var names []string
			for _, s := range studies {
				names = append(names, s.name)
			}
			return nil, command.Usage("--only %q: no such table (want %s)", name, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

// percent writes a share with its standard error.
func percent(s proof.Share) string {
	if s.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ±%.1f %%", 100*s.Value(), 100*s.Error())
}

func between(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprint(w, "runs differ by\t")
	for _, n := range proof.Histories {
		fmt.Fprintf(w, "of %s\t", command.Plural(n, "run"))
	}
	fmt.Fprintln(w)
	rows, err := proof.StudyBetween(ctx, scenarios, runs, seed)
	for _, r := range rows {
		level := fmt.Sprintf("%.1f %%", 100*r.Deviation)
		if math.IsNaN(r.Deviation) {
			level = "as measured"
		}
		fmt.Fprintf(w, "%s\t", level)
		for _, share := range r.Hold {
			fmt.Fprintf(w, "%s\t", percent(share))
		}
		fmt.Fprintln(w)
	}
	return err
}

func coverage(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintln(w, "scenario\tinterval holds\tcrossover missed\tinterval's width\tblocks\t")
	rows, err := proof.StudyCoverage(ctx, scenarios, runs, seed)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f %%\t%d\t\n", r.Scenario, percent(r.Holds), percent(r.Missed), 100*r.Width, r.Blocks)
	}
	return err
}

func extra(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintf(w, "scenario\tthresholds\truns with more\tthe most\tat most %.0f %%\t\n", 100*proof.AimExtra)
	rows, err := proof.StudyExtra(ctx, scenarios, runs, seed)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t\n", r.Scenario, r.True, percent(r.TooMany), r.Most, met(r.TooMany.Value() <= proof.AimExtra))
	}
	return err
}

func drift(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintln(w, "scenario\tDRIFTED, unchanged\tDRIFTED, moved twofold\tmachine disturbed\tone is slower by\tthe old choice costs\t")
	rows, err := proof.StudyDrift(ctx, scenarios, runs, seed)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f %%\tup to %.0f %%\t\n", r.Scenario, percent(r.Unchanged), percent(r.Shifted),
			percent(r.Disturbed), 100*(r.Factor-1), 100*r.Cost)
	}
	return err
}

func loss(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintf(w, "scenario\ttrue loss\tmean of verify\tbelow the bound\twithin %.1f points\t\n", 100*proof.AimBias)
	rows, err := proof.StudyLoss(ctx, scenarios, runs, seed)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.1f %%\t%.2f ±%.2f %%\t%s\t%s\t\n",
			r.Scenario, 100*r.True, 100*r.Mean, 100*r.Error, percent(r.Below), met(math.Abs(r.Mean-r.True) <= proof.AimBias))
	}
	return err
}

func regret(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintln(w, "scenario\tbudget\tblocks\tregret\t90 % of runs\tworst size\t90 % of runs\t")
	rows, err := proof.StudyRegret(ctx, scenarios, runs, seed)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%v\t%d\t%.2f %%\t%.2f %%\t%.1f %%\t%.1f %%\t\n", r.Scenario, r.Budget, r.Blocks, 100*r.Mean, 100*r.Mean90, 100*r.Worst, 100*r.Worst90)
	}
	return err
}

func cost(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	fmt.Fprintln(w, "scenario\tours\t×2 grid\tlinear grid\tbetter grid ÷ ours\t")
	rows, err := proof.StudyCost(ctx, scenarios, runs, seed)
	for _, r := range rows {
		better := r.Grid
		if better == 0 || r.Linear > 0 && r.Linear < better {
			better = r.Linear
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t\n", r.Scenario, blocks(r.Ours), blocks(r.Grid), blocks(r.Linear), float64(better)/float64(r.Ours))
	}
	return err
}

func blocks(n int) string {
	if n == 0 {
		return "never"
	}
	return fmt.Sprint(n)
}

func ruleTable(ctx context.Context, w io.Writer, scenarios []model.Scenario, runs int, seed uint64) error {
	rows, err := proof.StudyRules(ctx, scenarios, runs, seed)
	if err == nil {
		printRules(w, rows)
	}
	return err
}

// printRules prints one row for each case, and below them the means and the numbers of thresholds. It marks rows in which
// our rule is neither the best one nor tied with it.
func printRules(w io.Writer, rows []proof.RuleRow) {
	fmt.Fprint(w, "case\t")
	for _, r := range proof.Rules() {
		fmt.Fprintf(w, "%s\t", r.Origin)
	}
	fmt.Fprintln(w, "\t")
	behind := 0
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t", r.Case)
		for _, regret := range r.Regret {
			fmt.Fprintf(w, "%.2f %%\t", 100*regret)
		}
		if r.Tied() {
			fmt.Fprintln(w, "\t")
			continue
		}
		behind++
		fmt.Fprintln(w, "behind\t")
	}
	fmt.Fprint(w, "geometric mean\t")
	for _, regret := range proof.Mean(rows) {
		fmt.Fprintf(w, "%.2f %%\t", 100*regret)
	}
	fmt.Fprintf(w, "%d of %d behind\t\n", behind, len(rows))
	all, halved := proof.Thresholds(rows)
	printCounts(w, "thresholds in all", all)
	if halved != nil {
		printCounts(w, "on every other size", halved)
	}
}

func printCounts(w io.Writer, name string, counts []float64) {
	fmt.Fprintf(w, "%s\t", name)
	for _, n := range counts {
		fmt.Fprintf(w, "%.4g\t", n)
	}
	fmt.Fprintln(w, "\t")
}

// measured prints how the rules do on the samples of a host and, if the host has several runs, how well they predict each
// other.
func measured(ctx context.Context, stdout io.Writer, dir string) error {
	rows, err := proof.MeasuredRules(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "rules: regret at held-out sizes, cross-fitted, on the measured samples in %s\n\n", dir)
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	printRules(w, rows)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if err := printLeftOut(ctx, stdout, dir); !errors.Is(err, proof.ErrOneRun) {
		return err
	}
	_, err = fmt.Fprintf(stdout, "left out: nothing, there is %v\n", proof.ErrOneRun)
	return err
}
