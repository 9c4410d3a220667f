package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
	"crossover/kernels"
)

// Of a run of 76 cases, later runs replaced all but three. The next run of 76 cases with the same budget is not refused, because
// those three took no more time than theirs will. A case that was measured alone, for as long as all of them, is better. A run of less
// time is refused if it measures no shapes either, which would add to what is known.
func TestARunWhoseCasesWereReplaced(t *testing.T) {
	old := &calibration.Host{Method: calibration.Method{BudgetSeconds: 180}, Runs: []calibration.Run{{Method: calibration.Method{BudgetSeconds: 180}}}}
	var cases []kernels.Case
	for i := range 76 {
		name := "case-" + strconv.Itoa(i)
		cases = append(cases, kernels.Case{Name: name, Axis: kernels.Axis{Min: 1, Max: 10}})
		old.Cases = append(old.Cases, calibration.Case{Name: name, Run: min(1, i/3), Axis: calibration.Axis{From: 1, To: 10}})
	}
	o := &output{options: &options{budget: 3 * time.Minute}}
	if reason := o.hopeless(old, &cases[0], len(cases)); reason != "" {
		t.Errorf("refused: %s", reason)
	}
	if reason := o.hopeless(old, &cases[0], 1); reason != "" {
		t.Errorf("a run of one case is refused: %s", reason)
	}
	o.budget = time.Minute
	if reason := o.hopeless(old, &cases[0], len(cases)); !strings.HasPrefix(reason, "case-0 took 2.4 s of its budget and this run has 0.8 s") {
		t.Errorf("with a third of the budget: %q", reason)
	}
	old.Operations = []calibration.Operation{{Name: "op"}}
	if reason := o.hopeless(old, &cases[0], len(cases)); reason == "" {
		t.Error("a shorter run of an operation without shapes is not refused")
	}
	old.Cases[0].Operation = "op"
	if reason := o.hopeless(old, &cases[0], len(cases)); reason != "" {
		t.Errorf("a shorter run that adds shapes is refused: %s", reason)
	}
}

// advised returns the folder in the command line that a message recommends.
func advised(t *testing.T, stderr string) string {
	t.Helper()
	found := regexp.MustCompile(`\(calibrate --from (\S+).* fits them\)`).FindStringSubmatch(stderr)
	if found == nil {
		t.Fatalf("no advice in %q", stderr)
	}
	return found[1]
}

// succeed runs the command and fails the test unless it exits with 0.
func succeed(t *testing.T, m *scripted.Machine, args ...string) (stderr string) {
	t.Helper()
	_, stderr, code := calibrateOn(t, m, args...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, stderr)
	}
	return stderr
}

// stoppedAfter interrupts the command after a number of calls of the first case. If that is 0, it does so before the first
// call.
func stoppedAfter(t *testing.T, calls int, args ...string) (stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if calls == 0 {
		cancel()
	}
	m := watched(1, func(n int) {
		if n == calls {
			cancel()
		}
	})
	var log bytes.Buffer
	code = command.Exit(&log, "calibrate", runOn(ctx, m.Command(), io.Discard, &log, args))
	return log.String(), code
}

// watched is twoCases with all times multiplied by slow. It calls after after every call of the first case, with the number
// of calls.
func watched(slow float64, after func(n int)) *scripted.Machine {
	m := scripted.New(3, 0.01)
	n := 0
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(slow*1e-6, slow*2e-9), "b": scripted.Linear(slow*5e-6, slow*1e-9)},
		func(string, int) error {
			n++
			after(n)
			return nil
		})
	m.Add("sum", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "b": scripted.Linear(1e-6, 2e-9)}, nil)
	return m
}

// sameTree fails the test if files were changed, removed or added.
func sameTree(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range before {
		if now, there := after[path]; !there || now != text {
			t.Errorf("%s is there: %v, and as it was: %v", path, there, now == text)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			t.Errorf("%s is new", path)
		}
	}
}

// tree returns the contents of all files in a folder by their paths.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path] = read(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// refits fails the test if a fit of the samples in a host's folder differs from the calibration file, or if the folder holds
// anything but one run.
func refits(t *testing.T, file, host string) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again.json")
	succeed(t, scripted.New(1, 0), "--from", host, "-o", again)
	if diff := cmp.Diff(read(t, file), read(t, again)); diff != "" {
		t.Errorf("the samples fit to something else (-file +refit):\n%s", diff)
	}
	if left, _ := os.ReadDir(host); len(left) != 1 {
		t.Errorf("%s holds %v", host, left)
	}
}

func thisID() string {
	_, id := command.HostFacts()
	return id
}

// An entry of another machine under this host's id is neither joined nor replaced without --force.
func TestAnotherMachineUnderTheSameID(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := read(t, f.file)
	err := calibration.Update(t.Context(), f.file, func(file *calibration.Index) error {
		entry, err := file.Host(thisID())
		if err != nil {
			return err
		}
		entry.Facts.Cores += 2
		return file.Merge(*entry)
	})
	if err != nil {
		t.Fatal(err)
	}
	other := read(t, f.file)
	var stderr bytes.Buffer
	err = runOn(t.Context(), twoCases(2).Command(), io.Discard, &stderr, f.args())
	if err == nil || !strings.Contains(err.Error(), "holds another machine as "+thisID()+" (it has ") || read(t, f.file) != other || other == before {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	succeed(t, twoCases(2), f.args("--force", "--ops", "fft")...)
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	if facts, _ := command.HostFacts(); file.Hosts[0].Facts.Cores != facts.Cores || len(file.Hosts[0].Cases) != 1 {
		t.Errorf("forced: the entry has %d cores and %d cases, also the other machine's", file.Hosts[0].Facts.Cores, len(file.Hosts[0].Cases))
	}
}

// An interrupted run of another kind of call leaves the samples of the finished run, and the recommended command fits its
// own samples.
func TestAnInterruptedRunKeepsToItsOwnFolder(t *testing.T) {
	for name, args := range map[string][]string{
		"into another file": {"--state", "cold", "-o", "cold.json"},
		"onto its data":     {"--state", "cold", "-o", "cold.json", "--data", "sweeps/data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			succeed(t, twoCases(1))
			before := tree(t, ".")
			stderr, code := stoppedAfter(t, 150, args...)
			if code != command.ExitInterrupted {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			after := tree(t, ".")
			for path, text := range before {
				if after[path] != text {
					t.Errorf("%s was changed", path)
				}
			}
			own := advised(t, stderr)
			command := strings.Fields(stderr[strings.Index(stderr, "(calibrate ")+len("(calibrate "):])
			succeed(t, scripted.New(1, 0), command[:slices.Index(command, "fits")]...)
			file, err := calibration.Load("cold.json")
			if err != nil {
				t.Fatal(err)
			}
			if h := file.Hosts[0]; h.Method.State != "cold" || h.Cases[0].Blocks == 0 {
				t.Errorf("the advice fitted %s with %d blocks", h.Method.State, h.Cases[0].Blocks)
			}
			if _, err := os.Stat(own); err == nil {
				t.Errorf("%s is still there beside its run", own)
			}
			for path, text := range before {
				if read(t, path) != text {
					t.Errorf("after the advice %s is another one", path)
				}
			}
		})
	}
}

// A run that is interrupted before it measured anything leaves nothing and recommends nothing.
func TestInterruptBeforeTheFirstBlock(t *testing.T) {
	f := newFolders(t)
	stderr, code := stoppedAfter(t, 0, f.args()...)
	if code != command.ExitInterrupted || strings.Contains(stderr, "--from") || !strings.Contains(stderr, "nothing was saved") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if left := tree(t, f.root); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	if runs, _ := os.ReadDir(f.host()); len(runs) != 0 {
		t.Errorf("it left %v", runs)
	}
}

// Whenever a run is killed, its folder can be fitted, or --from says that it holds nothing.
func TestKilledAtAnyMoment(t *testing.T) {
	f := newFolders(t)
	copies := t.TempDir()
	fitted := 0
	succeed(t, watched(100, func(n int) {
		if n%1500 != 0 {
			return
		}
		folders, _ := filepath.Glob(filepath.Join(f.host(), "unfinished-*"))
		at := filepath.Join(copies, "unfinished")
		if err := os.CopyFS(at, os.DirFS(folders[0])); err != nil {
			t.Fatal(err)
		}
		// This is the state after a death between a sample file and the entry: samples are newer than the entry.
		_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", at, "-o", filepath.Join(copies, "x.json"), "--force")
		if code == 0 {
			fitted++
		} else if !strings.Contains(stderr, "holds no sweep") && !strings.Contains(stderr, "holds no samples") {
			t.Errorf("after %d calls: %s", n, stderr)
		}
		os.RemoveAll(at)
	}), f.args()...)
	if fitted == 0 {
		t.Error("not one could be fitted")
	}
}

// Samples that are newer than the entry are accepted in the folder of a killed run, and refused elsewhere.
func TestSamplesNewerThanTheEntry(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	path := filepath.Join(f.run(t), harness.EntryFile)
	file, err := calibration.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &file.Hosts[0].Cases[0]
	whole := c.Blocks
	c.Blocks -= 3
	for _, spent := range []float64{120, 0} {
		file.Hosts[0].Method.SpentSeconds = spent
		if err := calibration.Save(path, file); err != nil {
			t.Fatal(err)
		}
		again := filepath.Join(f.root, "again.json")
		_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again)
		if spent > 0 {
			if code != command.ExitFailed || !strings.Contains(stderr, "fft_batch=1.bench.gz holds") {
				t.Errorf("exit %d, %q", code, stderr)
			}
			continue
		}
		refitted, err := calibration.Load(again)
		if err != nil {
			t.Fatal(stderr, err)
		}
		if n := refitted.Hosts[0].Cases[0].Blocks; n != whole {
			t.Errorf("%d blocks of %d", n, whole)
		}
	}
	// Accepted samples become those of the host's entry, to which another case is then added.
	succeed(t, scripted.New(1, 0), "--from", f.host(), "-o", f.file, "--data", f.data, "--plots", f.plots, "--force")
	succeed(t, twoCases(1), f.args("--ops", "sum")...)
	refits(t, f.file, f.host())
}

// A run that is too poor for the entry says how to fit its samples so that the fit is not refused as well.
func TestTheAdviceAfterAPoorerRunWorks(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := read(t, f.file)
	m := scripted.New(2, 0.01)
	for _, name := range []string{"fft/batch=1", "sum"} {
		m.Add(name, map[string]scripted.Cost{"a": scripted.Linear(1e-3, 2e-3), "b": scripted.Linear(5e-3, 1e-3)}, nil)
	}
	_, stderr, code := calibrateOn(t, m, f.args("--fresh")...)
	_, advice, found := strings.Cut(stderr, "(calibrate --from ")
	advice, _, _ = strings.Cut(advice, " fits them into another file)\n")
	if code != command.ExitFailed || !found || !strings.Contains(stderr, "holds a better calibration of this host") || strings.Contains(stderr, "fits them)") {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	other := filepath.Join(f.root, "other.json")
	succeed(t, scripted.New(1, 0), strings.Fields("--from "+strings.ReplaceAll(advice, "FILE", other))...)
	if _, err := calibration.Load(other); err != nil || read(t, f.file) != before {
		t.Errorf("%v, or the better calibration was changed", err)
	}
}

// A run that was killed before its first samples has none to fit. A larger budget does not change that.
func TestFromAFolderWithoutSamples(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args("--quick")...)
	run := f.run(t)
	path := filepath.Join(run, harness.EntryFile)
	file, err := calibration.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	file.Hosts[0].Method.SpentSeconds = 0 // as in a killed run
	if err := calibration.Save(path, file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fft/batch=1", "sum"} {
		if err := os.Remove(harness.CaseFile(run, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, f.root)
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", filepath.Join(f.root, "again.json"))
	if code != command.ExitFailed || !strings.HasPrefix(stderr, "calibrate: --from: "+run+" holds no samples") || strings.Contains(stderr, "--budget") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, %q", code, stderr)
	}
	sameTree(t, before, tree(t, f.root))
}

// --from refuses sample files that do not belong to the entry beside them.
func TestFromCrossChecks(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	run := f.run(t)
	fft, sum := harness.CaseFile(run, "fft/batch=1"), harness.CaseFile(run, "sum")
	before := tree(t, run)
	for want, spoil := range map[string]func(){
		"fft_batch=1.bench.gz:":                     func() { os.WriteFile(fft, []byte(before[fft][:len(before[fft])*2/3]), 0o644) },
		`sum.bench.gz holds samples of "fft/batch=`: func() { os.WriteFile(sum, []byte(before[fft]), 0o644) },
		"no such file":                              func() { os.Remove(sum) },
		"says simulated": func() {
			path := filepath.Join(run, harness.EntryFile)
			writeSweep(t, path, strings.Replace(readSweep(t, path), `"simulated": false`, `"simulated": true`, 1))
		},
		"sweep.json.gz has it": func() {
			path := filepath.Join(run, harness.EntryFile)
			writeSweep(t, path, regexp.MustCompile(`"blocks": \d+`).ReplaceAllString(readSweep(t, path), `"blocks": 5`))
		},
		"cannot be decompressed": func() {
			path := filepath.Join(run, harness.EntryFile)
			os.WriteFile(path, []byte(before[path][:len(before[path])/2]), 0o644)
		},
	} {
		spoil()
		file := read(t, f.file)
		_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", f.file, "--data", f.data, "--plots", f.plots)
		if code != command.ExitFailed || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1+strings.Count(stderr, "this fits the newest") {
			t.Errorf("want one line with %q: exit %d, %q", want, code, stderr)
		}
		if read(t, f.file) != file {
			t.Errorf("%s: the file was changed", want)
		}
		for path, text := range before {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	refits(t, f.file, f.host())
}

// A run over some cases adds them to the host's entry, samples and charts, or replaces the same ones.
func TestAPartialRunKeepsTheOtherCases(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args("--ops", "fft")...)
	charts := tree(t, f.plots)
	first, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	for round, force := range []string{"--force=false", "--force=false", "--force"} {
		succeed(t, twoCases(uint64(2+round)), append(f.args(force, "--ops", "^sum$"), "--seed", "8")...)
		file, err := calibration.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		h := file.Hosts[0]
		runs := []int{1, 2, 1}[round] // the first run of sum is an earlier one until it is forgotten
		if len(h.Cases) != 2 || len(h.Runs) != runs || h.Cases[1].Name != "sum" || h.RunOf(&h.Cases[1]).Method.Seed != 8 {
			t.Fatalf("%d cases of 1 + %d runs", len(h.Cases), len(h.Runs))
		}
		if diff := cmp.Diff(first.Hosts[0].Cases[0], h.Cases[0]); diff != "" || h.RunOf(&h.Cases[0]).Method.Seed != 7 {
			t.Errorf("the other case was changed (-before +after):\n%s", diff)
		}
		for path := range charts {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(f.plots, thisID(), "sum.png")); err != nil {
			t.Error(err)
		}
		refits(t, f.file, f.host())
	}
	// Without the samples of the other cases the file stays as it is.
	before := read(t, f.file)
	_, stderr, code := calibrateOn(t, twoCases(5), "-o", f.file, "--data", filepath.Join(f.root, "elsewhere"), "--plots", f.plots, "--ops", "sum")
	if code != command.ExitFailed || !strings.Contains(stderr, "--data") || read(t, f.file) != before {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// What a run measured less well stands behind what was measured before. Taken again, the same run adds nothing more.
func TestAPoorerRunStandsBehind(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	poor := filepath.Join(f.root, "poor.json")
	succeed(t, twoCases(2), "-o", poor, "--sizes", "64:4Ki", "--seed", "9")
	add := []string{"--from", filepath.Join(f.root, "poor", "data", thisID()), "-o", f.file, "--data", f.data, "--plots", f.plots}
	for n := range 2 {
		stderr := succeed(t, scripted.New(1, 0), add...)
		want := []string{"calibrate: added behind an earlier run that measured more: 2 cases\n",
			"calibrate: " + f.file + " had what this run measured of 2 cases already\n"}
		if !strings.Contains(stderr, want[n]) || strings.Contains(stderr, want[1-n]) {
			t.Errorf("time %d: %q", n, stderr)
		}
		file, err := calibration.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Hosts[0].Cases {
			first := file.Hosts[0].RunOf(&c).Method.Seed
			if len(c.Earlier) != 1 || first != 7 || file.Hosts[0].EarlierRun(c.Earlier[0]).Method.Seed != 9 || c.Axis.To <= 4096 {
				t.Errorf("time %d: %s of the run with seed %d, to %d, has other runs %+v", n, c.Name, first, c.Axis.To, c.Earlier)
			}
		}
		refits(t, f.file, f.host())
	}
	succeed(t, scripted.New(1, 0), append(add, "--force")...)
	if file, err := calibration.Load(f.file); err != nil || len(file.Hosts[0].Cases[0].Earlier) != 0 || file.Hosts[0].Cases[0].Axis.To > 4096 {
		t.Errorf("--force replaced nothing (%v)", err)
	}
	if _, err := os.Stat(f.file + ".bak"); err != nil {
		t.Error("--force kept no copy")
	}
}

// A run that measured nothing better and adds nothing changes nothing.
func TestARunThatAddsNothingReplacesNothing(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	m := scripted.New(2, 0.01)
	for _, name := range []string{"fft/batch=1", "sum"} {
		m.Add(name, map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9)}, nil) // b is not there today
	}
	poor := filepath.Join(f.root, "poor.json")
	succeed(t, m, "-o", poor)
	before := tree(t, f.root)
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", filepath.Join(f.root, "poor", "data", thisID()),
		"-o", f.file, "--data", f.data, "--plots", f.plots)
	if code != command.ExitFailed || !strings.Contains(stderr, "b did not compete") || !strings.Contains(stderr, "--force") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	sameTree(t, before, tree(t, f.root))
}

func TestARunOfWhichSomeIsPoorer(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	m := scripted.New(2, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9)}, nil) // b is not there today
	m.Add("sum", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "b": scripted.Linear(1e-6, 2e-9)}, nil)
	stderr := succeed(t, m, append(f.args(), "--seed", "8")...)
	if !strings.Contains(stderr, "kept 1 case") || !strings.Contains(stderr, "fft/batch=1: b did not compete") {
		t.Errorf("%q", stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	h := file.Hosts[0]
	if fft, sum := h.RunOf(&h.Cases[0]).Method.Seed, h.RunOf(&h.Cases[1]).Method.Seed; fft != 7 || sum != 8 || len(h.Cases[0].Segments) != 2 {
		t.Errorf("seeds %d and %d", fft, sum)
	}
	held, _ := filepath.Glob(filepath.Join(f.host(), "unfinished-*"))
	if len(held) != 1 {
		t.Errorf("the samples that were not taken are in %v", held)
	}
}

// What computes wrong values now is not chosen any more, and its times of the run before do not count.
func TestWhatIsWrongNowIsNotChosen(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	m := scripted.New(2, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)}, func(implementation string, _ int) error {
		if implementation == "b" {
			return scripted.Wrong
		}
		return nil
	})
	stderr := succeed(t, m, append(f.args(), "--seed", "8", "--ops", "^fft")...)
	if strings.Contains(stderr, "kept") {
		t.Errorf("%q", stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	fft := file.Hosts[0].Cases[0]
	if len(fft.Earlier) != 1 || len(fft.Segments) != 1 || fft.Segments[0].Implementation != "a" || !fft.Implementations[1].Wrong {
		t.Errorf("of %d runs before: %+v, %+v", len(fft.Earlier), fft.Segments, fft.Implementations)
	}
	refits(t, f.file, f.host())
}

// A case without blocks never replaces one with blocks, even with --force.
func TestAnEmptyCaseReplacesNothing(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args("--quick")...)
	m := scripted.New(2, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9)}, func(string, int) error { return errors.New("broken") })
	m.Add("sum", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "b": scripted.Linear(1e-6, 2e-9)}, nil)
	succeed(t, m, f.args("--quick", "--seed", "8", "--ops", "fft|sum", "--force")...)
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	h := file.Hosts[0]
	if fft, sum := h.RunOf(&h.Cases[0]).Method.Seed, h.RunOf(&h.Cases[1]).Method.Seed; fft != 7 || sum != 8 || len(h.Cases[0].Segments) != 2 {
		t.Errorf("the cases are of the seeds %d and %d, the first with %d segments", fft, sum, len(h.Cases[0].Segments))
	}
	refits(t, f.file, f.host())
}

// A second signal ends a refit while the first one makes it remove its copy of the samples.
func TestAdviceOfAnInterruptedRefit(t *testing.T) {
	source := t.TempDir()
	o, _, err := parse([]string{"--from", source}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out := &output{options: o, samples: "samples"}
	if err := out.halfWritten(t.TempDir()); !strings.Contains(err.Error(), "--from "+source+" writes them") {
		t.Errorf("%v", err)
	}
	o.from = filepath.Join(source, "unfinished") // the run has moved away
	if err := out.halfWritten(o.from); !strings.Contains(err.Error(), "--from samples writes them") {
		t.Errorf("%v", err)
	}
}

// An entry file beside samples may be edited, and the command then warns.
func TestAnEditedSweepIsMentioned(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	runs, _ := filepath.Glob(filepath.Join(f.host(), "*"))
	sweep := filepath.Join(runs[0], harness.EntryFile)
	text := strings.Replace(readSweep(t, sweep), `"tool_version": "`, `"tool_version": "my `, 1)
	writeSweep(t, sweep, text)
	const want = "sweep.json.gz was edited"
	if stderr := succeed(t, twoCases(1), append(f.args(), "--ops", "sum")...); strings.Count(stderr, want) != 1 {
		t.Errorf("a run that joins it says %q", stderr)
	}
	if stderr := succeed(t, twoCases(1), "--from", f.host(), "-o", f.file, "--data", f.data, "--plots", f.plots); strings.Contains(stderr, want) {
		t.Errorf("a refit of what was written after it says %q", stderr)
	}
	other := newFolders(t)
	succeed(t, twoCases(1), other.args()...)
	runs, _ = filepath.Glob(filepath.Join(other.host(), "*"))
	writeSweep(t, filepath.Join(runs[0], harness.EntryFile), text)
	stderr := succeed(t, twoCases(1), "--from", other.host(), "-o", other.file, "--data", other.data, "--plots", other.plots)
	if strings.Count(stderr, want) != 1 {
		t.Errorf("a refit says %q", stderr)
	}
}

// If an entry is replaced as a whole, the charts of its cases are removed.
func TestChartsOfCasesThatAreGone(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	own := filepath.Join(f.plots, thisID(), "own.png")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	succeed(t, twoCases(1), append(f.args(), "--ops", "sum", "--state", "cold", "--force")...)
	charts, err := filepath.Glob(filepath.Join(f.plots, thisID(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for k := range charts {
		charts[k] = filepath.Base(charts[k])
	}
	if want := []string{"overview.png", "own.png", "sum.png"}; !slices.Equal(charts, want) {
		t.Errorf("%v are there, want %v", charts, want)
	}
}

func TestSamplesAndChartsFollowTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, twoCases(1))
	before := tree(t, ".")
	succeed(t, twoCases(2), "--ops", "sum", "-o", "other.json")
	succeed(t, twoCases(2), "--ops", "sum", "-o", "plain")
	for path, text := range before {
		if read(t, path) != text {
			t.Errorf("%s is another one", path)
		}
	}
	refits(t, "other.json", filepath.Join("other", "data", thisID()))
	for _, path := range []string{"other/plots/" + thisID() + "/sum.png", "plain.d/plots/" + thisID() + "/sum.png"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	abs, err := filepath.Abs("calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	succeed(t, twoCases(2), "--ops", "sum", "-o", abs)
	refits(t, "calibration.json", filepath.Join("sweeps", "data", thisID()))
}

func TestFromRefusesWhatItWouldIgnore(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := tree(t, f.root)
	for _, args := range [][]string{
		{"--from", ""}, {"--from", f.host(), "--ops", "sum"}, {"--from", f.host(), "--sizes", "1:2"}, {"--from", f.host(), "--seed", "3"},
		{"--from", f.host(), "--dry-run"}, {"--from", f.host(), "--list"}, {"--from", f.host(), "--impl", "a"}, {"--from", f.host(), "--quick"},
		{"--from", f.host(), "--budget", "1m"}, {"--from", f.host(), "--state", "cold"}, {"--from", f.host(), "--mode", "throughput"},
		{"--from", f.host(), "--precision", "0.2"}, {"--from", f.host(), "--audio", "x.wav"}, {"--from", f.host(), "--in-flight", "3"},
	} {
		_, stderr, code := calibrateOn(t, twoCases(1), append([]string{"-o", f.file, "--data", f.data, "--plots", f.plots}, args...)...)
		if code != command.ExitUsage || !strings.Contains(stderr, "--from") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
	sameTree(t, before, tree(t, f.root))
}

func TestForceReplacesNoDevice(t *testing.T) {
	f := newFolders(t)
	pipe, loop := filepath.Join(f.root, "pipe"), filepath.Join(f.root, "loop")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{pipe: command.ExitFailed, f.root: command.ExitUsage, loop: command.ExitFailed} {
		before, _ := os.Lstat(path)
		for _, force := range []string{"--force=false", "--force"} {
			_, stderr, code := calibrateOn(t, twoCases(1), f.args("-o", path, force)...)
			if code != want || strings.Contains(stderr, "--force") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: exit %d, %q; want exit %d and one line without --force", path, code, stderr, want)
			}
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s is another one", path)
		}
	}
}

// If the charts cannot be drawn, the file and the samples stay as they were. The recommended command works once they can be
// drawn.
func TestARunThatCannotDrawChangesNothing(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := tree(t, f.root)
	charts, aside := filepath.Join(f.plots, thisID()), filepath.Join(f.root, "aside")
	var out, log bytes.Buffer
	err := runOn(t.Context(), watched(1, func(n int) {
		if n == 1 {
			if err := os.Rename(charts, aside); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(charts, nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	}).Command(), &out, &log, f.args())
	if err == nil || out.Len() != 0 {
		t.Fatalf("%v, %q", err, out.String())
	}
	if err := os.Remove(charts); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, charts); err != nil {
		t.Fatal(err)
	}
	own := advised(t, err.Error())
	after := tree(t, f.root)
	for path := range after {
		if strings.HasPrefix(path, own) {
			delete(after, path)
		}
	}
	sameTree(t, before, after)
	succeed(t, scripted.New(1, 0), "--from", own, "-o", f.file, "--data", f.data, "--plots", f.plots)
	refits(t, f.file, f.host())
}

// After runs of one host at the same time onto one file, the entry of the last one stands, with its samples.
func TestRunsAtOnce(t *testing.T) {
	f := newFolders(t)
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			var out, log bytes.Buffer
			ops := []string{"fft", "sum"}[k%2]
			if err := runOn(t.Context(), twoCases(uint64(k)).Command(), &out, &log, f.args("--budget", "20s", "--ops", ops)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Hosts) != 1 || len(file.Hosts[0].Cases) != 2 {
		t.Errorf("%d cases", len(file.Hosts[0].Cases))
	}
	refits(t, f.file, f.host())
	for path := range tree(t, f.root) {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s was left", path)
		}
	}
}

// A run removes what a dead process left while it drew or before it measured anything, and unfinished runs older than a
// week. It keeps what may be in use.
func TestStraysAreRemoved(t *testing.T) {
	f := newFolders(t)
	charts := filepath.Join(f.plots, thisID())
	const dead = "4194305" // above the greatest number that a process can have
	today := time.Now().UTC()
	unfinished := func(days int) string {
		return today.AddDate(0, 0, -days).Format("unfinished-20060102T150405Z-")
	}
	for _, folder := range []string{
		filepath.Join(charts, ".charts-"+dead+"-1"), filepath.Join(charts, ".charts-1-1"),
		filepath.Join(f.host(), unfinished(1)+dead), filepath.Join(f.host(), unfinished(1)+"1"),
		filepath.Join(f.host(), unfinished(6)+"1"), filepath.Join(f.host(), unfinished(8)+"1"),
	} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{".plot-1", ".plot-2", "own.png"} {
		path := filepath.Join(charts, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if name != ".plot-2" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	succeed(t, twoCases(1), f.args()...)
	var left []string
	for _, folder := range []string{charts, f.host()} {
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range all {
			left = append(left, entry.Name())
		}
	}
	left = slices.DeleteFunc(left, func(name string) bool { return strings.HasPrefix(name, "2") })
	want := []string{".charts-1-1", ".plot-2", "fft_batch=1.png", "overview.png", "own.png", "sum.png", unfinished(6) + "1", unfinished(1) + "1"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestQuietPrintsNothing(t *testing.T) {
	f := newFolders(t)
	m := twoCases(1)
	m.AddPlanned("other", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9)}, nil)
	for _, args := range [][]string{f.args("-q", "-v", "--budget", "5s"), {"-q", "--list"}, {"-q", "--simulate", "list"}} {
		if stdout, stderr, code := calibrateOn(t, m, args...); code != 0 || stdout+stderr != "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// ending is a context that is cancelled after a number of calls of Err.
type ending struct {
	context.Context
	looks atomic.Int64
}

func (e *ending) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Whenever a refit is interrupted, it ends and leaves everything as it was.
func TestARefitEndsAnywhere(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args("--quick")...)
	other := filepath.Join(f.root, "other")
	args := []string{"--from", f.run(t), "-o", filepath.Join(other, "calibration.json")}
	for looks := 0; ; looks++ {
		ctx := &ending{Context: t.Context()}
		ctx.looks.Store(int64(looks))
		err := runOn(ctx, twoCases(1).Command(), io.Discard, io.Discard, args)
		if err == nil {
			if looks < 8 {
				t.Errorf("a context that ends after %d looks ends nothing", looks)
			}
			return
		}
		if code := command.Exit(io.Discard, "calibrate", err); code != command.ExitInterrupted || !strings.Contains(err.Error(), "calibration.json is as it was") {
			t.Errorf("%d looks: exit %d, %v", looks, code, err)
		}
		filepath.WalkDir(other, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() || strings.HasPrefix(entry.Name(), "unfinished-") || strings.HasPrefix(entry.Name(), ".charts-") {
				t.Errorf("%d looks: %s is left (%v)", looks, path, err)
			}
			return nil
		})
		if looks > 100 {
			t.Fatal("it never ends")
		}
	}
}

// A run adds to the runs before. Six runs of a case are kept, and a refit of them gives every figure.
func TestARunAddsToTheRunsBefore(t *testing.T) {
	f := newFolders(t)
	entry := func() *calibration.Host {
		t.Helper()
		file, err := calibration.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		return &file.Hosts[0]
	}
	for run := range 8 {
		succeed(t, twoCases(1), f.args("--quick", "--seed", strconv.Itoa(10+run))...)
		h := entry()
		for k := range h.Cases {
			c := &h.Cases[k]
			if want := min(run, harness.MostRuns-1); len(c.Earlier) != want {
				t.Fatalf("run %d: %s has %d runs before, want %d", run, c.Name, len(c.Earlier), want)
			}
			for n, e := range c.Earlier {
				if seed := h.EarlierRun(e).Method.Seed; seed != uint64(10+run-1-n) {
					t.Errorf("run %d: the runs before %s have the seed %d at %d", run, c.Name, seed, n)
				}
			}
		}
		if run < 2 || run == 7 {
			refits(t, f.file, f.host())
		}
	}
	if folders, _ := filepath.Glob(filepath.Join(f.host(), "*")); len(folders) != 1 {
		t.Errorf("the host has the folders %v, want one", folders)
	}
	// A run of some cases adds to those only.
	succeed(t, twoCases(1), f.args("--quick", "--seed", "30", "--ops", "sum", "--fresh")...)
	h := entry()
	if fft, sum := len(h.Cases[0].Earlier), len(h.Cases[1].Earlier); fft != harness.MostRuns-1 || sum != 0 {
		t.Errorf("after --fresh there are %d and %d runs before, want %d and none", fft, sum, harness.MostRuns-1)
	}
	refits(t, f.file, f.host())
}

// Damaged samples of an earlier run are noticed before anything is measured.
func TestDamagedEarlierSamplesAreNoticedFirst(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	succeed(t, twoCases(2), append(f.args(), "--seed", "8")...)
	files, _ := filepath.Glob(filepath.Join(f.run(t), "earlier", "*"))
	if len(files) != 1 {
		t.Fatalf("files of earlier runs: %v", files)
	}
	if err := os.Truncate(files[0], 40); err != nil {
		t.Fatal(err)
	}
	before := tree(t, f.root)
	_, stderr, code := calibrateOn(t, twoCases(3), append(f.args(), "--seed", "9")...)
	last := strings.TrimSuffix(stderr, "\n")
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if code != command.ExitFailed || !strings.Contains(last, filepath.Base(files[0])) || !strings.HasSuffix(last, "restore it, or write elsewhere (-o FILE)") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	sameTree(t, before, tree(t, f.root))
}

// The command that fits the samples of an interrupted run does what the run would have done with earlier runs.
func TestTheAdviceForgetsWhatTheRunWouldHaveForgotten(t *testing.T) {
	for _, flag := range []string{"--fresh", "--force"} {
		f := newFolders(t)
		succeed(t, twoCases(1), f.args("--budget", "1s", "--sizes", "64:128")...)
		stderr, code := stoppedAfter(t, 30000, f.args(flag)...)
		if code != command.ExitInterrupted || !strings.Contains(stderr, " "+flag+" fits them)") {
			t.Fatalf("%s: exit %d, %q; want an advice with the flag", flag, code, stderr)
		}
		_, advice, _ := strings.Cut(stderr, "(calibrate ")
		advice, _, _ = strings.Cut(advice, " fits them)")
		succeed(t, scripted.New(1, 0), strings.Fields(advice)...)
		if earlier := hostEntry(t, f).Cases[0].Earlier; len(earlier) != 0 {
			t.Errorf("%s: %d earlier runs are kept, want none", flag, len(earlier))
		}
	}
}
