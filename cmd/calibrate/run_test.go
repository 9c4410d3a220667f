package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
)

// twoCases is a machine with two cases. In one, a becomes slower than b at 4 000 samples. In the other, the fastest
// implementation never changes.
func twoCases(seed uint64) *scripted.Machine {
	m := scripted.New(seed, 0.01)
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)}, nil)
	m.Add("sum", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "b": scripted.Linear(1e-6, 2e-9)}, nil)
	return m
}

// folders holds the places that a run writes to.
type folders struct{ root, file, data, plots string }

func newFolders(t *testing.T) folders {
	root := t.TempDir()
	return folders{root, filepath.Join(root, "calibration.json"), filepath.Join(root, "data"), filepath.Join(root, "plots")}
}

func (f folders) args(more ...string) []string {
	return append([]string{"-o", f.file, "--data", f.data, "--plots", f.plots, "--seed", "7"}, more...)
}

// host returns the folder of this host's samples.
func (f folders) host() string {
	_, id := command.HostFacts()
	return filepath.Join(f.data, id)
}

// run returns the folder of the only finished run of this host.
func (f folders) run(t *testing.T) string {
	t.Helper()
	return onlyRun(t, f.host())
}

// onlyRun returns the only run in the folder of a host.
func onlyRun(t *testing.T, host string) string {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(host, "2*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%s holds the runs %v (%v), want one", host, runs, err)
	}
	return runs[0]
}

// calibrateOn runs the command and returns what it printed.
func calibrateOn(t *testing.T, m *scripted.Machine, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	err := runOn(t.Context(), m.Command(), &out, &log, args)
	code = command.Exit(&log, "calibrate", err)
	return out.String(), log.String(), code
}

// unwrapped joins wrapped lines of notes.
func unwrapped(text string) string { return strings.ReplaceAll(text, "\n  ", " ") }

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// readSweep returns the text of the entry beside a run's samples.
func readSweep(t *testing.T, path string) string {
	t.Helper()
	text, err := gzip.NewReader(strings.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// writeSweep writes the entry beside a run's samples, as an editor of compressed files would.
func writeSweep(t *testing.T, path, text string) {
	t.Helper()
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCalibrateFindsTheScriptedCrossover(t *testing.T) {
	f := newFolders(t)
	stdout, stderr, code := calibrateOn(t, twoCases(1), f.args()...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	_, id := command.HostFacts()
	fft := file.Host(id).Cases[0]
	if fft.Verdict != calibration.Crossover || len(fft.Segments) != 2 {
		t.Fatalf("verdict %q with %d segments, want one crossover", fft.Verdict, len(fft.Segments))
	}
	if s := fft.Segments[1]; s.Implementation != "b" || s.Interval.Low > 4000 || s.Interval.High < 4000 || s.From < 3600 || s.From > 4400 {
		t.Errorf("threshold %d (%d to %d) to %s, want about 4000 to b", s.From, s.Interval.Low, s.Interval.High, s.Implementation)
	}
	if sum := file.Host(id).Cases[1]; sum.Verdict != calibration.Always || sum.Segments[0].Implementation != "a" {
		t.Errorf("sum is %q %v, want always a", sum.Verdict, sum.Segments)
	}
	for _, want := range []string{"fft/batch=1", "crossover", "always", "95 % INTERVAL", id} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, stdout)
		}
	}
	for _, path := range []string{
		filepath.Join(f.plots, id, "fft_batch=1.png"), filepath.Join(f.plots, id, "sum.png"), filepath.Join(f.plots, id, "overview.png"),
		harness.CaseFile(f.run(t), "fft/batch=1"), harness.CaseFile(f.run(t), "sum"), filepath.Join(f.run(t), harness.EntryFile),
	} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestRefitGivesTheSameBytes(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	want := read(t, f.file)
	again := filepath.Join(f.root, "again.json")
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", filepath.Join(f.root, "p2"))
	if code != 0 {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(want, read(t, again)); diff != "" {
		t.Errorf("refit differs (-first +refit):\n%s", diff)
	}
}

func TestMergeKeepsOtherHosts(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	file.Hosts[0].ID = "another-machine"
	if err := calibration.Save(f.file, file); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := calibrateOn(t, twoCases(2), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	if file, err = calibration.Load(f.file); err != nil || len(file.Hosts) != 2 || file.Host("another-machine") == nil {
		t.Errorf("%d hosts after a merge (%v), want this one and another-machine", len(file.Hosts), err)
	}
}

func TestUsageErrors(t *testing.T) {
	f := newFolders(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":        {[]string{"--sises", "1:2"}, "unknown flag: --sises"},
		"argument":            {[]string{"fft"}, `unexpected argument "fft"`},
		"sizes backwards":     {[]string{"--sizes", "2:1"}, "upper bound 1 is below lower bound 2"},
		"sizes that overflow": {[]string{"--sizes", "1:9223372036854775807Ki"}, "more than 1024Gi"},
		"sizes outside":       {[]string{"--sizes", "1:2"}, "lies outside every case"},
		"pattern":             {[]string{"--ops", "("}, "--ops"},
		"no case":             {[]string{"--ops", "nothing"}, "matches no case (there are fft/batch=1, sum)"},
		"implementation":      {[]string{"--impl", "a,zz"}, `--impl "zz": no such implementation`},
		"budget":              {[]string{"--budget", "-1s"}, "--budget -1s"},
		"budget without unit": {[]string{"--budget", "5"}, "--budget"},
		"precision":           {[]string{"--precision", "NaN"}, "--precision NaN"},
		"mode":                {[]string{"--mode", "turbo"}, "want latency or throughput"},
		"seed":                {[]string{"--seed", "x"}, "--seed"},
		"empty output":        {[]string{"-o", ""}, "--output is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := calibrateOn(t, twoCases(1), append(f.args(), c.args...)...)
			if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 2 and one line with %q", code, stdout, stderr, c.want)
			}
		})
	}
	if _, err := os.Stat(f.file); err == nil {
		t.Error("a usage error left a calibration file")
	}
}

// Places of which one is a folder and the calibration file at once are refused before anything is measured or made.
func TestOutputsThatExcludeEachOther(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"-o", "d.json", "--data", "d.json"}, {"--plots", "p.json", "-o", "p.json"}, {"-o", "d.json", "--data", "./x/../d.json/below"},
		{"--data", "calibration.json"}, {"-o", "d/"}, {"-o", "."}, {"-o", "d.json", "--plots", "d.json", "--from", "runs"},
	} {
		m := twoCases(1)
		_, stderr, code := calibrateOn(t, m, args...)
		if code != command.ExitUsage || !strings.Contains(stderr, "--output ") || strings.Count(stderr, "\n") != 1 || m.Now().Seconds() > 0.001 {
			t.Errorf("%q: exit %d after %v, %q; want exit 2 and one line at once", args, code, m.Now(), stderr)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 0 {
		t.Errorf("there are %v", left)
	}
	succeed(t, twoCases(1), "-o", "d/d.json", "--data", "d", "--plots", "d/d.json.plots", "--quick")
}

func TestBrokenOutputIsRefusedAndKept(t *testing.T) {
	restore := " (restore it, e.g. from git, or move it away and calibrate again), or write elsewhere (-o FILE)\n"
	for name, c := range map[string]struct{ content, end string }{
		"empty":       {"", "the file is empty" + restore},
		"truncated":   {`{"schema_version": "1.0", "hosts": [`, "the file is cut short" + restore},
		"not JSON":    {"hello", "looking for beginning of value" + restore},
		"newer":       {`{"schema_version": "3.0", "hosts": []}`, "; update crossover, or write elsewhere (-o FILE)\n"},
		"older":       {`{"schema_version": "0.3", "hosts": []}`, "; calibrate again, or write elsewhere (-o FILE)\n"},
		"overlapping": {`{"schema_version": "1.0", "hosts": [{"id": "x"}, {"id": "x"}]}`, ": mend it, or write elsewhere (-o FILE)\n"},
	} {
		content := c.content
		t.Run(name, func(t *testing.T) {
			f := newFolders(t)
			if err := os.WriteFile(f.file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, stderr, code := calibrateOn(t, twoCases(1), f.args()...)
			if code != command.ExitFailed || !strings.HasSuffix(stderr, c.end) || strings.Contains(stderr, "--force") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stderr %q; want exit 1 and one line that ends with %q, without --force", code, stderr, c.end)
			}
			if read(t, f.file) != content {
				t.Error("the file was changed")
			}
			if _, stderr, code := calibrateOn(t, twoCases(1), f.args("--force")...); code != 0 {
				t.Errorf("--force: exit %d: %s", code, stderr)
			}
			if _, err := calibration.Load(f.file); err != nil {
				t.Errorf("after --force: %v", err)
			}
			if read(t, f.file+".bak") != content {
				t.Error("--force kept no copy of what was there")
			}
		})
	}
}

func TestLesserRunDoesNotReplaceALargerEntry(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	before := read(t, f.file)
	for _, args := range [][]string{{"--budget", "1s"}, {"--quick"}, {"--impl", "a"}, {"--sizes", "64:4Ki"}} {
		_, stderr, code := calibrateOn(t, twoCases(1), f.args(args...)...)
		if code != command.ExitFailed || !strings.Contains(stderr, "--force") {
			t.Errorf("%v: exit %d, %q; want a refusal that names --force", args, code, stderr)
		}
	}
	if read(t, f.file) != before {
		t.Error("the file was changed")
	}
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args("--quick", "--force")...); code != 0 {
		t.Error(stderr)
	}
}

func TestUnwritableFolders(t *testing.T) {
	for _, flag := range []string{"-o", "--data", "--plots"} {
		f := newFolders(t)
		blocker := filepath.Join(f.root, "blocker")
		if err := os.WriteFile(blocker, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		m := twoCases(1)
		_, stderr, code := calibrateOn(t, m, f.args(flag, filepath.Join(blocker, "below", "x"))...)
		if code != command.ExitFailed || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s below a file: exit %d, %q; want exit 1 and one line", flag, code, stderr)
		}
		if m.Now().Seconds() > 0.001 {
			t.Errorf("%s below a file: %v were spent before the error", flag, m.Now())
		}
	}
}

func TestInterruptLosesNothing(t *testing.T) {
	f := newFolders(t)
	if _, stderr, code := calibrateOn(t, twoCases(1), f.args()...); code != 0 {
		t.Fatal(stderr)
	}
	before := read(t, f.file)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := scripted.New(3, 0.01)
	calls := 0
	m.Add("fft/batch=1", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 2e-9), "b": scripted.Linear(5e-6, 1e-9)},
		func(string, int) error {
			if calls++; calls == 30000 {
				cancel()
			}
			return nil
		})
	m.Add("sum", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9)}, nil)
	var log bytes.Buffer
	code := command.Exit(&log, "calibrate", runOn(ctx, m.Command(), io.Discard, &log, f.args()))
	if code != command.ExitInterrupted || !strings.Contains(log.String(), "--from") {
		t.Fatalf("exit %d, %q; want exit 130 and a line that names --from", code, log.String())
	}
	if read(t, f.file) != before {
		t.Error("an interrupted run changed the calibration file")
	}
	refitted := filepath.Join(f.root, "refitted.json")
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", advised(t, log.String()), "-o", refitted)
	if code != 0 {
		t.Fatalf("refit of an interrupted sweep: %s", stderr)
	}
	file, err := calibration.Load(refitted)
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Hosts[0].Cases[0]; c.Blocks == 0 {
		t.Error("the blocks from before the interrupt are lost")
	}
}

func TestFailingAndWrongImplementations(t *testing.T) {
	f := newFolders(t)
	m := scripted.New(1, 0.01)
	costs := map[string]scripted.Cost{
		"broken": scripted.Linear(1e-7, 1e-10), "good": scripted.Linear(1e-6, 1e-9), "wrong": scripted.Linear(1e-7, 1e-10),
	}
	m.Add("fft/batch=1", costs, func(implementation string, size int) error {
		switch {
		case implementation == "broken" && size > 3000:
			return errors.New("out of device memory")
		case implementation == "wrong":
			return scripted.Wrong
		}
		return nil
	})
	stdout, stderr, code := calibrateOn(t, m, f.args()...)
	if code != 0 {
		t.Fatal(stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	c := file.Hosts[0].Cases[0]
	for _, s := range c.Segments {
		if s.Implementation == "wrong" || s.Implementation == "broken" && s.To > 3000 {
			t.Errorf("%s was chosen up to %d", s.Implementation, s.To)
		}
	}
	for _, want := range []string{"out of device memory", "relative error"} {
		if !strings.Contains(unwrapped(stdout), want) {
			t.Errorf("the table does not say %q:\n%s", want, stdout)
		}
	}
}

func TestFromNothing(t *testing.T) {
	f := newFolders(t)
	_, stderr, code := calibrateOn(t, twoCases(1), "--from", f.root, "-o", f.file)
	if code != command.ExitFailed || !strings.Contains(stderr, "holds no sweep") {
		t.Errorf("exit %d, %q; want exit 1 and a line that says what is missing", code, stderr)
	}
}

func TestInformationOnly(t *testing.T) {
	for flag, want := range map[string]string{
		"--help":    "Usage: calibrate [flags]",
		"--version": "calibrate " + command.Version,
		"--list":    "a, b",
		"--dry-run": "about 120 s of measuring",
	} {
		f := newFolders(t)
		m := twoCases(1)
		stdout, stderr, code := calibrateOn(t, m, f.args(flag)...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", flag, code, stdout, stderr, want)
		}
		if entries, _ := os.ReadDir(f.root); len(entries) != 0 {
			t.Errorf("%s wrote %v", flag, entries)
		}
	}
}

func TestBrokenRecordings(t *testing.T) {
	f := newFolders(t)
	for name, content := range map[string]string{"text": "not a recording", "empty": "", "header only": "RIFF\x04\x00\x00\x00WAVE"} {
		path := filepath.Join(f.root, "x.wav")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := calibrateOn(t, twoCases(1), f.args("--audio", path)...)
		if code != command.ExitFailed || !strings.Contains(stderr, "--audio") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want exit 1 and one line", name, code, stderr)
		}
	}
}

// full is a device without room after some bytes, as /dev/full is.
type full struct{ room int }

func (f *full) Write(text []byte) (int, error) {
	n := min(len(text), f.room)
	if f.room -= n; n < len(text) {
		return n, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	}
	return n, nil
}

// What cannot be printed is an error. The calibration file is written all the same.
func TestAResultThatCannotBePrinted(t *testing.T) {
	f := newFolders(t)
	for k, args := range [][]string{
		f.args("--quick"), f.args("--quick", "--json"), {"-o", f.file, "--choose", "sum", "5"}, {"--list"}, {"--help"}, {"--simulate", "list"},
		f.args("--dry-run"),
	} {
		for _, room := range []int{0, 5} {
			var log bytes.Buffer
			err := runOn(t.Context(), twoCases(1).Command(), &full{room}, &log, args)
			code := command.Exit(&log, "calibrate", err)
			if code != command.ExitFailed || !strings.HasSuffix(log.String(), "calibrate: cannot print all of the result: no space left on device\n") ||
				k == 0 && !strings.Contains(log.String(), "wrote "+f.file) {
				t.Errorf("%q: exit %d, %q", args, code, log.String())
			}
		}
	}
	if _, err := calibration.Load(f.file); err != nil {
		t.Error(err)
	}
}

func TestJSONIsTheEntry(t *testing.T) {
	f := newFolders(t)
	stdout, stderr, code := calibrateOn(t, twoCases(1), f.args("--json", "--quick")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	if stdout != read(t, f.file) {
		t.Errorf("--json printed %s, the file holds %s", stdout, read(t, f.file))
	}
	quiet, _, _ := calibrateOn(t, twoCases(1), f.args("-q", "--quick")...)
	if quiet != "" {
		t.Errorf("-q printed %q", quiet)
	}
}

// The shortest useful run of the real catalogue on this machine writes a file that loads.
func TestCalibrateThisMachine(t *testing.T) {
	f := newFolders(t)
	var out, log bytes.Buffer
	args := f.args("--ops", "^(scale|fft/batch=1)$", "--sizes", "1Ki:8Ki", "--budget", "6s")
	if err := run(t.Context(), &out, &log, args); err != nil {
		t.Fatal(err)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Hosts[0].Cases {
		if c.Blocks == 0 || len(c.Segments) == 0 {
			t.Errorf("%s: %d blocks, %d segments", c.Name, c.Blocks, len(c.Segments))
		}
	}
}

// A broken library counts as missing. One line says so, and nothing fails.
func TestBrokenLibrary(t *testing.T) {
	if os.Getenv("CROSSOVER_TEST_LIST") != "" {
		if err := run(t.Context(), os.Stdout, os.Stderr, []string{"--list"}); err != nil {
			fmt.Println("failed:", err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "libfftw3f.so.3")
	if err := os.WriteFile(path, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := runTest(t, "TestBrokenLibrary", "CROSSOVER_TEST_LIST=1", "CROSSOVER_LIBFFTW3F="+path)
	if !strings.Contains(out, "missing: fftw, ") || !strings.Contains(out, "libfftw3-single3") || strings.Contains(out, "failed:") {
		t.Errorf("--list with a broken libfftw3f printed:\n%s", out)
	}
}

// The table and the overview have the cases in the catalogue's order, whether they were measured or refitted, all or some of
// them. The table of a run over some of them has those alone, and says how many others there are. The file has them in order of names. The machine may have measured them in any order.
func TestTheOrderOfCases(t *testing.T) {
	f := newFolders(t)
	m := scripted.New(1, 0.01)
	for _, name := range []string{"zeta", "fft/n=1024", "sum", "fft/batch=1"} {
		m.Add(name, map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-9), "b": scripted.Linear(1e-6, 2e-9)}, nil)
	}
	overview := filepath.Join(f.plots, filepath.Base(f.host()), "overview.png")
	measured, stderr, code := calibrateOn(t, m, f.args()...)
	if code != 0 {
		t.Fatal(stderr)
	}
	drawn := read(t, overview)
	again, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", f.file, "--data", f.data, "--plots", f.plots)
	if code != 0 {
		t.Fatal(stderr)
	}
	if read(t, overview) != drawn {
		t.Error("a refit draws another overview")
	}
	part, stderr, code := calibrateOn(t, m, f.args("--ops", "^sum$", "--budget", "60s", "--seed", "4711")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	if !strings.Contains(part, "\nsum, ") || strings.Contains(part, "zeta") || strings.Contains(part, "fft") || !strings.Contains(part, " s · seed 4711\n") ||
		!strings.Contains(part, "\n"+filepath.Base(f.file)+" has 3 other cases of this host, not measured by this run\n") {
		t.Errorf("the table of a run over one case is\n%s", part)
	}
	joined, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", f.file, "--data", f.data, "--plots", f.plots)
	if code != 0 {
		t.Fatal(stderr)
	}
	if strings.Contains(joined, "not measured by this run") {
		t.Errorf("the table of all cases leaves some out:\n%s", joined)
	}
	for what, table := range map[string]string{"measured": measured, "refitted": again, "joined": joined} {
		at := -1
		for _, name := range []string{"\nsum, ", "\nfft/batch=1, ", "\nfft/n=1024, ", "\nzeta, "} {
			next := strings.Index(table, name)
			if next <= at {
				t.Errorf("%s: %q is at %d, behind what comes before it at %d:\n%s", what, name, next, at, table)
			}
			at = next
		}
	}
}

// A note of a sweep that many cases have is printed once. The texts are those that a sweep writes.
func TestNotesOfASweepAreFolded(t *testing.T) {
	m := scripted.New(1, 0.01)
	for _, name := range []string{"sum", "fft/batch=1"} {
		m.Add(name, map[string]scripted.Cost{
			"slow": scripted.Linear(1e-6, 1e-5), "good": scripted.Linear(2e-6, 2e-8), "better": scripted.Linear(4e-6, 1e-8),
		}, nil)
	}
	m.Add("scale", map[string]scripted.Cost{"a": scripted.Linear(1e-6, 1e-4), "b": scripted.Linear(1e-4, 1e-4)}, nil)
	stdout, stderr, code := calibrateOn(t, m, newFolders(t).args("--budget", "10s")...)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{
		"\nfar behind the best, and so not timed at the largest sizes: slow in 2 cases\n",
		"\nstopped early, because visits to larger sizes would take too long (a larger --budget goes further): scale (at ",
	} {
		if strings.Count(unwrapped(stdout), want) != 1 {
			t.Errorf("want %q once:\n%s", want, stdout)
		}
	}
}
