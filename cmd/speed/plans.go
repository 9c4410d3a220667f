package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/kernels"
)

// comparePlans is speed --plans.
func comparePlans(ctx context.Context, cases []kernels.Case, o *options, stdout io.Writer) error {
	matches, err := pattern(o.rows)
	if err != nil {
		return err
	}
	var chosen []kernels.Case
	for _, c := range cases {
		if matches.MatchString(c.Name) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return command.Usage("--rows %q matches no case", o.rows)
	}
	const sizes = 3
	rows, err := plans.Compare(ctx, chosen, plans.Options{Sizes: sizes, Blocks: o.runs, Budget: o.budget, Seed: 1})
	if err != nil {
		return err
	}
	s := plans.Sum(rows)
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(struct {
			plans.Summary
			Plans []plans.Row `json:"plans"`
		}{s, rows})
	} else {
		err = printPlans(stdout, rows, s)
	}
	if err == nil && !s.TellsTheTruth {
		err = fmt.Errorf("typed plans take another time than a sweep records: %s of %d outside %.2f to %.2f, median %.3f",
			command.Plural(s.Outside, "row"), s.Rows, plans.Least, plans.Most, s.Median)
	}
	return err
}

func printPlans(w io.Writer, rows []plans.Row, s plans.Summary) error {
	fmt.Fprintln(w, "A call as a sweep times it, and as a program gets it from the typed plan, in the same blocks.")
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tIMPLEMENTATION\tSIZE\tSWEEP\tPROGRAM\tPROGRAM/SWEEP\t")
	for _, r := range rows {
		mark := ""
		if r.Ratio < plans.Least || r.Ratio > plans.Most {
			mark = "<-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d %s\t%s\t%s\t%.3f\t%s\n", r.Case, r.Implementation, r.Size, r.Unit, seconds(r.Sweep),
			seconds(r.Program), r.Ratio, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: median ratio %.3f, lowest %.3f, highest %.3f, %d outside %.2f to %.2f\n",
		command.Plural(s.Rows, "row"), s.Median, s.Lowest, s.Highest, s.Outside, plans.Least, plans.Most)
	return err
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Nanosecond).String()
}
