package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/thresholds"
)

// table prints the cases with their verdicts, and the segments below each case. fits has the times of the choices.
func table(w io.Writer, entry *calibration.Host, fits map[string]thresholds.Result) {
	if note := simulatedNote(entry); note != "" {
		fmt.Fprintln(w, command.Wrap(strings.TrimSuffix(note, "\n")))
	}
	fmt.Fprintf(w, "%s\n\n", command.Wrap(fmt.Sprintf("%s · %s/%s · %s · %s · %.0f s · seed %d", entry.ID, entry.Environment.OS,
		entry.Facts.Architecture, entry.Environment.Go, methodName(&entry.Method), entry.Method.SpentSeconds, entry.Method.Seed)))
	if len(entry.Cases) > 0 {
		casesTable(w, entry, fits)
	}
	shapesTable(w, entry)
	byCallsTable(w, entry)
}

// casesTable prints the cases with their verdicts, and their segments.
func casesTable(w io.Writer, entry *calibration.Host, fits map[string]thresholds.Result) {
	segments := [][]string{{"FROM", "95 % INTERVAL", "IMPLEMENTATION", callHeading, nextHeading}}
	for k := range entry.Cases {
		fit := fits[entry.Cases[k].Name]
		for n := range entry.Cases[k].Segments {
			segments = append(segments, segmentCells(&entry.Cases[k], n, &fit))
		}
	}
	beneath := command.Align(segments, 0)
	cases := caseLines(entry, indent+column(beneath[0], callHeading))
	write := func(c int, segments []string) {
		fmt.Fprintln(w, cases[c])
		for _, s := range segments {
			fmt.Fprintf(w, "%*s%s\n", indent, "", s)
		}
	}
	write(0, beneath[:1])
	next := 1
	for k, c := range entry.Cases {
		if k > 0 && c.Operation != entry.Cases[k-1].Operation {
			fmt.Fprintln(w)
		}
		write(1+k, beneath[next:next+len(c.Segments)])
		next += len(c.Segments)
	}
	fmt.Fprint(w, legend)
}

const (
	callHeading = "A CALL TAKES"
	nextHeading = "NEXT BEST TAKES"
	indent      = 4 // of a segment below its case

	legend = `
A CALL TAKES is the time at the least measured size of the segment, and at the greatest.
NEXT BEST TAKES says how many times as long the best other implementation takes: below 1, it is
  faster at some size. It is empty where no other one was timed.
An interval of one size is mostly the size from which on calls are divided among the cores.
REGRET is how much longer calls take by these choices than by the best ones. Some timings make the
  choices, and others judge them.
AT MOST is the upper bound of the regret, with 95 % confidence. A question mark stands where there
  are too few timings.
`
)

// column returns the column at which a word begins in a line.
func column(line, word string) int {
	before, _, _ := strings.Cut(line, word)
	return utf8.RuneCountInString(before)
}

// lastVerdicts is the greatest column of the verdicts that leaves room for the columns after them.
const lastVerdicts = command.Columns - len("crossover, degraded    REGRET  AT MOST")

// caseLines returns the heading of the cases and a line for each. The verdicts begin at the column verdicts, unless names
// are longer.
func caseLines(entry *calibration.Host, verdicts int) []string {
	rows := [][]string{{"CASE, MEASURED SIZES", "VERDICT", "REGRET", "AT MOST"}}
	for k := range entry.Cases {
		c := &entry.Cases[k]
		verdict := verdictOf(c)
		if c.Degraded {
			verdict += ", degraded"
		}
		mean, most := regretOf(c)
		rows = append(rows, []string{c.Name + ", " + sizesOf(c.Axis), verdict, mean, most})
	}
	// A name that leaves no room for the other columns stands on a line of its own, above them.
	above := make([]string, len(rows))
	for k := range rows {
		if utf8.RuneCountInString(rows[k][0]) > lastVerdicts-2 {
			above[k], rows[k][0] = rows[k][0]+"\n", ""
		}
	}
	rows[0][0] = fmt.Sprintf("%*s", 2-min(verdicts, lastVerdicts), rows[0][0])
	lines := command.Align(rows, 2, 3)
	for k := range lines {
		lines[k] = above[k] + lines[k]
	}
	return lines
}

// verdictOf returns the verdict of a case as the table has it. What was found at one size or two says little of the others, so
// their number stands in place of a verdict.
func verdictOf(c *calibration.Case) string {
	if few := c.Few(); few != "" && c.Verdict != calibration.Unresolved {
		return few
	}
	return string(c.Verdict)
}

// sizesOf names the sizes that were measured of an axis.
func sizesOf(a calibration.Axis) string {
	if a.From == a.To {
		return command.Thousands(a.From) + " " + calibration.UnitOf(a.From, a.Unit)
	}
	return fmt.Sprintf("%s to %s %s", command.Thousands(a.From), command.Thousands(a.To), a.Unit)
}

// segmentCells returns the row of a case's n-th segment.
func segmentCells(c *calibration.Case, n int, fit *thresholds.Result) []string {
	s, interval, call, gain := &c.Segments[n], "", "", ""
	if s.Interval != nil {
		interval = command.Thousands(s.Interval.Low) + " – " + command.Thousands(s.Interval.High)
	}
	if n < len(fit.Segments) {
		stakes := fit.Stakes(n)
		call, gain = command.TimeRange(stakes.First, stakes.Last), leadOf(stakes.Least, stakes.Most)
	}
	return []string{command.Thousands(s.From), interval, s.Implementation, call, gain}
}

// regretOf returns the regret of a case's choices and its upper bound, as text.
func regretOf(c *calibration.Case) (mean, most string) {
	if len(c.Segments) == 0 {
		return "", ""
	}
	if c.Regret == nil {
		return "?", "?"
	}
	most = "?"
	if c.Regret.Upper != nil {
		most = percent(*c.Regret.Upper)
	}
	return percent(c.Regret.Mean), most
}

// percent writes a share in percent with one decimal, without a negative zero.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", math.Round(1000*share)/10+0) }

// leadOf writes how many times as long the next best one takes: "1.0–3.2×". It writes nothing for none.
func leadOf(from, to float64) string {
	if to == 0 {
		return ""
	}
	least, most := times(from), times(to)
	if least == most {
		return least + "×"
	}
	return least + "–" + most + "×"
}

// times writes a factor with few digits.
func times(factor float64) string {
	switch {
	case factor < 0.95:
		return fmt.Sprintf("%.2f", factor)
	case factor < 9.95:
		return fmt.Sprintf("%.1f", factor)
	}
	return command.Thousands(int(math.Round(factor)))
}
