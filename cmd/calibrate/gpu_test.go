package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/gpu"
	"crossover/kernels"
)

// withGPU is a machine whose GPU is faster than its processor from 10 000 samples on.
func withGPU(after func(implementation string, size int) error) *scripted.Machine {
	m := scripted.New(1, 0.01)
	m.OnGPU("cuda")
	m.Add("scale", map[string]scripted.Cost{"go": scripted.Linear(1e-6, 1e-9), "cuda": scripted.Linear(10e-6, 0.1e-9)}, after)
	return m
}

// entryOf runs the command and returns its entry and what it printed.
func entryOf(t *testing.T, f folders, m *scripted.Machine, args ...string) (entry *calibration.Host, stdout, stderr string) {
	t.Helper()
	stdout, stderr, code := calibrateOn(t, m, f.args(args...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	file, err := calibration.Load(f.file)
	if err != nil {
		t.Fatal(err)
	}
	return &file.Hosts[0], stdout, stderr
}

func TestWhereAGPUsTimeGoes(t *testing.T) {
	f := newFolders(t)
	entry, stdout, stderr := entryOf(t, f, withGPU(nil), "-v")
	if took := regexp.MustCompile(`keeping it up took \d+\.\d\d s of \d+ s \(\d+\.\d %\)\n`); !took.MatchString(stderr) {
		t.Errorf("-v does not print %q:\n%s", took, stderr)
	}
	for _, i := range entry.Cases[0].Implementations {
		if i.Name == "go" && i.GPUTimes != nil {
			t.Errorf("the processor has GPU times: %+v", i.GPUTimes)
		}
		if i.Name == "go" {
			continue
		}
		if len(i.GPUTimes) != 2 || i.GPUTimes[0].Size != 64 || i.GPUTimes[1].Size != 1<<20 {
			t.Fatalf("GPU times are %+v, want those of both ends", i.GPUTimes)
		}
		for _, g := range i.GPUTimes {
			cost := 10e-6 + 0.1e-9*float64(g.Size)
			for name, pair := range map[string][2]float64{
				"wall": {g.WallSeconds, cost}, "GPU": {g.GPUSeconds, cost / 2}, "encode": {g.EncodeSeconds, cost / 10},
				"gap": {g.GapSeconds, cost / 10}, "efficiency": {g.LaunchEfficiency, 0.5},
			} {
				// Calls have a noise of one percent, and the clock counts in nanoseconds.
				if math.Abs(pair[0]/pair[1]-1) > 0.02 {
					t.Errorf("%s at %d is %v, want %v", name, g.Size, pair[0], pair[1])
				}
			}
		}
	}
	for _, want := range []string{"LAUNCH EFFICIENCY", "1 048 576", "50 %"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("-v does not print %q:\n%s", want, stdout)
		}
	}
	_, brief, stderr := entryOf(t, f, withGPU(nil))
	if strings.Contains(brief, "LAUNCH") || strings.Contains(stderr, "clock") {
		t.Errorf("without -v it prints:\n%s%s", brief, stderr)
	}

	want := read(t, f.file)
	again := filepath.Join(f.root, "again.json")
	if _, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", f.plots); code != 0 {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(want, read(t, again)); diff != "" {
		t.Errorf("refit differs (-first +refit):\n%s", diff)
	}
}

func TestModesAndStates(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want calibration.Method
		says string
	}{
		"by default": {nil, calibration.Method{Mode: "latency", State: "warm"}, "· latency ·"},
		"throughput": {[]string{"--mode", "throughput"},
			calibration.Method{Mode: "throughput", State: "warm", InFlight: 8}, "· throughput with 8 in flight ·"},
		"deep": {[]string{"--mode", "throughput", "--in-flight", "64"},
			calibration.Method{Mode: "throughput", State: "warm", InFlight: 64}, "· throughput with 64 in flight ·"},
		"cold":       {[]string{"--state", "cold"}, calibration.Method{Mode: "latency", State: "cold"}, "· latency, cold ·"},
		"after idle": {[]string{"--state", "after-idle"}, calibration.Method{Mode: "latency", State: "after-idle"}, "· latency, after-idle ·"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolders(t)
			entry, stdout, stderr := entryOf(t, f, withGPU(nil), append(c.args, "--budget", "60s")...)
			if m := entry.Method; m.Mode != c.want.Mode || m.State != c.want.State || m.InFlight != c.want.InFlight {
				t.Errorf("the method is %+v, want %+v", m, c.want)
			}
			if !strings.Contains(stdout, c.says) || !strings.Contains(stderr, c.says) {
				t.Errorf("it does not say %q:\n%s%s", c.says, stdout, stderr)
			}
			if len(entry.Cases[0].Segments) == 0 || entry.Cases[0].Axis.To != 1<<20 {
				t.Errorf("%+v", entry.Cases[0])
			}
			// A calibration of one kind of call does not replace one of another kind.
			before := read(t, f.file)
			other := []string{"--mode", "throughput", "--in-flight", "3"}
			if _, stderr, code := calibrateOn(t, withGPU(nil), f.args(other...)...); code != command.ExitFailed || !strings.Contains(stderr, "--force") {
				t.Errorf("exit %d, %q; want a refusal that names --force", code, stderr)
			}
			if read(t, f.file) != before {
				t.Error("the file was changed")
			}
		})
	}
}

func TestThroughputWithoutAGPU(t *testing.T) {
	entry, stdout, _ := entryOf(t, newFolders(t), twoCases(1), "--mode", "throughput", "--in-flight", "64", "--quick")
	if entry.Method.InFlight != 0 || !strings.Contains(stdout, "· throughput ·") {
		t.Errorf("%d calls of a GPU are in flight that is not there:\n%s", entry.Method.InFlight, stdout)
	}
}

func TestModesThatDoNotGoTogether(t *testing.T) {
	f := newFolders(t)
	for want, args := range map[string][]string{
		"--in-flight 8 with --mode latency: each call is waited for (want --mode throughput)":      {"--in-flight", "8"},
		"--in-flight 0: want a number from 1 to 1024, e.g. 8":                                      {"--mode", "throughput", "--in-flight", "0"},
		"--in-flight 5000: want a number from 1 to 1024, e.g. 8":                                   {"--mode", "throughput", "--in-flight", "5000"},
		`--state "hot": want warm, cold or after-idle`:                                             {"--state", "hot"},
		"--state cold with --mode throughput: calls in a row are warm (want --mode latency)":       {"--mode", "throughput", "--state", "cold"},
		"--state after-idle with --mode throughput: calls in a row are warm (want --mode latency)": {"--mode", "throughput", "--state", "after-idle"},
	} {
		_, stderr, code := calibrateOn(t, withGPU(nil), f.args(args...)...)
		if code != command.ExitUsage || stderr != "calibrate: "+want+"\n" {
			t.Errorf("%v: exit %d, %q; want exit 2 and %q", args, code, stderr, want)
		}
	}
}

// A device that is lost during the sweep loses its later times, and nothing else.
func TestALostGPU(t *testing.T) {
	f := newFolders(t)
	calls := 0
	m := withGPU(func(implementation string, _ int) error {
		if implementation != "cuda" {
			return nil
		}
		if calls++; calls > 300 {
			return fmt.Errorf("cuda: launch failed: %w", gpu.ErrLost)
		}
		return nil
	})
	m.Add("sum", map[string]scripted.Cost{"go": scripted.Linear(1e-6, 1e-9)}, nil)
	entry, stdout, stderr := entryOf(t, f, m)
	const line = "calibrate: warning: the GPU was lost during the sweep (cuda: launch failed: the GPU was lost)"
	if strings.Count(stderr, line) != 1 {
		t.Errorf("stderr is %q, want one line %q", stderr, line)
	}
	if !strings.Contains(unwrapped(stdout), "stopped competing during the sweep: cuda: launch failed") {
		t.Errorf("the table does not say it:\n%s", stdout)
	}
	scale, sum := entry.Cases[0], entry.Cases[1]
	if len(scale.Warnings) != 1 || len(sum.Warnings) != 0 {
		t.Errorf("warnings are %q and %q", scale.Warnings, sum.Warnings)
	}
	if scale.Axis.To != 1<<20 || len(sum.Segments) != 1 {
		t.Errorf("the processor was measured up to %d, sum has %d segments", scale.Axis.To, len(sum.Segments))
	}
	if last := scale.Segments[len(scale.Segments)-1]; last.Implementation != "go" {
		t.Errorf("%s is chosen where it was not measured", last.Implementation)
	}
}

func TestInventory(t *testing.T) {
	there := func() error { return nil }
	missing := func() error { return errors.New("no libcuda.so.1 (install NVIDIA's driver)") }
	version := func() string { return "CUDA 13.0, driver 580.159.04" }
	cases := []kernels.Case{
		{Name: "scale", Implementations: []kernels.Implementation{{Name: "go"}, {Name: "cuda", Probe: there, Version: version}}},
		{Name: "fft", Implementations: []kernels.Implementation{
			{Name: "cuda", Probe: there, Version: version}, {Name: "cuda/direct", Version: version},
			{Name: "cufft", Probe: missing}, {Name: "cublas", Probe: missing}, {Name: "left-out", Probe: missing},
		}},
	}
	var out strings.Builder
	if err := inventory(&out, cases, func(name string) bool { return name != "left-out" }); err != nil {
		t.Fatal(err)
	}
	const want = "\nversion: cuda, cuda/direct: CUDA 13.0, driver 580.159.04\nmissing: cufft, cublas: no libcuda.so.1 (install NVIDIA's driver)\n"
	if out.String() != want {
		t.Errorf("the inventory is %q, want %q", out.String(), want)
	}
}
