package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/gpu"
	"crossover/kernels"
)

// truth is a machine on which a becomes slower than b at 4 000 samples and takes twice as long at the greatest size.
func truth(seed uint64) *scripted.Machine {
	m := scripted.New(seed, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)}, nil)
	return m
}

// recorded returns a file that says, for this host, that b is fastest from threshold on.
func recorded(threshold int) *calibration.File {
	facts, id := command.HostFacts()
	return &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: id, Facts: facts,
		Environment: calibration.Environment{
			OS: runtime.GOOS, Go: runtime.Version(), ToolVersion: command.Version, Power: "unknown", Thermal: "unknown",
		},
		Created: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		Method:  calibration.Method{BudgetSeconds: 120, Precision: 0.1, Mode: "latency", State: "warm", TieBand: 0.03, Audio: "generated"},
		Cases: []calibration.Case{{
			Name: "fft/batch=1", Operation: "fft", Parameters: map[string]int{"batch": 1},
			Axis: calibration.Axis{Name: "n", Unit: "samples", From: 64, To: 1 << 20},
			Implementations: []calibration.Implementation{
				{Name: "a", Processor: "cpu"}, {Name: "b", Processor: "cpu"},
			},
			Verdict: calibration.Crossover, TieBand: 0.03, Blocks: 100, Sizes: []int{64, 1024, 1 << 20},
			Segments: []calibration.Segment{
				{From: 64, To: threshold - 1, Implementation: "a", Next: []calibration.Alternative{{Implementation: "b", Slowdown: 2}}},
				{From: threshold, To: 1 << 20, Implementation: "b", Interval: &calibration.Interval{Low: threshold - 1, High: threshold + 1},
					Next: []calibration.Alternative{{Implementation: "a", Slowdown: 1.5}}},
			},
		}},
	}}}
}

func save(t *testing.T, file *calibration.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := calibration.Save(path, file); err != nil {
		t.Fatal(err)
	}
	return path
}

func verifyOn(t *testing.T, m *scripted.Machine, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	code = command.Exit(&log, "verify", runOn(t.Context(), m.Command(), &out, &log, args))
	return out.String(), log.String(), code
}

// An edited entry is verified like any other, and one line says that it was edited.
func TestEditedEntry(t *testing.T) {
	path := save(t, recorded(4000))
	const said = "verify: warning: the entry of this host was edited since calibrate wrote it: it does not match its digest\n"
	for _, edited := range []bool{false, true} {
		if edited {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte("4000"), []byte("4001"))
			text = bytes.ReplaceAll(text, []byte(`"to": 3999`), []byte(`"to": 4000`))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, log, code := verifyOn(t, truth(1), "--calibration", path, "--seed", "1")
		want := 0
		if edited {
			want = 1
		}
		if got := strings.Count(log, said); got != want || code != command.ExitOK {
			t.Errorf("edited %v: code %d, said %d times:\n%s", edited, code, got, log)
		}
	}
}

// A line of shapes that somebody asked for is checked like the cases of the catalogue, in its placement.
func TestLinesAreChecked(t *testing.T) {
	file := recorded(32000)
	c := &file.Hosts[0].Cases[0]
	unknown := *c
	c.Name, c.Parameters = "fft/batch=7,shared", map[string]int{"batch": 7, "shared": 1}
	unknown.Name = "fft/colour=3"
	file.Hosts[0].Cases = append(file.Hosts[0].Cases, unknown)
	m := truth(1).Command()
	known := m.Cases()
	var asked []string
	m.Line = func(name string) ([]kernels.Case, error) {
		if asked = append(asked, name); name != "fft/batch=7" {
			return nil, errors.New("no such line")
		}
		caller, shared := known[0], known[0]
		caller.Name, shared.Name, shared.Placement = name, name+",shared", kernels.Shared
		return []kernels.Case{caller, shared}, nil
	}
	m.Cases = func() []kernels.Case { return nil }
	var out, log bytes.Buffer
	code := command.Exit(&log, "verify", runOn(t.Context(), m, &out, &log, []string{"--calibration", save(t, file), "--seed", "1"}))
	if code != command.ExitDrifted || !strings.Contains(out.String(), "fft/batch=7,shared  DRIFTED") || strings.Contains(out.String(), "fft/batch=7 ") {
		t.Errorf("exit %d\n%s%s", code, &out, &log)
	}
	if !strings.Contains(out.String(), "fft/colour=3: not in the catalogue of this version") || strings.Join(asked, " ") != "fft/batch=7 fft/colour=3" {
		t.Errorf("asked for %q\n%s", asked, &out)
	}
	if !strings.Contains(log.String(), "budget 360 s") {
		t.Errorf("with a case elsewhere the budget is another one than 6 min\n%s", &log)
	}
}

func TestVerdictsOfThresholds(t *testing.T) {
	for name, c := range map[string]struct {
		threshold int
		code      int
		verdict   string
	}{
		"right":                {4000, command.ExitOK, "HOLDS"},
		"off by 3 %":           {4120, command.ExitOK, "HOLDS"},
		"eight times too high": {32000, command.ExitDrifted, "DRIFTED"},
		"eight times too low":  {500, command.ExitDrifted, "DRIFTED"},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, recorded(c.threshold))
			for seed := range uint64(10) {
				stdout, stderr, code := verifyOn(t, truth(seed), "--calibration", path, "--seed", "1")
				if code != c.code || !strings.Contains(stdout, c.verdict) {
					t.Errorf("seed %d: exit %d, want %d with %s\n%s%s", seed, code, c.code, c.verdict, stdout, stderr)
				}
			}
		})
	}
}

// Beside another program, right choices may look wrong. So nothing is called drift, and verify says why.
func TestADisturbedMachineTellsNoDrift(t *testing.T) {
	m := truth(1).Command()
	m.Others = func() float64 { return m.Clock.Now().Seconds() } // one processor's whole time
	var out, log bytes.Buffer
	err := runOn(t.Context(), m, &out, &log, []string{"--calibration", save(t, recorded(32000)), "--seed", "1"})
	if err != nil || !strings.Contains(out.String(), "AMBIGUOUS") || !strings.Contains(out.String(), "degraded: other programs") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// On a machine on which everything became three times slower the file still holds, because verify checks choices and not
// times.
func TestSlowerMachineHolds(t *testing.T) {
	m := scripted.New(1, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(3e-6, 6e-9), "b": scripted.Linear(15e-6, 3e-9)}, nil)
	if stdout, _, code := verifyOn(t, m, "--calibration", save(t, recorded(4000))); code != 0 || !strings.HasSuffix(stdout, " still holds: no choice has drifted\n") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

func TestFreshSizesWereNeverUsed(t *testing.T) {
	file := recorded(4000)
	used := map[int]bool{}
	for _, size := range file.Hosts[0].Cases[0].Sizes {
		used[size] = true
	}
	stdout, _, code := verifyOn(t, truth(1), "--calibration", save(t, file), "--json")
	if code != 0 {
		t.Fatal(stdout)
	}
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 1 || len(r.Cases[0].Sizes) < 6 {
		t.Fatalf("%+v: want one case with at least %d sizes", r, 6)
	}
	for _, s := range r.Cases[0].Sizes {
		if used[s.Size] {
			t.Errorf("size %d was used by the calibration", s.Size)
		}
	}
}

func TestWrongValues(t *testing.T) {
	m := scripted.New(1, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)},
		func(implementation string, size int) error {
			if implementation == "b" && size > 100_000 {
				return scripted.Wrong
			}
			return nil
		})
	_, stderr, code := verifyOn(t, m, "--calibration", save(t, recorded(4000)))
	if code != command.ExitWrong || !strings.Contains(stderr, "wrong values: fft/batch=1: b") {
		t.Errorf("exit %d, %q; want exit 5 and what is wrong", code, stderr)
	}
}

// Without an entry of this host, one line says which entry is nearest and how it differs from this host.
func TestNoEntryForThisHost(t *testing.T) {
	facts, id := command.HostFacts()
	if facts.CPUFamily == "" {
		t.Skip("the system does not tell which processor this is")
	}
	for name, c := range map[string]struct {
		change func(*calibration.Host)
		says   string
	}{
		"another id":       {func(h *calibration.Host) { h.ID = "another-machine" }, "no entry for " + id + ", so the near match another-machine stands in: its id is another one"},
		"another stepping": {func(h *calibration.Host) { h.Facts.Stepping = "99" }, "so the near match of that name stands in: its processor is "},
		"a file of version 1.0": {func(h *calibration.Host) { h.Facts.CPUFamily, h.Facts.CPUModel, h.Facts.Stepping = "", "", "" },
			"the file does not say which family, model and stepping its processor has"},
		"another family": {func(h *calibration.Host) { h.ID, h.Facts.Family = "another-machine", "another" }, "no entry for " + id + " and none for its family"},
	} {
		t.Run(name, func(t *testing.T) {
			file := recorded(4000)
			c.change(&file.Hosts[0])
			_, stderr, code := verifyOn(t, truth(1), "--calibration", save(t, file))
			if code != command.ExitNoEntry || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %q; want exit 4 and one line with %q", code, stderr, c.says)
			}
		})
	}
}

func TestFilesThatCannotBeChecked(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.json")
	if err := os.WriteFile(huge, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 100<<20); err != nil {
		t.Fatal(err)
	}
	overlapping := filepath.Join(dir, "overlapping.json")
	valid := save(t, recorded(4000))
	data, err := os.ReadFile(valid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlapping, bytes.Replace(data, []byte(`"from": 4000`), []byte(`"from": 3000`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	short := recorded(4000)
	only := &short.Hosts[0].Cases[0]
	only.Axis.To, only.Sizes, only.Segments, only.Verdict = 64, []int{64}, only.Segments[:1], calibration.Always
	only.Segments[0].To = 64
	truncated := filepath.Join(dir, "truncated.json")
	if err := os.WriteFile(truncated, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"missing":      {[]string{"--calibration", filepath.Join(dir, "none.json")}, command.ExitFailed},
		"a folder":     {[]string{"--calibration", dir}, command.ExitFailed},
		"100 MB":       {[]string{"--calibration", huge}, command.ExitFailed},
		"overlapping":  {[]string{"--calibration", overlapping}, command.ExitFailed},
		"truncated":    {[]string{"--calibration", truncated}, command.ExitFailed},
		"one size":     {[]string{"--calibration", save(t, short)}, command.ExitTooLittle},
		"no such case": {[]string{"--calibration", valid, "--ops", "nothing"}, command.ExitUsage},
		"pattern":      {[]string{"--calibration", valid, "--ops", "("}, command.ExitUsage},
		"budget":       {[]string{"--calibration", valid, "--budget", "0s"}, command.ExitUsage},
		"unknown flag": {[]string{"--nonsense"}, command.ExitUsage},
		"an argument":  {[]string{"file.json"}, command.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := verifyOn(t, truth(1), c.args...)
			if code != c.code || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and one line", code, stdout, stderr, c.code)
			}
			remedies := strings.Count(stderr, "want a file that go run ./cmd/calibrate wrote") + strings.Count(stderr, "calibrate again") + strings.Count(stderr, "(want a file)")
			if damaged := name == "overlapping" || name == "truncated" || name == "a folder"; damaged && remedies != 1 {
				t.Errorf("%q says %d times what to do, want once", stderr, remedies)
			}
		})
	}
}

func TestCasesOfAnotherVersionAreSkipped(t *testing.T) {
	file := recorded(4000)
	other := file.Hosts[0].Cases[0]
	other.Name = "fft/unheard=1"
	file.Hosts[0].Cases = append(file.Hosts[0].Cases, other)
	stdout, stderr, code := verifyOn(t, truth(1), "--calibration", save(t, file))
	if code != 0 || !strings.Contains(stdout, "fft/unheard=1: not in the catalogue") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// A calibration of cold calls is verified with cold calls.
func TestStateOfTheCalibration(t *testing.T) {
	for state, cold := range map[string]bool{"warm": false, "cold": true} {
		file := recorded(4000)
		file.Hosts[0].Method.State = state
		machine := truth(1).Command()
		forgotten := 0
		machine.Forget = func() { forgotten++ }
		var out, log bytes.Buffer
		err := runOn(t.Context(), machine, &out, &log, []string{"--calibration", save(t, file), "--seed", "1"})
		if err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if (forgotten > 0) != cold {
			t.Errorf("%s: what is kept between calls was dropped %d times", state, forgotten)
		}
	}
}

// A GPU that is lost during the check is no drift: what it was chosen for could not be measured.
func TestALostGPU(t *testing.T) {
	file := recorded(4000)
	file.Hosts[0].Cases[0].Implementations[1].Processor = "gpu"
	for _, after := range []int{0, 50, 2000} {
		m := scripted.New(1, 0.01)
		m.OnGPU("b")
		calls := 0
		m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)},
			func(implementation string, _ int) error {
				if implementation != "b" {
					return nil
				}
				if calls++; calls > after {
					return fmt.Errorf("cuda: launch failed: %w", gpu.ErrLost)
				}
				return nil
			})
		stdout, stderr, code := verifyOn(t, m, "--calibration", save(t, file), "--seed", "1")
		const line = "verify: warning: the GPU was lost during the sweep (cuda: launch failed: the GPU was lost)"
		if code != command.ExitOK || strings.Count(stderr, line) != 1 || !strings.Contains(stdout, "HOLDS") {
			t.Errorf("after %d calls: exit %d\n%s%s", after, code, stdout, stderr)
		}
	}
}

// Whatever sizes a file has, verify measures only sizes of this version's catalogue.
func TestAnAxisBeyondTheCatalogue(t *testing.T) {
	file := recorded(4000)
	c := &file.Hosts[0].Cases[0]
	c.Axis.To, c.Segments[1].To, c.Sizes[2] = 1<<40, 1<<40, 1<<40
	m := truth(1)
	stdout, stderr, _ := verifyOn(t, m, "--calibration", save(t, file), "--json", "--seed", "1")
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	for _, s := range r.Cases[0].Sizes {
		if s.Size > m.Command().Cases()[0].Axis.Max {
			t.Errorf("it measured %d samples", s.Size)
		}
	}
	c.Axis.From, c.Axis.To, c.Segments, c.Sizes = 1<<39, 1<<40, c.Segments[:1], []int{1 << 39, 1 << 40}
	c.Segments[0].From, c.Segments[0].To, c.Verdict = 1<<39, 1<<40, calibration.Always
	if _, stderr, code := verifyOn(t, truth(1), "--calibration", save(t, file)); code == command.ExitOK || !strings.Contains(stderr, "this version takes 64 to") {
		t.Errorf("exit %d for sizes that no case takes: %s", code, stderr)
	}
}

func TestForceIsNotHeeded(t *testing.T) {
	t.Setenv("CROSSOVER_FORCE", "fft=a")
	_, stderr, code := verifyOn(t, truth(1), "--calibration", save(t, recorded(4000)), "--seed", "1")
	if code != command.ExitOK || !strings.Contains(stderr, "CROSSOVER_FORCE=fft=a is ignored") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
