package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/host"
	"crossover/kernels"
)

// report is what speed --plans --json prints.
type report struct {
	Host   string `json:"host"`        // ID of the machine
	Commit string `json:"tool_commit"` // "" if it is not known
	plans.Summary
	Plans []plans.Row `json:"plans"`
}

// earlier returns the rows of a report, which must be one of the machine with the ID, by the same version of Crossover: in
// another one, calls may take other times.
func earlier(file, id string) ([]plans.Row, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--earlier: %w", err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil || r.Plans == nil {
		return nil, command.Usage("--earlier %s: want what speed --plans --json printed", file)
	}
	if r.Host != id {
		return nil, command.Usage("--earlier %s: it was measured on %s, and this is %s", file, r.Host, id)
	}
	if commit := command.Commit(); r.Commit != commit {
		return nil, command.Usage("--earlier %s: it was measured by version %q, and this is %q", file, r.Commit, commit)
	}
	return r.Plans, nil
}

// comparePlans runs speed --plans on a machine.
func comparePlans(ctx context.Context, machine command.Machine, o *options, stdout, stderr io.Writer) error {
	matches, err := pattern(o.rows)
	if err != nil {
		return err
	}
	var chosen []kernels.Case
	for _, c := range machine.Cases() {
		if matches.MatchString(c.Name) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return command.Usage("--rows %q matches no case", o.rows)
	}
	id := host.Identify().ID()
	before, err := earlier(o.earlier, id)
	if err != nil {
		return err
	}
	const sizes = 3
	step, clear := command.Progress(stderr, false, o.quiet)
	rows, err := plans.Compare(ctx, chosen, plans.Options{
		Machine: machine, Sizes: sizes, Blocks: o.runs, Budget: o.budget, Seed: 1, Earlier: before, Progress: step,
	})
	clear()
	if errors.Is(err, context.Canceled) {
		return command.Interrupted(errors.New("interrupted: nothing was decided"))
	}
	if err != nil {
		return err
	}
	s := plans.Sum(rows)
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report{id, command.Commit(), s, rows})
	} else {
		err = printPlans(stdout, rows, s)
	}
	if err == nil && s.Finding != plans.Inside {
		err = errors.New(s.Line())
	}
	return err
}

func printPlans(w io.Writer, rows []plans.Row, s plans.Summary) error {
	fmt.Fprintln(w, "A call as a sweep times it, and as a program gets it from the typed plan, in the same blocks.")
	fmt.Fprintf(w, "A row is inside or outside %.2f to %.2f where the 95 %% interval of its median ratio over the visits is.\n\n",
		plans.Least, plans.Most)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tIMPLEMENTATION\tSIZE\tSWEEP\tPROGRAM\tPROGRAM/SWEEP\t95 %\tVISITS\tBLOCKS\t")
	for _, r := range rows {
		switch r.Finding {
		case plans.Inside:
			printRow(t, r, "")
		case plans.Outside:
			printRow(t, r, "<- outside")
		}
	}
	if s.Undecided > 0 {
		fmt.Fprintf(t, "\nUndecided:\n")
	}
	for _, r := range rows {
		if r.Finding == plans.Undecided {
			printRow(t, r, r.Why)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if s.Unmeasured > 0 {
		fmt.Fprintf(w, "\nUnmeasured:\n")
	}
	for _, r := range rows {
		if r.Finding == plans.Unmeasured {
			fmt.Fprintf(w, "%s  %s  %d %s  %s\n", r.Case, r.Implementation, r.Size, calibration.UnitOf(r.Size, r.Unit), r.Why)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s: %d inside, %d outside, %d undecided, %d unmeasured; median ratio %.3f, lowest %.3f, highest %.3f\n",
		command.Plural(s.Rows, "row"), s.Inside, s.Outside, s.Undecided, s.Unmeasured, s.Median, s.Lowest, s.Highest)
	return err
}

func printRow(w io.Writer, r plans.Row, note string) {
	between := "-"
	if r.High > 0 {
		between = fmt.Sprintf("%.3f–%.3f", r.Low, r.High)
	}
	fmt.Fprintf(w, "%s\t%s\t%d %s\t%s\t%s\t%.3f\t%s\t%d\t%d\t%s\n", r.Case, r.Implementation, r.Size, calibration.UnitOf(r.Size, r.Unit), seconds(r.Sweep),
		seconds(r.Program), r.Ratio, between, r.Visits, r.Blocks, note)
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Nanosecond).String()
}
