//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

var quotedInclude = regexp.MustCompile(`(?m)^#include "(.*)"$`)

// alone returns a text as a compiler reads it from its file, other files in the place of the lines that include them.
func alone(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return quotedInclude.ReplaceAllStringFunc(string(text), func(line string) string {
		return alone(t, filepath.Join(filepath.Dir(path), quotedInclude.FindStringSubmatch(line)[1]))
	})
}

// Where there is Metal's own compiler it takes the files one by one, without a program that specialises them, so that
// every text has to have values for its macros. Here they are held against the prelude, whatever they would compile to.
func TestTextsCompileAlone(t *testing.T) {
	c, err := findCompiler()
	if err != nil {
		t.Skip(err)
	}
	var paths []string
	err = filepath.WalkDir("../../kernels", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".metal") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("no texts found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(path, "../../kernels/"), "/", ","), func(t *testing.T) {
			t.Parallel()
			text := alone(t, path)
			functions, err := msl.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			translated, err := translate(gpu.Source{Name: filepath.Base(path), Text: text}, functions)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "metal_stdlib"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if log, err := c.compile(translated, dir, "kernels.cpp", filepath.Join(dir, "none"), []string{"-fsyntax-only", "-Werror=undef"}); err != nil {
				t.Error(firstLine(log, err))
			}
		})
	}
}
