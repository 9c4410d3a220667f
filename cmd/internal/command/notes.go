package command

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Note is a remark about a case that does not fit into its row of a table.
type Note struct{ Case, Text string }

// Fold returns notes in few lines. A remark about several cases is one line, with the number of cases and the names of the
// first. Numbers that differ between the cases become a range. Lines are in the order of their first notes.
func Fold(notes []Note) []string {
	var kinds []string
	alike := map[string][]Note{}
	for _, n := range notes {
		kind := n.kind()
		if alike[kind] == nil {
			kinds = append(kinds, kind)
		}
		alike[kind] = append(alike[kind], n)
	}
	var lines []string
	for _, kind := range kinds {
		lines = append(lines, fold(alike[kind])...)
	}
	return lines
}

// theme is a kind of note with details that differ from case to case.
type theme struct {
	pattern *regexp.Regexp // of the text
	says    string         // of all cases
	detail  func(groups []string) string
	fold    func(notes []Note, details []string) string
}

var themes = []theme{
	{
		pattern: regexp.MustCompile(`^(\S+) was not timed above .+?: it (?:falls|would be) .*$`),
		says:    "far behind the best, and so not timed at the largest sizes",
		detail:  func(g []string) string { return g[1] },
		fold:    byDetail,
	},
	{
		pattern: regexp.MustCompile(`^from (\d+) to (\d+) (\S+) may be faster than \S+: it depends on the state of the machine$`),
		says:    "it depends on the state of the machine whether another one is faster",
		detail: func(g []string) string {
			if g[1] == g[2] {
				return g[3] + " at " + grouped(g[1])
			}
			return g[3] + " from " + grouped(g[1]) + " to " + grouped(g[2])
		},
		fold: byCase,
	},
	{
		pattern: regexp.MustCompile(`^stopped at (\d*)(.+?): a visit to .+? would take about \S+ s \(a larger --budget goes further\)$`),
		says:    "stopped early, because visits to larger sizes would take too long (a larger --budget goes further)",
		detail:  func(g []string) string { return "at " + grouped(g[1]) + g[2] },
		fold:    byCase,
	},
}

// grouped writes the digits of a size in the form of Thousands.
func grouped(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return digits
	}
	return Thousands(n)
}

func (n *Note) theme() *theme {
	k := slices.IndexFunc(themes, func(t theme) bool { return t.pattern.MatchString(n.Text) })
	if k < 0 {
		return nil
	}
	return &themes[k]
}

// mostNumbers is the greatest number of numbers in a text that are turned into ranges. A reader would not believe more.
const mostNumbers = 3

// kind is equal for notes that become one line: notes of one theme, and notes that differ only in a few numbers.
func (n *Note) kind() string {
	if t := n.theme(); t != nil {
		return t.says
	}
	words, numbers := strings.Split(n.Text, " "), 0
	for k, word := range words {
		if m := number.FindStringSubmatch(word); m != nil {
			words[k] = m[1] + "#" + m[3]
			numbers++
		}
	}
	if numbers > mostNumbers {
		return n.Text
	}
	return strings.Join(words, " ")
}

// number matches a word with a number: what stands before the number, the number, and what stands behind it.
var number = regexp.MustCompile(`^(\(?)(\d+(?:\.\d+)?)([,;:)]*)$`)

// fold returns the lines of notes of one kind: a single line, or several lines of a single case.
func fold(notes []Note) []string {
	if t := notes[0].theme(); t != nil {
		var details []string
		for _, n := range notes {
			details = append(details, t.detail(t.pattern.FindStringSubmatch(n.Text)))
		}
		return []string{t.says + ": " + t.fold(notes, details)}
	}
	if names := cases(notes); len(names) > 1 {
		return []string{fmt.Sprintf("%s: %s (%s)", Plural(len(names), "case"), ranged(notes), Few(names, ", "))}
	}
	var lines []string
	for _, n := range notes {
		if line := n.Case + ": " + n.Text; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// cases returns the names of the cases of notes, each once.
func cases(notes []Note) []string {
	var names []string
	for _, n := range notes {
		if !slices.Contains(names, n.Case) {
			names = append(names, n.Case)
		}
	}
	return names
}

// mostDetails is the greatest number of cases with details in a line.
const mostDetails = 6

// byCase lists the cases with their details.
func byCase(notes []Note, details []string) string {
	var items []string
	for k, n := range notes {
		items = append(items, fmt.Sprintf("%s (%s)", n.Case, details[k]))
	}
	return fewOf(mostDetails, items, ", ")
}

// byDetail lists the details, the most frequent first, with the number of their cases, or the name of a single case.
func byDetail(notes []Note, details []string) string {
	of := map[string][]string{}
	var items []string
	for k, detail := range details {
		if of[detail] == nil {
			items = append(items, detail)
		}
		of[detail] = append(of[detail], notes[k].Case)
	}
	slices.SortStableFunc(items, func(a, b string) int { return len(of[b]) - len(of[a]) })
	for k, item := range items {
		if named := of[item]; len(named) == 1 {
			items[k] += " in " + named[0]
		} else {
			items[k] += fmt.Sprintf(" in %d cases", len(named))
		}
	}
	return strings.Join(items, ", ")
}

// ranged returns the text of notes that differ only in numbers, with ranges of those numbers: "took 1.1 to 1.4 times".
func ranged(notes []Note) string {
	words := strings.Split(notes[0].Text, " ")
	for k := range words {
		var numbers []string
		for _, n := range notes {
			numbers = append(numbers, number.ReplaceAllString(strings.Split(n.Text, " ")[k], "$2"))
		}
		slices.SortFunc(numbers, func(a, b string) int { return cmp.Compare(value(a), value(b)) })
		if least, most := numbers[0], numbers[len(numbers)-1]; least != most {
			words[k] = number.ReplaceAllString(words[k], "${1}"+least+" to "+most+"$3")
		}
	}
	return strings.Join(words, " ")
}

// value returns the value of a number, and 0 for any other word.
func value(word string) float64 {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0
	}
	return v
}
