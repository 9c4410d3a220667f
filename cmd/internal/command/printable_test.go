package command

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"case\tverdict\nfft/batch=1 · 3 µs – ×2": "case\tverdict\nfft/batch=1 · 3 µs – ×2",
		"\x1b[2Jgone":     "?[2Jgone",
		"\x1b]0;title\a":  "?]0;title?",
		"one\rother":      "one?other",
		"\u009b31mred":    "?31mred",
		"\x7f\x00\b":      "???",
		"Â, as in Ângela": "Â, as in Ângela",
	} {
		var out strings.Builder
		if n, err := (printable{&out}).Write([]byte(text)); n != len(text) || err != nil || out.String() != want {
			t.Errorf("%q: wrote %q, %d, %v; want %q", text, out.String(), n, err, want)
		}
	}
	if raw(printable{os.Stderr}) != os.Stderr {
		t.Error("a terminal is no terminal any more")
	}
}

func TestExitBoundsTheError(t *testing.T) {
	for _, letter := range []string{"x", "µ", "\x1b"} {
		var out strings.Builder
		Exit(&out, "verify", errors.New("begins "+strings.Repeat(letter, 1<<20)+" ends"))
		line := out.String()
		if len(line) > longestError+100 || !strings.HasPrefix(line, "verify: begins") || !strings.HasSuffix(line, " ends\n") ||
			strings.ContainsAny(line, "\x1b\uFFFD") {
			t.Errorf("%q: %d bytes, %.80q", letter, len(line), line)
		}
	}
}
