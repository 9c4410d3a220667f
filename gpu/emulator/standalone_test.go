//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// Metal's own compiler takes the files one by one, without a program that defines their macros. So every text must
// define its macros itself. This test compiles the texts in the same way, with the emulator's prelude.
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
			text, err := msl.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
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
