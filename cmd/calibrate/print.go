package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchunit"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/sweeps"
)

// announce says on stderr what begins.
func announce(stderr io.Writer, entry *calibration.Host, cases int) {
	fmt.Fprint(stderr, simulatedNote(entry))
	machine := entry.Facts.Words()
	if entry.Environment.Driver != "" {
		machine = append(machine, entry.Environment.Driver)
	}
	fmt.Fprintf(stderr, "calibrate: %s (%s) · %s · %s · budget %.0f s · seed %d\n",
		entry.ID, strings.Join(machine, ", "), command.Plural(cases, "case"), methodName(&entry.Method),
		entry.Method.BudgetSeconds, entry.Method.Seed)
	for _, doubt := range harness.Doubts(&entry.Environment) {
		fmt.Fprintf(stderr, "calibrate: warning: %s\n", doubt)
	}
	if load := entry.Environment.Load; load > 0.5 {
		fmt.Fprintf(stderr, "calibrate: warning: load average %.1f: other programs are running, and their share ends up in the times\n", load)
	}
}

// methodName says in words what the times of a calibration are the times of.
func methodName(m *calibration.Method) string {
	if m.Mode == string(sweeps.Throughput) && m.InFlight > 0 {
		return fmt.Sprintf("throughput with %d in flight", m.InFlight)
	}
	if m.State != string(sweeps.Warm) {
		return fmt.Sprintf("%s, %s", m.Mode, m.State)
	}
	return m.Mode
}

// regretOf returns what the choices of a case cost on timings that did not choose, and the upper end of its interval.
func regretOf(c *calibration.Case) string {
	switch {
	case c.Regret == nil:
		return "?"
	case c.Regret.Upper == nil:
		return fmt.Sprintf("%.1f %%", 100*c.Regret.Mean)
	}
	return fmt.Sprintf("%.1f %%, below %.1f %%", 100*c.Regret.Mean, 100**c.Regret.Upper)
}

// table prints what was found: a row a segment.
func table(w io.Writer, entry *calibration.Host) error {
	fmt.Fprint(w, simulatedNote(entry))
	fmt.Fprintf(w, "%s · %s/%s · %s · %s · %.0f s · seed %d\n\n", entry.ID, entry.Environment.OS, entry.Facts.Architecture,
		entry.Environment.Go, methodName(&entry.Method), entry.Method.SpentSeconds, entry.Method.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "CASE\tFROM\t95 % INTERVAL\tIMPLEMENTATION\tVERDICT\tREGRET")
	for _, c := range entry.Cases {
		verdict := string(c.Verdict)
		if c.Degraded {
			verdict += ", degraded"
		}
		name, regret := c.Name, regretOf(&c)
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

// runsOf says how many runs the intervals rest on.
func runsOf(entry *calibration.Host) []string {
	single, assumed := 0, 0.0
	for _, c := range entry.Cases {
		for _, s := range c.Segments {
			if s.Interval != nil && s.Interval.AssumedBetweenRuns > 0 {
				single, assumed = single+1, s.Interval.AssumedBetweenRuns
			}
		}
	}
	if single == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of cases with a single run: each assumes %.1f %% between runs, and further runs of calibrate show it",
		command.Plural(single, "interval"), 100*assumed)}
}

// notes prints, below the table, what its rows have no room for.
func notes(w io.Writer, entry *calibration.Host) error {
	lines := runsOf(entry)
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

// gpuTable prints where the time of calls goes that a GPU computes, or nothing where none does.
func gpuTable(w io.Writer, entry *calibration.Host) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	rows := 0
	for _, c := range entry.Cases {
		name := c.Name
		for _, i := range c.Implementations {
			implementation := i.Name
			for _, g := range i.GPUTimes {
				if rows++; rows == 1 {
					fmt.Fprintln(t, "\nCASE\tIMPLEMENTATION\tSIZE\tCALL\tGPU\tLAUNCH EFFICIENCY\tENCODE\tGAP BETWEEN KERNELS")
				}
				fmt.Fprintf(t, "%s\t%s\t%s %s\t%s\t%s\t%.0f %%\t%s\t%s\n", name, implementation, command.Thousands(g.Size), c.Axis.Unit,
					duration(g.WallSeconds), duration(g.GPUSeconds), 100*g.LaunchEfficiency, duration(g.EncodeSeconds), duration(g.GapSeconds))
				name, implementation = "", ""
			}
		}
	}
	return t.Flush()
}

// waking says what keeping GPUs awake took of a run, or nothing where no GPU competed.
func waking(w io.Writer, r *harness.Run) {
	seconds, gpus := 0.0, false
	for _, result := range r.Results {
		seconds += result.Waking.Seconds()
		for _, i := range result.Implementations {
			gpus = gpus || i.Processor == kernels.GPU && i.Excluded == ""
		}
	}
	if spent := r.Entry.Method.SpentSeconds; gpus && spent > 0 {
		fmt.Fprintf(w, "calibrate: looking at the GPU's clock and keeping it up took %.2f s of %.0f s (%.1f %%)\n",
			seconds, spent, 100*seconds/spent)
	}
}

// disturbances says what the sentinel saw change, and how many blocks were thrown away for what.
func disturbances(w io.Writer, s *calibration.Sentinel) {
	if s == nil {
		return
	}
	d := cmp.Or(s.Discarded, &calibration.DiscardedBlocks{})
	fmt.Fprintf(w, "calibrate: the processor's clock had %s; blocks thrown away: %d on a disturbed machine, %d beside neighbours, "+
		"%d for quieter ones later, %d with a garbage collection, %d before a restart\n",
		command.Plural(s.Epochs, "epoch"), d.Disturbed, d.Neighbours, d.Replaced, d.Collections, d.Restarts)
}

// duration writes seconds with three digits: 12.3 µs; 0 as nothing.
func duration(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return benchunit.Scale(seconds, benchunit.Decimal) + "s"
}

// list prints the identity of the machine, then the cases and the implementations that can be timed in them here.
func list(w io.Writer, machine *calibration.Host, cases []kernels.Case) error {
	facts := host.Facts(machine.Facts)
	identity := slices.DeleteFunc([]string{machine.ID, facts.Processor(), facts.Caches()}, func(s string) bool { return s == "" })
	words := machine.Facts.Words()
	if system := cmp.Or(machine.Environment.OSVersion, machine.Environment.OS); system != "" {
		words = append(words, system)
	}
	fmt.Fprintf(w, "%s%s\n%s\n\n", simulatedNote(machine), strings.Join(identity, ", "), strings.Join(words, ", "))
	for _, c := range cases {
		fmt.Fprintf(w, "%s  %s, %s to %s %s\n    %s\n", c.Name, c.Axis.Name,
			command.Thousands(c.Axis.Min), command.Thousands(c.Axis.Max), c.Axis.Unit, c.Definition)
		var names []string
		for _, i := range c.Implementations {
			if i.Missing() != nil {
				names = append(names, i.Name+" (missing)")
				continue
			}
			names = append(names, i.Name)
		}
		fmt.Fprintf(w, "    %s\n", strings.Join(names, ", "))
	}
	return inventory(w, cases, func(string) bool { return true })
}

// inventory prints, for the implementations of the cases that may compete, the version of what is behind them and what
// is missing, those that share it in one line.
func inventory(w io.Writer, cases []kernels.Case, include func(implementation string) bool) error {
	var versions, missing facts
	seen := map[string]bool{}
	for _, c := range cases {
		for _, i := range c.Implementations {
			if seen[i.Name] || !include(i.Name) {
				continue
			}
			seen[i.Name] = true
			if err := i.Missing(); err != nil {
				missing.add(i.Name, err.Error())
			} else if version := i.LibraryVersion(); version != "" {
				versions.add(i.Name, version)
			}
		}
	}
	lines := append(versions.lines("version"), missing.lines("missing")...)
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// facts are said of names, in the order in which they were first said.
type facts struct {
	said  []string
	names map[string][]string
}

func (f *facts) add(name, fact string) {
	if f.names == nil {
		f.names = map[string][]string{}
	}
	if f.names[fact] == nil {
		f.said = append(f.said, fact)
	}
	f.names[fact] = append(f.names[fact], name)
}

func (f *facts) lines(label string) []string {
	var lines []string
	for _, fact := range f.said {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", label, strings.Join(f.names[fact], ", "), fact))
	}
	return lines
}

// plan prints what a run would do.
func plan(w io.Writer, r *harness.Run, cases []kernels.Case, o *options) error {
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
		for _, size := range r.FirstSizes(c) {
			sizes = append(sizes, command.Thousands(size))
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\n", c.Name, strings.Join(sizes, ", "), c.Axis.Unit, strings.Join(names, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := inventory(w, cases, o.include); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s, %s: about %.0f s of measuring, which sizes between these is decided on the way, and up to %.0f s for fits and charts\n",
		command.Plural(len(cases), "case"), methodName(&r.Entry.Method), o.budget.Seconds(), chartSeconds*float64(len(cases)+1))
	return err
}

// chartSeconds is about what fitting and drawing one case takes.
const chartSeconds = 0.5
