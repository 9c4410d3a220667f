package emit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	wide  = regexp.MustCompile(`\b[YZ]\d`)
	small = regexp.MustCompile(`\bX\d`)
)

// No function of the kernels mixes instructions that know no upper halves of registers with ones that fill them, and none
// returns with filled ones.
func TestUpperHalves(t *testing.T) {
	texts := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_amd64.s") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts++
		for _, mistake := range mixed(string(text)) {
			t.Errorf("%s: %s", path, mistake)
		}
		return nil
	})
	if err != nil || texts < 10 {
		t.Fatalf("%d texts, error %v", texts, err)
	}
}

// TestMixed makes the mistakes that TestUpperHalves looks for.
func TestMixed(t *testing.T) {
	for text, want := range map[string]int{
		"TEXT f\nVADDPS Y0, Y1, Y1\nVZEROUPPER\nMOVSS X1, ret+16(FP)\nRET": 0,
		"TEXT f\nVADDPS Y0, Y1, Y1\nMOVSS X1, ret+16(FP)\nVZEROUPPER\nRET": 1,
		"TEXT f\nVADDPS Y0, Y1, Y1 // X1\nMOVQ AX, BX\nRET":                1,
		"TEXT f\nVADDPS Z0, Z1, Z1\nRET\nTEXT g\nMOVSS X1, X2\nRET":        1,
	} {
		if got := mixed(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// mixed returns the instructions of a text that come while the upper halves of registers are filled, and should not.
func mixed(text string) (mistakes []string) {
	filled := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		name, operands, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "TEXT", name == "VZEROUPPER":
			filled = false
		case strings.HasPrefix(name, "V"):
			filled = filled || wide.MatchString(operands)
		case filled && (name == "RET" || small.MatchString(operands)):
			mistakes = append(mistakes, strings.TrimSpace(line))
		}
	}
	return mistakes
}
