package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module of a few files is checked. Each mistake is one that go vet sees on neither of the other platforms.
func TestMistakes(t *testing.T) {
	good := map[string]string{
		"go.mod":          "module planted\n\ngo 1.26\n",
		"a.go":            "package planted\n\nfunc f() int { return g() }\n",
		"a_amd64.go":      "package planted\n\nfunc g() int { return fast }\n\nconst fast = 2\n",
		"a_other.go":      "//go:build !amd64\n\npackage planted\n\nfunc g() int { return 1 }\n",
		"b_linux.go":      "package planted\n\nvar b = f()\n",
		"c_test.go":       "package planted\n\nvar _ = f()\n",
		"d/d.go":          "package d\n\nfunc D() {}\n",
		"d/x_test.go":     "package d_test\n\nimport \"planted/d\"\n\nvar _ = d.D\n",
		"e/e_amd64.go":    "package e\n\nfunc E()\n",
		"e/e_amd64.s":     "TEXT ·E(SB), 4, $0-0\n\tRET\n",
		"e/e_portable.go": "//go:build !amd64\n\npackage e\n\nfunc E() {}\n",
	}
	for name, mistake := range map[string]struct{ file, text, want string }{
		"none":                           {"b_linux.go", good["b_linux.go"], ""},
		"a name of another processor":    {"b_linux.go", "package planted\n\nvar b = fast\n", "undefined: fast"},
		"the same in a test":             {"c_linux_test.go", "package planted\n\nvar c = fast\n", "undefined: fast"},
		"a mistake in an external test":  {"d/y_test.go", "package d_test\n\nimport \"planted/d\"\n\nvar _ int = d.D()\n", "d.D() (no value) used as value"},
		"a function of another's":        {"e/e_linux.go", "package e\n\nfunc Other()\n", "function Other has no body"},
		"a type that is never completed": {"b_linux.go", "package planted\n\nvar b string = f()\n", "cannot use f()"},
		"a file for this platform alone": {"h_linux_arm64.go", "package planted\n", "h_linux_arm64.go is for linux/arm64 alone"},
		"such a file of tests":           {"h_linux_arm64_test.go", "package planted\n", "is for linux/arm64 alone"},
		"such a file by its constraint":  {"h.go", "//go:build linux && !amd64\n\npackage planted\n", "h.go is for linux/arm64 alone"},
		"an import that is nowhere":      {"b_linux.go", "package planted\n\nimport \"planted/nowhere\"\n\nvar b = nowhere.F()\n", "go list"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range good {
				write(file, text)
			}
			write(mistake.file, mistake.text)
			t.Chdir(dir)
			err := run([]string{"linux/arm64", "linux/amd64", "darwin/arm64"})
			if (err != nil) != (mistake.want != "") || err != nil && !strings.Contains(err.Error(), mistake.want) {
				t.Errorf("%v, want %q", err, mistake.want)
			}
		})
	}
	for _, args := range [][]string{nil, {"linux/arm64"}, {"linux", "linux/amd64"}} {
		if run(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
