package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crossover/cmd/internal/command"
	"crossover/harness"
)

// If the samples of the cases that stay are gone, a run over some cases is refused before it measures anything.
func TestMissingSamplesAreFoundBeforeMeasuring(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	if err := os.RemoveAll(f.data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part []string
		want string
	}{
		{[]string{"--ops", "^fft"}, "holds 1 case of this host that stays, and its samples are not in "},
		{[]string{"--shape", "softmax/rows=3,columns=100"}, "holds 2 cases of this host that stay, and their samples are not in "},
	} {
		m := withSoftmax(2)
		before := m.Now()
		_, stderr, code := calibrateOn(t, m, f.args(c.part...)...)
		if code == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %q", c.part, code, stderr)
		}
		if spent := m.Now() - before; spent.Seconds() > 0.5 {
			t.Errorf("%q: %v were spent before the refusal", c.part, spent)
		}
	}
}

// A damaged entry beside the samples of the cases that stay is named, because the samples themselves are where they were.
func TestADamagedEntryBesideSamplesIsNamed(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args("--quick")...)
	path := filepath.Join(f.run(t), harness.EntryFile)
	if err := os.WriteFile(path, []byte("\x1f\x8bdamaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, f.root)
	_, stderr, code := calibrateOn(t, twoCases(2), f.args("--ops", "^fft")...)
	if code != command.ExitFailed || !strings.Contains(stderr, "holds 1 case of this host that stays, and its samples cannot be read: "+path+": ") ||
		!strings.HasSuffix(stderr, "calibrate again), or write elsewhere (-o FILE)\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, %q", code, stderr)
	}
	// A run of all cases would forget what the damaged folder holds.
	_, stderr, code = calibrateOn(t, twoCases(2), f.args()...)
	if code != command.ExitFailed || !strings.Contains(stderr, path+": ") || !strings.HasSuffix(stderr, "or write elsewhere (-o FILE)\n") {
		t.Errorf("all cases: exit %d, %q", code, stderr)
	}
	sameTree(t, before, tree(t, f.root))
	if _, stderr, code = calibrateOn(t, twoCases(2), f.args("--quick", "--fresh")...); code != 0 {
		t.Errorf("--fresh: exit %d, %q", code, stderr)
	}
}
