package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"crossover/cmd/internal/command"
	"crossover/lab/proof"
)

// printLeftOut prints how well the runs of a host predict each other.
func printLeftOut(ctx context.Context, stdout io.Writer, dir string) error {
	r, err := proof.StudyLeftOut(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "left out: how well other runs predict each run, on the measured samples in %s (%s of %s)\n\n",
		dir, command.Plural(r.Runs, "run"), command.Plural(r.Cases, "case"))
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "intervals of\tthresholds\tinterval holds\tmean score\tmedian off\tnot foreseen\t")
	for _, row := range leftOutRows(r) {
		printIntervals(w, row.name, &row.predicted.Intervals)
	}
	printIntervals(w, "the mean of their thresholds", &r.Means)
	if s := &r.Sparse; s.Held.Of > 0 {
		fmt.Fprintf(w, "the others, from few sizes\t%d\t%s\t%.2f\t%.2f\t\t\n", s.Held.Of, percent(s.Held), s.Score, s.Off)
	}
	h := &r.Hindsight
	fmt.Fprintf(w, "the best one in hindsight\t%d\t%s\t%.2f\t\t\t\n", h.Held.Of, percent(h.Held), h.Score)
	fmt.Fprintln(w, "\t\t\t\t\t\t\nchoices of\tpairs\tcost below 1 %\tmean cost\tlower bound above 5 %\tthresholds a case\t")
	for _, row := range leftOutRows(r) {
		printChoices(w, row.name, &row.predicted.Ours)
		printChoices(w, row.name+", each winner", &row.predicted.Obvious)
	}
	printChoices(w, "half of the same run, each winner", &r.Halves)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "\nmedian off: median distance of thresholds from the predicted ones, in standard deviations; 0.67 if the widths are right")
	fmt.Fprintf(stdout, "two runs of a case, each with its thresholds in the intervals of the other: %s of %d pairs\n", percent(r.Agree), r.Agree.Of)
	fmt.Fprintf(stdout, "two halves of a run, each with its thresholds in the intervals of the other: %s of %d runs\n", percent(r.AgreeHalves), r.AgreeHalves.Of)
	for _, line := range aims(&r.Others) {
		fmt.Fprintln(stdout, line)
	}
	return nil
}

type leftOutRow struct {
	name      string
	predicted *proof.Predicted
}

// leftOutRows returns the rows of the tables. If there are two runs, "one other run" would be the same as "all other runs".
func leftOutRows(r *proof.LeftOut) []leftOutRow {
	others := leftOutRow{"all other runs", &r.Others}
	if r.Runs == 2 {
		return []leftOutRow{others}
	}
	return []leftOutRow{{"one other run", &r.One}, others}
}

func printIntervals(w io.Writer, name string, i *proof.Intervals) {
	fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.2f\t%d\t\n", name, i.Held.Of, percent(i.Held), i.Score, i.Off, i.New)
}

func printChoices(w io.Writer, name string, c *proof.Choices) {
	costly := "?" // if no judged run has several sizes
	if !math.IsNaN(c.Costly) {
		costly = fmt.Sprintf("%.1f %%", 100*c.Costly)
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%.2f %%\t%s of log-size\t%.1f\t\n",
		name, len(c.Pairs), percent(c.Cheap()), 100*c.Mean(), costly, c.Thresholds)
}

// aims says which aims all other runs meet, and which choices cost most.
func aims(p *proof.Predicted) []string {
	held := p.Held.Value()
	near := ""
	if off := max(proof.HeldAim[0]-held, held-proof.HeldAim[1]); off > 0 && off < 2*p.Held.Error() {
		near = ", by less than two standard errors"
	}
	cheap := p.Ours.Cheap()
	lines := []string{
		fmt.Sprintf("intervals hold 93 to 97 %%: %s%s", met(proof.HeldAim[0] <= held && held <= proof.HeldAim[1]), near),
		fmt.Sprintf("choices cost below 1 %% in 95 %% of pairs: %s", met(cheap.Value() >= proof.CheapAim)),
		fmt.Sprintf("the lower bound of the loss is above 5 %% on at most 1 %% of log-size: %s", met(p.Ours.Costly <= proof.CostlyAim)),
	}
	if worst := worstPairs(&p.Ours); worst != "" {
		lines = append(lines, "the choices that cost most: "+worst)
	}
	return lines
}

func met(is bool) string {
	if is {
		return "met"
	}
	return "missed"
}

// worstPairs names at most five pairs that cost most, of those that are not cheap.
func worstPairs(c *proof.Choices) string {
	var worst []string
	for _, p := range c.Worst() {
		if p.Cost < proof.CheapBelow || len(worst) == 5 {
			break
		}
		worst = append(worst, fmt.Sprintf("%s in run %d %.1f %%", p.Case, p.Run, 100*p.Cost))
	}
	return strings.Join(worst, ", ")
}
