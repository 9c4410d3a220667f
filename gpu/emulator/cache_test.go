//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// files returns the paths of what a cache keeps.
func files(t *testing.T, c cache) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(string(c), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCacheMakesAFileOnce(t *testing.T) {
	c := cache(t.TempDir())
	made := 0
	get := func(parts ...any) (content string) {
		t.Helper()
		build := func(path string) error { made++; return os.WriteFile(path, []byte("whole"), 0o600) }
		use := func(path string) error {
			data, err := os.ReadFile(path)
			if content = string(data); err == nil && content != "whole" {
				err = errors.New("damaged")
			}
			return err
		}
		if err := c.file(build, use, parts...); err != nil {
			t.Fatal(err)
		}
		return content
	}
	for i, step := range []struct {
		parts []any
		made  int
	}{
		{[]any{"a", "b"}, 1},
		{[]any{"a", "b"}, 1},
		{[]any{"a b"}, 2},
		{[]any{`a" "b`}, 3},
		{[]any{"a", "b"}, 3},
	} {
		if get(step.parts...); made != step.made {
			t.Fatalf("step %d: %d files made, want %d", i, made, step.made)
		}
	}
	if err := os.WriteFile(files(t, c)[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if get("a", "b") != "whole" || get("a b") != "whole" || get(`a" "b`) != "whole" {
			t.Error("a damaged file is used")
		}
	}
	if made != 4 || len(files(t, c)) != 3 {
		t.Errorf("%d files made after one was damaged, and %d are kept; want 4 and 3", made, len(files(t, c)))
	}

	failed := errors.New("failed")
	if err := c.file(func(string) error { return failed }, func(string) error { return nil }, "c"); err != failed || len(files(t, c)) != 3 {
		t.Errorf("%v, and %d files are kept", err, len(files(t, c)))
	}
	c = "" // keeps nothing
	if get("a", "b"); made != 5 {
		t.Errorf("%d files made without a folder, want 5", made)
	}
}

func TestCacheForgetsWhatNobodyUses(t *testing.T) {
	c := cache(t.TempDir())
	use := func(string) error { return nil }
	build := func(path string) error { return os.WriteFile(path, nil, 0o600) }
	for _, part := range []string{"used", "unused"} {
		if err := c.file(build, use, part); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * kept)
	for _, path := range files(t, c) {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.file(build, use, "used"); err != nil {
		t.Fatal(err)
	}
	c.trim(time.Now())
	if n := len(files(t, c)); n != 1 {
		t.Errorf("%d files are left, want the one in use", n)
	}
}

// A text that is kept needs no compiler. A text, macro, runtime or compiler that differs needs one.
func TestEveryPartOfATextCounts(t *testing.T) {
	found, err := findCompiler()
	if err != nil {
		t.Skip(err)
	}
	folder := cache(t.TempDir())
	src := gpu.Source{Name: "kept.metal", Text: "kernel void k(device float* y [[buffer(0)]]) { y[0] = N; }"}
	build := func(c compiler, src gpu.Source) error {
		c.cache = folder
		functions, err := msl.Parse(src.Text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.build(src, functions)
		return err
	}
	if err := build(*found, src.Define("N", 1)); err != nil {
		t.Fatal(err)
	}
	absent := *found
	absent.path = filepath.Join(t.TempDir(), "none")
	if err := build(absent, src.Define("N", 1)); err != nil {
		t.Errorf("a text that is kept is compiled: %v", err)
	}
	other, newer := src, absent
	other.Text += "\n"
	newer.version += "1"
	for name, err := range map[string]error{
		"macro":    build(absent, src.Define("N", 2)),
		"text":     build(absent, other.Define("N", 1)),
		"compiler": build(newer, src.Define("N", 1)),
	} {
		if err == nil {
			t.Errorf("what was made with another %s is used", name)
		}
	}
	defer func(text string) { runtimeText = text }(runtimeText)
	runtimeText += "\n"
	if build(absent, src.Define("N", 1)) == nil {
		t.Error("what was made with another runtime is used")
	}
}
