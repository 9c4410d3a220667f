package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
)

// notes prints, below the table, remarks that do not fit into its rows.
func notes(w io.Writer, entry *calibration.Host) {
	lines := runsOf(entry)
	var said []command.Note
	for _, c := range entry.Cases {
		switch {
		case c.Reason == "":
		case verdictOf(&c) == string(c.Verdict):
			said = append(said, command.Note{Case: c.Name, Text: fmt.Sprintf("%s: %s", c.Verdict, c.Reason)})
		default:
			said = append(said, command.Note{Case: c.Name, Text: c.Reason})
		}
		for _, warning := range c.Warnings {
			said = append(said, command.Note{Case: c.Name, Text: warning})
		}
	}
	lines = slices.Concat(lines, command.Fold(said), excluded(entry))
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, line := range lines {
		fmt.Fprintln(w, command.Wrap(line))
	}
}

// runsOf says how many intervals are from a single run.
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
	return []string{fmt.Sprintf("%s of cases with a single run: each assumes that runs differ by %.1f %%; another run on another day measures how much they differ",
		command.Plural(single, "interval"), 100*assumed)}
}

// excluded says which implementations did not compete. Those with the same reason share a line. The line names the cases
// unless it is about all cases of the implementation.
func excluded(entry *calibration.Host) []string {
	var out facts
	cases, of := map[string][]string{}, map[string]int{} // cases with an exclusion, by name and reason; number of all cases, by name
	for _, c := range entry.Cases {
		for _, i := range c.Implementations {
			of[i.Name]++
			if i.Excluded != "" {
				cases[i.Name+i.Excluded] = append(cases[i.Name+i.Excluded], c.Name)
			}
		}
	}
	for _, c := range entry.Cases {
		for _, i := range c.Implementations {
			in := cases[i.Name+i.Excluded]
			if i.Excluded == "" || in[0] != c.Name {
				continue
			}
			name := i.Name
			if len(in) < of[i.Name] {
				name += " in " + command.Few(in, ", ")
			}
			out.add(name, i.Excluded)
		}
	}
	var lines []string
	for _, reason := range out.said {
		lines = append(lines, fmt.Sprintf("%s did not compete: %s", strings.Join(out.names[reason], ", "), reason))
	}
	return lines
}
