package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/sweeps"
)

// announce prints which calibration begins, and warnings about the state of the machine.
func announce(stderr io.Writer, on harness.Machine, entry *calibration.Host, cases, asked int) {
	fmt.Fprint(stderr, simulatedNote(entry))
	machine := entry.Facts.Words()
	if entry.Environment.Driver != "" {
		machine = append(machine, entry.Environment.Driver)
	}
	fmt.Fprintf(stderr, "calibrate: %s (%s) · %s · %s · budget %.0f s · seed %d\n",
		entry.ID, strings.Join(machine, ", "), measures(cases, asked), methodName(&entry.Method),
		entry.Method.BudgetSeconds, entry.Method.Seed)
	for _, doubt := range harness.Doubts(&entry.Environment) {
		fmt.Fprintf(stderr, "calibrate: warning: %s\n", doubt)
	}
	if beside := on.Beside(entry.Environment.Load); beside != "" {
		fmt.Fprintf(stderr, "calibrate: warning: %s\n", beside)
	}
}

// measures counts what a run measures beside spaces.
func measures(cases, asked int) string {
	switch {
	case asked == 0:
		return command.Plural(cases, "case")
	case cases == 0:
		return command.Plural(asked, "shape")
	}
	return command.Plural(asked, "shape") + ", " + command.Plural(cases, "case")
}

// methodName names the kind of call that a calibration timed.
func methodName(m *calibration.Method) string {
	if m.Mode == string(sweeps.Throughput) && m.InFlight > 0 {
		return fmt.Sprintf("throughput with %d in flight", m.InFlight)
	}
	if m.State != string(sweeps.Warm) {
		return fmt.Sprintf("%s, %s", m.Mode, m.State)
	}
	return m.Mode
}

// gpuTable prints how the time of calls on a GPU is spent. It prints nothing if there is no such call.
func gpuTable(w io.Writer, entry *calibration.Host) {
	rows := [][]string{{"IMPLEMENTATION", "SIZE", "CALL", "GPU", "LAUNCH EFFICIENCY", "ENCODE", "GAP"}}
	before := []string{"\nCASE, UNIT OF SIZES"} // lines above each row
	for _, c := range entry.Cases {
		heading := c.Name + ", " + c.Axis.Unit
		for _, i := range c.Implementations {
			for _, g := range i.GPUTimes {
				rows = append(rows, []string{
					i.Name, command.Thousands(g.Size), duration(g.WallSeconds), duration(g.GPUSeconds),
					fmt.Sprintf("%.0f %%", 100*g.LaunchEfficiency), duration(g.EncodeSeconds), duration(g.GapSeconds),
				})
				before = append(before, heading)
				heading = ""
			}
		}
	}
	if len(rows) == 1 {
		return
	}
	for k, line := range command.Align(rows, 1, 2, 3, 4, 5, 6) {
		if before[k] != "" {
			fmt.Fprintln(w, before[k])
		}
		fmt.Fprintf(w, "%*s%s\n", indent, "", line)
	}
}

// waking prints the time that a run spent on keeping GPUs awake. It prints nothing if no GPU competed.
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

// disturbances prints the number of epochs that the sentinel saw, and how many blocks were thrown away for which reason.
func disturbances(w io.Writer, s *calibration.Sentinel) {
	if s == nil {
		return
	}
	d := cmp.Or(s.Discarded, &calibration.DiscardedBlocks{})
	fmt.Fprintf(w, "calibrate: the machine had %s; blocks thrown away: %d on a disturbed machine, %d beside neighbours, "+
		"%d for quieter ones later, %d with a garbage collection, %d before a restart\n",
		command.Plural(s.Epochs, "epoch"), d.Disturbed, d.Neighbours, d.Replaced, d.Collections, d.Restarts)
}

// duration writes seconds with three digits, such as 12.3 µs, and 0 as "".
func duration(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return benchunit.Scale(seconds, benchunit.Decimal) + "s"
}

// list prints the identity of the machine, and then the operations by their kind, with their cases and implementations. What
// is missing comes once, at the end.
func list(w io.Writer, machine *calibration.Host, cases []kernels.Case) error {
	facts := host.Facts(machine.Facts)
	identity := slices.DeleteFunc([]string{machine.ID, facts.Processor(), facts.Caches()}, func(s string) bool { return s == "" })
	words := machine.Facts.Words()
	if system := cmp.Or(machine.Environment.OSVersion, machine.Environment.OS); system != "" {
		words = append(words, system)
	}
	fmt.Fprintf(w, "%s%s\n%s\n", simulatedNote(machine), strings.Join(identity, ", "), strings.Join(words, ", "))
	group := ""
	for rest := cases; len(rest) > 0; {
		of := rest[0].Operation
		n := slices.IndexFunc(rest, func(c kernels.Case) bool { return c.Operation != of })
		if n < 0 {
			n = len(rest)
		}
		if next := catalogue.GroupOf(of); next != group {
			group = next
			fmt.Fprintf(w, "\n%s\n\n", group)
		}
		listOperation(w, rest[:n])
		rest = rest[n:]
	}
	legendOf(w, cases)
	return inventory(w, cases, func(string) bool { return true })
}

// legendOf prints what the names of the cases' implementations mean.
func legendOf(w io.Writer, cases []kernels.Case) {
	var rows [][]string
	variant := ""
	for _, c := range cases {
		for _, i := range c.Implementations {
			name, _, found := strings.Cut(i.Name, "/")
			if found {
				variant = cmp.Or(variant, i.Name)
			}
			if !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == name }) {
				rows = append(rows, []string{name, kernels.Meaning(name)})
			}
		}
	}
	fmt.Fprintf(w, "\nImplementations\n\n")
	for _, line := range command.Align(rows) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if variant != "" {
		fmt.Fprintf(w, "  An algorithm follows a slash, as in %s.\n", variant)
	}
}

// listOperation prints the cases of one operation: its formula, its lines, and the implementations that are here. A line in
// another placement has the same sizes, so only the placement is printed.
func listOperation(w io.Writer, cases []kernels.Case) {
	fmt.Fprintln(w, command.Wrap(fmt.Sprintf("  %s: %s", cases[0].Operation, cases[0].Definition)))
	var names []string
	for _, c := range cases {
		if c.Placement == kernels.Caller {
			name := ""
			if c.Name != c.Operation {
				name = c.Name + "  "
			}
			fmt.Fprintf(w, "      %s%s, %s to %s %s\n", name, c.Axis.Name,
				command.Thousands(c.Axis.Min), command.Thousands(c.Axis.Max), c.Axis.Unit)
		} else {
			fmt.Fprintf(w, "      %s\n", c.Name)
		}
		for _, i := range c.Implementations {
			if i.Missing() == nil && !slices.Contains(names, i.Name) {
				names = append(names, i.Name)
			}
		}
	}
	fmt.Fprintln(w, command.Wrap("      by "+strings.Join(names, ", ")))
}

// inventory prints the versions of the libraries that may compete in the cases, and what is missing. Implementations with
// the same version or cause share a line.
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

// facts collects names by facts, in the order in which facts were first added.
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

// plan prints what a run would measure.
func plan(w io.Writer, r *harness.Run, cases []kernels.Case, asked []harness.Asked, o *options) error {
	for _, a := range asked {
		fmt.Fprintln(w, a.Name)
	}
	if len(cases) > 0 {
		fmt.Fprintf(w, "%s\n\n", command.Wrap("Each case is measured at its first sizes, and then at sizes between them that are chosen on the way."))
	}
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
		fmt.Fprintf(w, "%s\n%s\n%s\n", c.Name, command.Wrap("    first sizes: "+strings.Join(sizes, ", ")+" "+c.Axis.Unit),
			command.Wrap("    "+strings.Join(names, ", ")))
	}
	if err := inventory(w, cases, o.include); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", command.Wrap(fmt.Sprintf("%s, %s: about %.0f s of measuring, and up to %.0f s for fits and charts",
		measures(len(cases), len(asked)), methodName(&r.Entry.Method), o.budget.Seconds(), chartSeconds*float64(len(cases)+1))))
	return err
}

// chartSeconds is about how long fitting and drawing one case takes.
const chartSeconds = 0.5
