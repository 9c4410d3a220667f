package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/lab/proof"
)

func prove(args ...string) (stdout string, code int) {
	var out, errs bytes.Buffer
	err := run(context.Background(), &out, io.Discard, args)
	return out.String(), command.Exit(&errs, "prove", err)
}

func TestTables(t *testing.T) {
	out, code := prove("--only", "extra,rules", "--runs", "2")
	if code != 0 {
		t.Fatal(out)
	}
	for _, want := range []string{"modelled machines, 2 runs", "identical, quiet", "GPU-BLOB", "there and back", "geometric mean"} {
		if !strings.Contains(out, want) {
			t.Errorf("the tables do not say %q:\n%s", want, out)
		}
	}
}

func TestMeasuredHost(t *testing.T) {
	// Every tenth case suffices, besides the first one that the test looks for. All of them would take the longest of all tests.
	all, err := harness.Load("../../sweeps/data/amd-epyc-f25m1s1-2")
	if err != nil {
		t.Fatal(err)
	}
	none, n := *all, 0
	none.Entry.Cases = nil
	some := harness.Join(all, &none, func(name string) bool {
		n++
		return name == "fft/batch=1" || n%10 == 0
	}, func(string) bool { return false })
	dir := t.TempDir()
	if err := some.Save(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	out, code := prove("--data", dir)
	if code != 0 || !strings.Contains(out, "fft/batch=1") || strings.Contains(out, "modelled") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	for _, want := range []string{"left out: ", "all other runs", "thresholds in all", "on every other size"} {
		if !strings.Contains(out, want) {
			t.Errorf("the tables do not say %q:\n%s", want, out)
		}
	}
}

// hostOf saves runs of a modelled machine as runs of one host, and returns the folder.
func hostOf(t *testing.T, runs int) string {
	t.Helper()
	s := model.Scenarios()[0]
	of := calibration.Host{
		ID: "modelled-1", Facts: calibration.Facts{Chip: "Modelled", Family: "modelled", Architecture: "modelled", Cores: 1},
		Environment: calibration.Environment{Power: "unknown", Thermal: "unknown", Load: -1},
	}
	every := func(is bool) func(string) bool { return func(string) bool { return is } }
	var all *harness.Run
	for seed := range uint64(runs) {
		machine := model.New(&s, seed)
		run := harness.NewRun(of, []kernels.Case{machine.Case()}, harness.Options{Budget: proof.Budget, Seed: seed})
		if err := run.Measure(t.Context(), harness.Machine{Clock: machine, Sentinel: machine.Sentinel}); err != nil {
			t.Fatal(err)
		}
		if all != nil {
			run = harness.Join(all, run, every(false), every(false))
		}
		all = run
	}
	dir := t.TempDir()
	if err := all.Save(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestHostOfSeveralRuns(t *testing.T) {
	out, code := prove("--data", hostOf(t, 2))
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"(2 runs of 1 case)", "all other runs", "mean score", "95 % of pairs: met", "two runs of a case"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not say %q:\n%s", want, out)
		}
	}
}

func TestLuckOfARealHost(t *testing.T) {
	out, code := prove("--only", "coverage", "--runs", "1", "--luck", hostOf(t, 2))
	for _, want := range []string{"modelled machines with the luck of ", ", 1 run a scenario, ", "there and back"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and the tables do not say %q:\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "two states") {
		t.Errorf("a scenario with a luck of its own has another one:\n%s", out)
	}
	if _, code := prove("--only", "extra", "--luck", hostOf(t, 1)); code != command.ExitFailed {
		t.Errorf("a host of one run: exit %d", code)
	}
}

func TestQuiet(t *testing.T) {
	if out, code := prove("--only", "extra", "--runs", "1", "-q"); code != 0 || out != "" {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const runs = "10000" // they would take hours
	for _, args := range [][]string{{"--runs", runs}, {"--plots", t.TempDir(), "--runs", runs}, {"--data", "../../sweeps/data/amd-epyc-f25m1s1-2"}} {
		var errs bytes.Buffer
		if code := command.Exit(&errs, "prove", run(ctx, io.Discard, io.Discard, args)); code != command.ExitInterrupted || errs.String() != "prove: interrupted\n" {
			t.Errorf("%v: exit %d, %q", args, code, errs.String())
		}
	}
}

// A chart is replaced as a whole: whoever has the old file open, or another name of it, keeps what it holds. So a write that
// fails halfway leaves the old chart.
func TestChartsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	for name, draw := range map[string]func(path string) error{
		"coverage.png": func(path string) error { return drawCoverage(path, []proof.Coverage{{Scenario: "a"}}, 1) },
		"regret.png": func(path string) error {
			return drawRegret(path, []proof.Regret{{Scenario: "a", Blocks: 10, Mean: 0.1}, {Scenario: "a", Blocks: 100, Mean: 0.01}}, 1)
		},
	} {
		path, kept := filepath.Join(dir, name), filepath.Join(t.TempDir(), "kept")
		if err := os.WriteFile(path, []byte("an old chart"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path, kept); err != nil {
			t.Skip(err)
		}
		if err := draw(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		image, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(image, []byte("\x89PNG")) {
			t.Errorf("%s is no image (%v)", name, err)
		}
		if old, err := os.ReadFile(kept); err != nil || string(old) != "an old chart" {
			t.Errorf("%s was written into the old file (%v)", name, err)
		}
		folder := filepath.Join(dir, "folder.png")
		if err := os.MkdirAll(filepath.Join(folder, "full"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := draw(folder); err == nil || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s in place of a folder: %v", name, err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 3 {
		t.Errorf("the folder has %v (%v), want two charts and a folder", all, err)
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{"--only", "nothing"}, {"--only="}, {"--only=", "--plots", "x"}, {"--runs", "0"}, {"--runs", "10001"}, {"--runs", "999999999999"}, {"--plots", "x", "--runs", "10001"}, {"--runs", "x"}, {"table"}, {"--only", "extra", "--data", "x"}, {"--data", "x", "--plots", "y"}, {"--luck", "x", "--data", "y"}} {
		if out, code := prove(args...); code != command.ExitUsage {
			t.Errorf("%q: exit %d, want %d:\n%s", args, code, command.ExitUsage, out)
		}
	}
	if _, code := prove("--data", t.TempDir()); code != command.ExitFailed {
		t.Errorf("a folder without samples: exit %d", code)
	}
}
