package command

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 120)
	for name, c := range map[string]struct{ line, want string }{
		"short":    {"a b", "a b"},
		"nothing":  {"", ""},
		"exactly":  {strings.Repeat("µ", 98) + " a", strings.Repeat("µ", 98) + " a"},
		"one more": {strings.Repeat("µ", 98) + " ab", strings.Repeat("µ", 98) + "\n  ab"},
		"a number": {strings.Repeat("a", 93) + " 1 048 576 samples", strings.Repeat("a", 93) + "\n  1 048 576 samples"},
		"indented": {"  " + strings.Repeat("a", 97) + " b", "  " + strings.Repeat("a", 97) + "\n    b"},
		"spaces":   {"a  b  ", "a  b"},
		"too wide": {"a " + long + " b", "a\n  " + long + "\n  b"},
	} {
		got := Wrap(c.line)
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if utf8.RuneCountInString(line) > Columns && !strings.Contains(line, long) {
				t.Errorf("%s: %d columns", name, utf8.RuneCountInString(line))
			}
		}
	}
}
