package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/host"
	"crossover/kernels"
)

// announce says on stderr what begins.
func announce(stderr io.Writer, entry *calibration.Host, cases int, condition host.Condition) {
	fmt.Fprintf(stderr, "calibrate: %s (%s, %s) · %s · budget %.0f s · seed %d\n",
		entry.ID, entry.Facts.Chip, command.Plural(entry.Facts.Cores, "core"), command.Plural(cases, "case"),
		entry.Method.BudgetSeconds, entry.Method.Seed)
	if condition.Power == "battery" {
		fmt.Fprintln(stderr, "calibrate: warning: running on battery; clocks may be lower than on mains")
	}
	if condition.Load > 0.5 {
		fmt.Fprintf(stderr, "calibrate: warning: load average %.1f: other programs are running, and their share ends up in the times\n", condition.Load)
	}
}

// table prints what was found: a row a segment.
func table(w io.Writer, entry *calibration.Host) error {
	fmt.Fprintf(w, "%s · %s/%s · %s · %.0f s · seed %d\n\n", entry.ID, entry.Environment.OS, entry.Facts.Architecture,
		entry.Environment.Go, entry.Method.SpentSeconds, entry.Method.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CASE\tFROM\t95 % INTERVAL\tIMPLEMENTATION\tVERDICT\tREGRET")
	for _, c := range entry.Cases {
		verdict := string(c.Verdict)
		if c.Degraded {
			verdict += ", degraded"
		}
		name, regret := c.Name, fmt.Sprintf("%.1f %%", 100*c.ExpectedRegret)
		if len(c.Segments) == 0 {
			fmt.Fprintf(t, "%s\t\t\t\t%s\t\n", name, verdict)
		}
		for _, s := range c.Segments {
			interval := ""
			if s.Interval != nil {
				interval = command.Thousands(s.Interval.Low) + " – " + command.Thousands(s.Interval.High)
			}
			from := fmt.Sprintf("%s %s", command.Thousands(s.From), c.Axis.Unit)
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, from, interval, s.Implementation, verdict, regret)
			name, verdict, regret = "", "", ""
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return notes(w, entry)
}

// notes prints, below the table, what its rows have no room for.
func notes(w io.Writer, entry *calibration.Host) error {
	var lines []string
	for _, c := range entry.Cases {
		if c.Reason != "" {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", c.Name, c.Verdict, c.Reason))
		}
		for _, warning := range c.Warnings {
			lines = append(lines, fmt.Sprintf("%s: %s", c.Name, warning))
		}
	}
	missing := map[string]bool{}
	for _, c := range entry.Cases {
		for _, i := range c.Implementations {
			if i.Excluded != "" && !missing[i.Excluded] {
				missing[i.Excluded] = true
				lines = append(lines, fmt.Sprintf("%s did not compete: %s", i.Name, i.Excluded))
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// list prints the cases and who can compete in them here.
func list(w io.Writer, cases []kernels.Case) error {
	missing := map[string]string{}
	var order []string
	for _, c := range cases {
		fmt.Fprintf(w, "%s  %s, %s to %s %s\n    %s\n", c.Name, c.Axis.Name,
			command.Thousands(c.Axis.Min), command.Thousands(c.Axis.Max), c.Axis.Unit, c.Definition)
		var names []string
		for _, i := range c.Implementations {
			if err := i.Missing(); err != nil {
				if missing[i.Name] == "" {
					order = append(order, i.Name)
				}
				missing[i.Name] = err.Error()
				names = append(names, i.Name+" (missing)")
				continue
			}
			names = append(names, i.Name)
		}
		fmt.Fprintf(w, "    %s\n", strings.Join(names, ", "))
	}
	if len(order) > 0 {
		fmt.Fprintln(w)
	}
	for _, name := range order {
		fmt.Fprintf(w, "missing: %s: %s\n", name, missing[name])
	}
	return nil
}

// plan prints what a run would do.
func plan(w io.Writer, cases []kernels.Case, o *options) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CASE\tFIRST SIZES\tIMPLEMENTATIONS")
	for i := range cases {
		c := &cases[i]
		var names []string
		for _, implementation := range c.Implementations {
			if o.include(implementation.Name) && implementation.Missing() == nil {
				names = append(names, implementation.Name)
			}
		}
		var sizes []string
		for _, size := range newPlanner(c, o, o.seed).Rungs() {
			sizes = append(sizes, command.Thousands(size))
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\n", c.Name, strings.Join(sizes, ", "), c.Axis.Unit, strings.Join(names, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: about %.0f s of measuring, which sizes between these is decided on the way, and up to %.0f s for fits and charts\n",
		command.Plural(len(cases), "case"), o.budget.Seconds(), chartSeconds*float64(len(cases)+1))
	return err
}

// chartSeconds is about what fitting and drawing one case takes.
const chartSeconds = 0.5
