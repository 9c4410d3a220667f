package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns is the greatest width of a line that a command prints.
const Columns = 100

// Wrap breaks a line that is wider than Columns at its spaces. Further lines are indented by two columns more than the
// first. There is no break after a digit, so that a number stays with its next three digits or its unit. A word that is too
// wide for a line gets a line of its own.
func Wrap(line string) string {
	text := strings.TrimLeft(line, " ")
	width := len(line) - len(text) // number of spaces before the text
	text = strings.TrimRight(text, " ")
	indent := strings.Repeat(" ", width+2)
	var out strings.Builder
	out.WriteString(indent[2:])
	for n, word := range unbroken(text) {
		w := utf8.RuneCountInString(word)
		switch {
		case n == 0:
		case width+1+w <= Columns:
			out.WriteByte(' ')
			width++
		default:
			out.WriteString("\n" + indent)
			width = len(indent)
		}
		out.WriteString(word)
		width += w
	}
	return out.String()
}

// unbroken splits a line at the spaces at which it may be broken.
func unbroken(line string) []string {
	var parts []string
	for word := range strings.SplitSeq(line, " ") {
		if n := len(parts); n > 0 && endsInDigit(parts[n-1]) {
			parts[n-1] += " " + word
			continue
		}
		parts = append(parts, word)
	}
	return parts
}

func endsInDigit(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(word)
	return unicode.IsDigit(last)
}

// Align returns the lines of a table, with two spaces between cells. The columns of right are aligned to the right, and the
// others to the left.
func Align(rows [][]string, right ...int) []string {
	var widths []int
	for _, row := range rows {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		cells := make([]string, len(row))
		for k, cell := range row {
			width := -widths[k]
			if slices.Contains(right, k) {
				width = widths[k]
			}
			cells[k] = fmt.Sprintf("%*s", width, cell)
		}
		lines[n] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return lines
}

// TimeRange writes two times in seconds with two or three digits: "1.2 – 31 µs". It returns "" if first is 0, which means
// not known.
func TimeRange(first, last float64) string {
	if first == 0 {
		return ""
	}
	from, unit := scaled(first)
	to, toUnit := scaled(last)
	switch {
	case unit == toUnit && from == to:
		return from + " " + unit
	case unit == toUnit:
		return from + " – " + to + " " + unit
	}
	return from + " " + unit + " – " + to + " " + toUnit
}

// scaled writes a time in seconds in the unit that gives one to three digits before the point.
func scaled(seconds float64) (digits, unit string) {
	units := []string{"s", "ms", "µs", "ns"}
	value := seconds
	for value < 0.9995 && len(units) > 1 {
		value, units = 1000*value, units[1:]
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f", value), units[0]
	}
	return fmt.Sprintf("%.0f", value), units[0]
}

// Time writes a time in seconds with three digits: "1.23 ms". Its unit is such that one to three digits are before the point.
func Time(seconds float64) string {
	units := []string{"s", "ms", "µs", "ns"}
	value := seconds
	for value < 0.9995 && len(units) > 1 {
		value, units = 1000*value, units[1:]
	}
	digits := 0
	switch {
	case value < 9.995:
		digits = 2
	case value < 99.95:
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + units[0]
}
