package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
	"crossover/sweeps"
)

// wide is a machine with two operations over rows and columns. b and d are slower than a and c up to a work of ten thousand.
func wide(seed uint64) *scripted.Machine {
	m := scripted.New(seed, 0.01)
	m.AddSpace("softmax", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(16e-6, 0.5e-9)})
	m.AddSpace("rms-norm", map[string]scripted.Cost{"c": scripted.Linear(1e-6, 2e-9), "d": scripted.Linear(16e-6, 0.5e-9)})
	return m
}

// wideFile is a file that a calibration on the machine made for this host, as its text.
var wideFile = sync.OnceValues(func() (string, error) {
	machine := wide(1).Command()
	facts, id := command.HostFacts()
	r := harness.NewRun(calibration.Host{
		ID: id, Facts: facts, Environment: calibration.Environment{Power: "unknown", Thermal: "unknown", Load: -1},
	}, machine.Cases(), harness.Options{Budget: 6 * time.Second, Seed: 1})
	r.Spaces = machine.Spaces()
	if err := r.Measure(context.Background(), machine.Machine); err != nil {
		return "", err
	}
	if err := r.Fit(context.Background()); err != nil {
		return "", err
	}
	var text strings.Builder
	file := calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{r.Entry}}
	_, err := file.WriteTo(&text)
	return text.String(), err
})

// calibrated returns a copy of wideFile.
func calibrated(t *testing.T) *calibration.File {
	t.Helper()
	text, err := wideFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "calibrated.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := calibration.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// swap gives two implementations of a surface each other's times.
func swap(o *calibration.Operation) {
	s := o.Surface.Implementations
	s[0].Name, s[1].Name = s[1].Name, s[0].Name
}

// shifted makes an implementation of a surface seem faster by a factor than it is.
func shifted(o *calibration.Operation, factor float64) {
	o.Surface.Implementations[1].Linear[0] -= math.Log(factor)
}

// verified returns the report of a verification for as long as one takes by default.
func verified(t *testing.T, m *scripted.Machine, file *calibration.File, args ...string) (r report, code int) {
	t.Helper()
	stdout, stderr, code := verifyOn(t, m, append([]string{"--calibration", save(t, file), "--seed", "1", "--json", "--budget", "12s"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: exit %d\n%s%s", err, code, stdout, stderr)
	}
	return r, code
}

// Who was not timed everywhere is said of shapes as it is of sizes. Where an operation ended early, its share of unknown shapes
// tells.
func TestWarningsOfShapes(t *testing.T) {
	const missing, failed = "fftw was not timed above n=480: it falls over 4 times behind the best", "cuda was timed up to n=9 only; at n=10 it failed: lost"
	check := &harness.ShapesCheck{Recorded: &calibration.Operation{}, Result: &sweeps.Result{
		Warnings: []string{missing, "stopped at n=500: a visit to n=501 would take about 9 s", failed, "degraded: other programs"},
	}}
	if got, want := shapesReportOf(check).Warnings, []string{missing, failed, "degraded: other programs"}; !slices.Equal(got, want) {
		t.Errorf("warnings are %q, want %q", got, want)
	}
}

// A file that holds passes, on any day.
func TestShapesHold(t *testing.T) {
	file := calibrated(t)
	for seed := range uint64(3) {
		r, code := verified(t, wide(10+seed), file)
		if code != command.ExitOK || len(r.Operations) != 2 {
			t.Fatalf("seed %d: exit %d with %d operations", seed, code, len(r.Operations))
		}
		for _, o := range r.Operations {
			if o.Verdict != "HOLDS" || o.Broken || o.Promised == nil || len(o.Shapes) < 20 || !(*o.Lower <= o.Regret && o.Regret <= *o.Upper) ||
				math.Abs(o.Regret) > 0.01 || o.Within < 0.9 || o.Unknown > 0 {
				t.Errorf("seed %d: %+v", seed, o)
			}
		}
	}
}

// The table has a line for each operation in the catalogue's order, with the worst shape beneath, in the width of a terminal.
func TestTableOfShapes(t *testing.T) {
	file := calibrated(t)
	swap(file.Hosts[0].Operation("rms-norm", "caller"))
	stdout, stderr, code := verifyOn(t, wide(2), "--calibration", save(t, file), "--seed", "1", "--budget", "12s")
	for _, want := range []string{
		"OPERATION, ALL SHAPES  VERDICT  SHAPES ", "\nsoftmax                HOLDS ", "\nrms-norm               DRIFTED ",
		"loses at least ", "worst at rows=", "the file takes ", "\nover all shapes: 1 HOLDS, 0 AMBIGUOUS, 1 DRIFTED, 0 UNMEASURED\n",
		"The shapes are fresh, and drawn from all over the operation.\n", "It takes 8 shapes to say\nsomething,", "regret is above 5 %, or above a tie", "regret is at most 5 %, and not above",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table has no %q", want)
		}
	}
	if strings.Index(stdout, "\nsoftmax  ") > strings.Index(stdout, "\nrms-norm  ") {
		t.Error("the operations are not in the catalogue's order")
	}
	if code != command.ExitDrifted || !strings.Contains(stderr, "does not hold for rms-norm over all shapes") || !strings.Contains(stderr, "2 operations over all shapes") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for line := range strings.Lines(stdout) {
		if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > command.Columns {
			t.Errorf("%d columns: %q", columns, line)
		}
	}
	if t.Failed() {
		t.Log(stdout)
	}
}

// A surface of two implementations that were swapped fails, and so does one that has drifted.
func TestPlantedMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		plant   func(o *calibration.Operation)
		verdict string
		broken  bool
		code    int
	}{
		"swapped":          {func(o *calibration.Operation) { swap(o) }, "DRIFTED", true, command.ExitDrifted},
		"off by a half":    {func(o *calibration.Operation) { shifted(o, 1.02) }, "HOLDS", false, command.ExitOK},
		"off by a factor":  {func(o *calibration.Operation) { shifted(o, 4) }, "DRIFTED", true, command.ExitDrifted},
		"promised so much": {func(o *calibration.Operation) { shifted(o, 4); o.HeldOut.RegretUpper = 9 }, "DRIFTED", false, command.ExitDrifted},
		"nothing promised": {func(o *calibration.Operation) { swap(o); o.HeldOut = calibration.HeldOut{} }, "DRIFTED", false, command.ExitDrifted},
	} {
		file := calibrated(t)
		o := file.Hosts[0].Operation("softmax", "caller")
		c.plant(o)
		r, code := verified(t, wide(2), file)
		found := r.Operations[1]
		if r.Operations[0].Name != "rms-norm" || r.Operations[0].Verdict != "HOLDS" {
			t.Fatalf("%s: %+v", name, r.Operations[0])
		}
		if found.Verdict != c.verdict || found.Broken != c.broken || code != c.code || (found.Promised == nil) != (o.HeldOut.Shapes == 0) {
			t.Errorf("%s: exit %d, %s, broken: %v, regret %v", name, code, found.Verdict, found.Broken, found.Regret)
		}
	}
}

// Nothing passes on a few shapes.
func TestTooFewShapes(t *testing.T) {
	file := calibrated(t)
	slow := wide(2)
	slow.Slower = func(time.Duration) float64 { return 20 }
	stdout, stderr, code := verifyOn(t, slow, "--calibration", save(t, file), "--seed", "1", "--budget", "1s")
	if code != command.ExitTooLittle || strings.Count(stdout, "too few shapes to say something (want 8: a larger --budget): softmax, rms-norm") != 1 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	r := report{Operations: []shapesReport{{Name: "a", Verdict: "HOLDS"}, {Name: "b", Verdict: "UNMEASURED"}}}
	if err := r.verdict("file"); command.Exit(new(bytes.Buffer), "verify", err) != command.ExitTooLittle || !strings.Contains(err.Error(), "the shapes of b (") {
		t.Errorf("%v", err)
	}
	for range 3 {
		r.Operations = append(r.Operations, shapesReport{Name: "c", Verdict: "AMBIGUOUS"})
	}
	if err := r.verdict("file"); err != nil {
		t.Errorf("one operation of five: %v", err)
	}
}

// A file without operations, as one of version 1.0, is verified as before.
func TestWithoutOperations(t *testing.T) {
	file := recorded(4000)
	file.SchemaVersion = "1.0"
	m := truth(1)
	m.AddSpace("softmax", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9)})
	stdout, stderr, code := verifyOn(t, m, "--calibration", save(t, file), "--seed", "1", "--budget", "12s")
	if code != command.ExitOK || strings.Contains(stdout+stderr, "shapes") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// Of what the file has and this program cannot check, the reason is said. --ops leaves operations out.
func TestSkippedOperations(t *testing.T) {
	file := calibrated(t)
	r, code := verified(t, wide(2), file, "--ops", "^softmax")
	if code != 0 || len(r.Operations) != 1 || r.Operations[0].Name != "softmax" || len(r.Skipped) > 0 {
		t.Errorf("exit %d, %d operations, skipped %q", code, len(r.Operations), r.Skipped)
	}
	for name, c := range map[string]struct {
		change func(o *calibration.Operation)
		says   string
	}{
		"other axes": {func(o *calibration.Operation) {
			o.Axes[0].Name, o.Surface.Axes[0] = "lines", "lines"
		}, `softmax: the file has the axes ["lines" "columns"], and this version has ["rows" "columns"]`},
		"no surface": {func(o *calibration.Operation) {
			o.Surface.Implementations, o.Surface.Shapes, o.Surface.Scales = nil, nil, nil
		}, "softmax: the file predicts nothing for shapes beside its cases"},
		"unheard of": {func(o *calibration.Operation) { o.Placement = "shared" }, "softmax/shared: its shapes are not in the catalogue of this version"},
	} {
		file := calibrated(t)
		c.change(file.Hosts[0].Operation("softmax", "caller"))
		r, code := verified(t, wide(2), file)
		if code != 0 || len(r.Operations) != 1 || len(r.Skipped) != 1 || r.Skipped[0] != c.says {
			t.Errorf("%s: exit %d, %d operations, skipped %q", name, code, len(r.Operations), r.Skipped)
		}
	}
}
