package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/cmd/internal/command"
)

// recordOf is a file of shapes.
func recordOf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shapes.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The calls of a record decide. In truth b is the fastest from a work of ten thousand on, and the file says that it is from
// far less on.
func TestShapesByCalls(t *testing.T) {
	file := calibrated(t)
	shifted(file.Hosts[0].Operation("softmax", "caller"), 8)
	small := []string{"softmax/rows=1,columns=16 5000", "softmax/rows=2,columns=17 300", "softmax/rows=3,columns=30 200"}
	wrong := []string{"softmax/rows=30,columns=61 5000", "softmax/rows=20,columns=63 300", "softmax/rows=31,columns=59 200"}
	for name, c := range map[string]struct {
		lines   []string
		verdict string
		code    int
		regret  float64
	}{
		"right ones":          {small, "HOLDS", command.ExitOK, 0},
		"wrong ones":          {wrong, "DRIFTED", command.ExitDrifted, 2.6},
		"wrong ones, seldom":  {append(small, "softmax/rows=30,columns=61 1"), "HOLDS", command.ExitOK, 0},
		"right ones, as well": {append(wrong, small...), "DRIFTED", command.ExitDrifted, 0.9},
	} {
		r, code := verified(t, wide(2), file, "--ops", "^softmax", "--shapes", recordOf(t, c.lines...))
		if len(r.Operations) != 1 {
			t.Fatalf("%s: %d operations", name, len(r.Operations))
		}
		o := r.Operations[0]
		if o.Verdict != c.verdict || code != c.code || math.Abs(o.Regret-c.regret) > 0.3*c.regret+0.02 || o.Promised != nil || o.Calls < 5500 {
			t.Errorf("%s: exit %d, %s, regret %.3f by %d calls, promised %v", name, code, o.Verdict, o.Regret, o.Calls, o.Promised)
		}
		for _, s := range o.Shapes {
			if s.Shape[0] > 31 || s.Shape[1] > 63 {
				t.Errorf("%s: it measured %v", name, s.Shape)
			}
		}
	}
}

// Operations without calls are checked all over. What cannot be checked is left out, in one line.
func TestRecordOfOtherShapes(t *testing.T) {
	path := recordOf(t, "# a comment", "", "softmax/rows=7,columns=480", "log/n=100 30", "stft/n_fft=400,hop=160 9", "fft/n=441,batch=64 3")
	stdout, stderr, code := verifyOn(t, wide(2), "--calibration", save(t, calibrated(t)), "--seed", "1", "--budget", "12s", "--shapes", path)
	if code != command.ExitOK || strings.Count(stdout, "\n    shapes of the record, weighted by 1 call\n") != 1 ||
		!strings.Contains(stdout, "drawn from all over the operation, or those of the record.\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if want := "verify: warning: left out 3 shapes with 42 calls: log/n=100: only operations with several axes"; !strings.Contains(stderr, want) {
		t.Errorf("no %q in\n%s", want, stderr)
	}
}

// The table says that the shapes are the program's, and why nothing is said of some of them.
func TestTableOfARecord(t *testing.T) {
	path := recordOf(t, "softmax/rows=7,columns=480 20", "rms-norm/rows=3,columns=1000 7")
	stdout, _, code := verifyOn(t, wide(2), "--calibration", save(t, calibrated(t)), "--seed", "1", "--budget", "12s", "--shapes", path)
	if code != command.ExitOK || !strings.Contains(stdout, "\nThe shapes are those of the record, weighted by their calls.\n") || strings.Contains(stdout, "too few of") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	r := report{Operations: []shapesReport{
		{Name: "linear", Verdict: "AMBIGUOUS", degraded: true, Lower: new(0.3), Calls: 2, Least: 1, Shapes: []shapeReport{{}}},
		{Name: "stft", Verdict: "UNMEASURED", Calls: 3, Least: 1},
	}}
	var text strings.Builder
	r.writeShapes(&text)
	for _, want := range []string{
		"loses at least 30.0 %, but the machine was not quiet, which proves no drift\n",
		"too few of the called shapes were measured while the machine was quiet (a larger --budget): stft\n",
	} {
		if !strings.Contains(strings.ReplaceAll(text.String(), "\n  ", " "), want) || strings.Contains(text.String(), "want 8") {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// An operation of which the file predicts nothing is checked at the shapes that somebody asked for, without a record.
func TestAskedShapesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		times   []float64 // of a and b
		verdict string
		code    int
	}{
		"right":   {[]float64{1.6e-6, 16e-6}, "HOLDS", command.ExitOK},
		"swapped": {[]float64{16e-6, 1.6e-6}, "DRIFTED", command.ExitDrifted},
	} {
		file := calibrated(t)
		h := &file.Hosts[0]
		h.Operations = slices.DeleteFunc(h.Operations, func(o calibration.Operation) bool { return o.Name != "softmax" })
		o := &h.Operations[0]
		o.Surface = surface.Surface{Axes: o.Surface.Axes, Features: o.Surface.Features}
		o.HeldOut = calibration.HeldOut{}
		for columns := 50; columns < 90; columns += 10 {
			o.Asked = append(o.Asked, calibration.Asked{Shape: []int{3, columns}, Calls: 7, MedianSeconds: c.times})
		}
		r, code := verified(t, wide(2), file)
		if len(r.Operations) != 1 || code != c.code || r.Operations[0].Verdict != c.verdict || r.Operations[0].Calls != 28 || len(r.Operations[0].Shapes) != 4 {
			t.Errorf("%s: exit %d, %+v", name, code, r.Operations)
		}
		stdout, _, _ := verifyOn(t, wide(2), "--calibration", save(t, file), "--seed", "1", "--budget", "6s")
		for _, want := range []string{"\n    the shapes that calibrate was asked for, weighted by 28 calls\n", "\nThe shapes are those that calibrate was asked for, weighted by their calls.\n"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in\n%s", name, want, stdout)
			}
		}
	}
}

// A file of shapes that is wrong, or says nothing here, is an error of one line.
func TestBadRecords(t *testing.T) {
	file := save(t, calibrated(t))
	for name, c := range map[string]struct {
		path, says string
		code       int
	}{
		"no file":         {filepath.Join(t.TempDir(), "none"), "--shapes: ", command.ExitFailed},
		"nothing in it":   {recordOf(t, "# nothing"), "no shape in it (want lines such as", command.ExitUsage},
		"no operation":    {recordOf(t, "fht/n=1,batch=2"), ":1: \"fht/n=1,batch=2\": \"fht\" is not an operation", command.ExitUsage},
		"no axis":         {recordOf(t, "", "softmax/rows=1,lines=2"), ":2: \"softmax/rows=1,lines=2\": \"lines\" is not an axis", command.ExitUsage},
		"a size of 0":     {recordOf(t, "softmax/rows=0,columns=2"), "rows=0: want 1 to", command.ExitUsage},
		"a negative size": {recordOf(t, "softmax/rows=-4,columns=2"), "rows=-4: want 1 to", command.ExitUsage},
		"no count":        {recordOf(t, "softmax/rows=1,columns=2 many"), "is no count of calls", command.ExitUsage},
		"too much":        {recordOf(t, "softmax/rows=4611686018427387904,columns=4611686018427387904"), "is too much to be measured", command.ExitFailed},
		"not calibrated":  {recordOf(t, "matmul/m=2,k=3,n=4"), "no shape in it can be checked: matmul/m=2,k=3,n=4: ", command.ExitFailed},
	} {
		_, stderr, code := verifyOn(t, wide(2), "--calibration", file, "--shapes", c.path)
		if code != c.code || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want exit %d and one line with %q", name, code, stderr, c.code, c.says)
		}
	}
	_, stderr, code := verifyOn(t, truth(1), "--calibration", save(t, recorded(4000)), "--shapes", recordOf(t, "softmax/rows=1,columns=2"))
	if code != command.ExitFailed || !strings.Contains(stderr, "no shape in it can be checked") {
		t.Errorf("a file without operations: exit %d, %q", code, stderr)
	}
}
