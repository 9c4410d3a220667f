package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns is how wide what a command prints may be.
const Columns = 100

// Wrap breaks a line that is wider than Columns at its spaces. What follows the first line is indented by two columns. A
// number is not parted from what stands behind it, which is its next three digits or its unit; a word that is too wide for
// a line has one of its own.
func Wrap(line string) string {
	const indent = "  "
	var out strings.Builder
	width := 0
	for n, word := range unbroken(line) {
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

// unbroken parts a line at the spaces at which it may be broken.
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
