package kept

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// files returns the paths of what a folder keeps.
func files(t *testing.T, c Folder) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(string(c), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestAFileIsMadeOnce(t *testing.T) {
	c := Folder(t.TempDir())
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
		if err := c.File(build, use, parts...); err != nil {
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
	if err := c.File(func(string) error { return failed }, func(string) error { return nil }, "c"); err != failed || len(files(t, c)) != 3 {
		t.Errorf("%v, and %d files are kept", err, len(files(t, c)))
	}
	c = "" // keeps nothing
	if get("a", "b"); made != 5 {
		t.Errorf("%d files made without a folder, want 5", made)
	}
}

func TestWhatNobodyUsesIsForgotten(t *testing.T) {
	c := Folder(t.TempDir())
	use := func(string) error { return nil }
	build := func(path string) error { return os.WriteFile(path, nil, 0o600) }
	for _, part := range []string{"used", "unused"} {
		if err := c.File(build, use, part); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * lifetime)
	for _, path := range files(t, c) {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.File(build, use, "used"); err != nil {
		t.Fatal(err)
	}
	c.trim(time.Now())
	if n := len(files(t, c)); n != 1 {
		t.Errorf("%d files are left, want the one in use", n)
	}
}
