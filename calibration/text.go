package calibration

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostText is the greatest number of characters in a text for people, such as a warning or the name of a chip. Longer texts
// are cut.
const MostText = 2000

// mostQuoted is the greatest number of characters of a file's text in an error.
const mostQuoted = 80

// cut returns the first characters of a text, with an ellipsis if there are more.
func cut(s string, most int) string {
	characters := 0
	for i := range s {
		if characters == most {
			return s[:i] + "…"
		}
		characters++
	}
	return s
}

// quoted returns a text for an error. Control characters are escaped, and a long text is cut.
func quoted(s string) string { return strconv.Quote(cut(s, mostQuoted)) }

// clean makes a text for people one line without terminal commands.
func clean(s *string) {
	if !utf8.ValidString(*s) || strings.ContainsFunc(*s, unicode.IsControl) {
		*s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, *s)
	}
	if len(*s) > MostText {
		*s = cut(*s, MostText-1)
	}
}

// cleaned returns a copy with every text clean.
func cleaned(texts []string) []string {
	texts = copied(texts)
	for i := range texts {
		clean(&texts[i])
	}
	return texts
}

// clean cleans the texts without other rules. It does not change arrays that the caller may share.
func (f *Facts) clean() {
	for _, s := range []*string{&f.Chip, &f.Family, &f.Architecture, &f.GPU, &f.Vendor, &f.CPUFamily, &f.CPUModel, &f.Stepping} {
		clean(s)
	}
	f.CoreKinds = slices.Clone(f.CoreKinds)
	for i := range f.CoreKinds {
		clean(&f.CoreKinds[i].Name)
	}
}

func (e *Environment) clean() {
	for _, s := range []*string{&e.OS, &e.OSVersion, &e.Driver, &e.UndrivenGPU, &e.Go, &e.ToolVersion, &e.ToolCommit} {
		clean(s)
	}
}
