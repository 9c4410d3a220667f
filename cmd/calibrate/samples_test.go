package main

import (
	"os"
	"strings"
	"testing"
)

// If the samples of the cases that stay are gone, a run over some cases is refused before it measures anything.
func TestMissingSamplesAreFoundBeforeMeasuring(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	if err := os.RemoveAll(f.data); err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]string{{"--ops", "^fft"}, {"--shape", "softmax/rows=3,columns=100"}} {
		m := withSoftmax(2)
		before := m.Now()
		_, stderr, code := calibrateOn(t, m, f.args(part...)...)
		if code == 0 || !strings.Contains(stderr, "their samples are not in") {
			t.Errorf("%q: exit %d, %q", part, code, stderr)
		}
		if spent := m.Now() - before; spent.Seconds() > 0.5 {
			t.Errorf("%q: %v were spent before the refusal", part, spent)
		}
	}
}
