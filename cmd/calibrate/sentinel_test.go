package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
)

// The file and the samples record what the sentinel saw, and a refit keeps every byte of it.
func TestTheSentinelIsRecorded(t *testing.T) {
	f := newFolders(t)
	m := twoCases(1)
	m.AllRatio, m.HandOver = 1.01, 48e-9
	_, stderr, code := calibrateOn(t, m, f.args()...)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, path := range []string{f.file, filepath.Join(f.run(t), harness.EntryFile)} {
		file, err := calibration.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		s := file.Hosts[0].Environment.Sentinel
		if s == nil || s.Kept == nil {
			t.Fatalf("%s: %+v", path, s)
		}
		near := func(got, want float64) bool { return got > want*0.95 && got < want*1.05 } // the noise is 1 %
		if s.Processors != 2 || s.Readings < 10 || !near(s.Kept.OneProcessorSeconds, 100e-6) ||
			!near(s.Kept.AllProcessorsRatio, 1.01) || !near(s.Kept.HandoverSeconds, 48e-9) || !near(s.Baseline.HandoverSeconds, 48e-9) {
			t.Errorf("%s: %+v, kept %+v", path, s, s.Kept)
		}
	}
	if strings.Contains(stderr, "at once") || strings.Contains(read(t, f.file), "at once") {
		t.Errorf("two processors that stand apart are worth a warning: %s", stderr)
	}
	again := filepath.Join(f.root, "again.json")
	if _, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", f.plots); code != 0 {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(read(t, f.file), read(t, again)); diff != "" {
		t.Errorf("refit differs (-first +refit):\n%s", diff)
	}
}

// A clock that settles at another speed degrades no case. The file and -v have its epochs and the discarded blocks.
func TestEpochsAreRecorded(t *testing.T) {
	f := newFolders(t)
	m := twoCases(1)
	m.AllRatio, m.HandOver = 1.01, 48e-9
	m.Slower = func(now time.Duration) float64 {
		if now > time.Second {
			return 1 / 1.09
		}
		return 1
	}
	_, stderr, code := calibrateOn(t, m, f.args("-v")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	entry := file.Hosts[0]
	if s := entry.Environment.Sentinel; s.Epochs != 2 || s.Discarded == nil || s.Discarded.Disturbed == 0 || s.Discarded.Disturbed > 20 {
		t.Errorf("%d epochs, thrown away: %+v", s.Epochs, s.Discarded)
	}
	if want := regexp.MustCompile(`had 2 epochs; blocks thrown away: \d+ on a disturbed machine, 0 beside`); !want.MatchString(stderr) {
		t.Errorf("-v does not print %q:\n%s", want, stderr)
	}
	for _, c := range entry.Cases {
		if c.Degraded {
			t.Errorf("%s is degraded: %q", c.Name, c.Warnings)
		}
	}
}

// A run warns if the machine is in another state than for the entry that it replaces.
func TestCalibrationInAnotherState(t *testing.T) {
	f := newFolders(t)
	for n, c := range []struct {
		handOver float64
		says     string
	}{{48e-9, ""}, {52e-9, ""}, {165e-9, "a hand-over from processor to processor takes 165 ns now, 52 ns then"}} {
		m := twoCases(1)
		m.Noise, m.AllRatio, m.HandOver = 0, 1, c.handOver
		_, stderr, code := calibrateOn(t, m, f.args("--force")...)
		if code != 0 {
			t.Fatal(stderr)
		}
		if told := strings.Contains(stderr, "in another state than for the entry"); told != (c.says != "") || !strings.Contains(stderr, c.says) {
			t.Errorf("calibration %d: want %q in\n%s", n, c.says, stderr)
		}
	}
}

// If two processors are threads of one core, the command says so once, and the file keeps it. So does a refit.
func TestProcessorsThatShareACore(t *testing.T) {
	const fact = "all 2 processors at once took 1.95 times as long as one alone for 100 % of the run: "
	for _, flag := range []string{"--seed=7", "--json"} {
		f := newFolders(t)
		m := twoCases(1)
		m.Noise, m.AllRatio, m.HandOver = 0, 1.95, 30e-9
		_, stderr, code := calibrateOn(t, m, f.args(flag)...)
		if code != 0 || strings.Count(stderr, fact) != 1 {
			t.Fatalf("%s: exit %d\n%s", flag, code, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "calibrate: warning: "+fact) {
			t.Errorf("%s: it ends with %q", flag, last)
		}
		file, err := calibration.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		if w := file.Hosts[0].Warnings; len(w) != 1 || !strings.HasPrefix(w[0], fact) {
			t.Errorf("%s: the file warns of %q", flag, w)
		}
		again := filepath.Join(f.root, "again.json")
		_, stderr, code = calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", f.plots)
		if code != 0 || strings.Count(stderr, fact) != 1 {
			t.Errorf("%s: refitted with exit %d\n%s", flag, code, stderr)
		}
		if diff := cmp.Diff(read(t, f.file), read(t, again)); diff != "" {
			t.Errorf("%s: refit differs (-first +refit):\n%s", flag, diff)
		}
		if _, stderr, _ = calibrateOn(t, m, f.args("-q")...); stderr != "" {
			t.Errorf("-q: %s", stderr)
		}
	}
}

// Processors share their cores for a part of each run: until the end of one, and at the beginning of the other. That
// degrades nothing. Both runs are kept, and one line tells of both.
func TestRunsInTwoStates(t *testing.T) {
	f := newFolders(t)
	for n, crowded := range []func(now time.Duration) bool{
		func(now time.Duration) bool { return now > 500*time.Millisecond },
		func(now time.Duration) bool { return now < 800*time.Millisecond },
	} {
		m := twoCases(uint64(n))
		m.AllRatio, m.HandOver = 1.05, 48e-9
		m.Crowded = func(now time.Duration) float64 {
			if crowded(now) {
				return 2
			}
			return 1
		}
		if _, stderr, code := calibrateOn(t, m, f.args("-v", "--budget", "20s")...); code != 0 || strings.Contains(stderr, "measured less well") {
			t.Fatalf("run %d: exit %d: %s", n, code, stderr)
		} else if n == 1 && strings.Count(stderr, "at once took") != 1 {
			t.Errorf("want one line on what processors take all at once: %s", stderr)
		}
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	entry := file.Hosts[0]
	if len(entry.Warnings) != 1 || !regexp.MustCompile(`^all 2 processors at once took 2\.\d\d( to 2\.\d\d)? times as long as one alone for \d+ to \d+ % of the time in 2 of 2 runs: `).MatchString(entry.Warnings[0]) {
		t.Errorf("the file warns of %q", entry.Warnings)
	}
	environments := []calibration.Environment{entry.Environment}
	for _, r := range entry.Runs {
		environments = append(environments, r.Environment)
	}
	if len(environments) != 2 {
		t.Fatalf("%d runs", len(environments))
	}
	for n, e := range environments {
		if e.Sentinel.Epochs != 2 || e.Sentinel.Crowded == nil {
			t.Errorf("run %d: %+v", n, e.Sentinel)
		}
	}
	for _, c := range entry.Cases {
		if c.Degraded || len(c.Earlier) != 1 {
			t.Errorf("%s: degraded %t, %d earlier runs, %q", c.Name, c.Degraded, len(c.Earlier), c.Warnings)
		}
	}
}

// A sweep from before the sentinel was recorded can be refitted, and nothing is invented.
func TestASweepWithoutASentinel(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	again := filepath.Join(f.root, "again.json")
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", f.plots)
	if code != 0 {
		t.Fatal(stderr)
	}
	for path, text := range map[string]string{
		harness.EntryFile: readSweep(t, filepath.Join(f.run(t), harness.EntryFile)), f.file: read(t, f.file), again: read(t, again),
	} {
		var file struct{ Hosts []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		if _, warned := file.Hosts[0]["warnings"]; warned || strings.Contains(text, "sentinel") {
			t.Errorf("%s has what nobody saw:\n%s", path, text)
		}
	}
	if read(t, f.file) != read(t, again) {
		t.Error("the refit differs")
	}
}

// The shortest sweep with the real sentinel records the sentinel's times in the file.
func TestTheSentinelOfThisMachine(t *testing.T) {
	f := newFolders(t)
	var out, log strings.Builder
	if err := run(t.Context(), &out, &log, f.args("--ops", "^scale$", "--sizes", "1Ki:4Ki", "--budget", "2s")); err != nil {
		t.Fatal(err)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Hosts[0].Environment.Sentinel
	if s == nil || s.Processors < 1 || !(harness.SentinelTimes(s).OneProcessorSeconds > 0) || !(s.Baseline.OneProcessorSeconds > 0) {
		t.Errorf("%+v", s)
	}
}
