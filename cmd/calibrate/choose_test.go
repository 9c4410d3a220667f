package main

import (
	"strings"
	"testing"

	"crossover/cmd/internal/command"
)

func TestChoose(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := tree(t, f.root)
	for size, want := range map[string]string{"64": "a", "1000000": "b"} {
		stdout, stderr, code := calibrateOn(t, twoCases(1), "-o", f.file, "--choose", "fft/batch=1", size)
		chosen, why, _ := strings.Cut(stdout, "\n")
		if code != 0 || chosen != want || !strings.Contains(why, "fft/batch=1 at "+size) || stderr != "" {
			t.Errorf("%s: exit %d, %q, %q", size, code, stdout, stderr)
		}
	}
	for _, wrong := range [][]string{
		{"--choose", "fft/batch=1"}, {"--choose", "fft/batch=1", "0"}, {"--choose", "fft/batch=1", "4k"}, {"--choose", "", "4"},
		{"--choose", "fft/batch=1", "4", "5"}, {"--choose", "no-such", "4"}, {"--choose", "fft/batch=1", "4", "--budget", "2s"},
	} {
		if _, stderr, code := calibrateOn(t, twoCases(1), append(wrong, "-o", f.file)...); code != command.ExitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", wrong, code, stderr)
		}
	}
	sameTree(t, before, tree(t, f.root))
}
