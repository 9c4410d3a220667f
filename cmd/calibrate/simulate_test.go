package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/dispatch"
	"crossover/harness"
	"crossover/host"
	"crossover/lab/chips"
	"crossover/timings"
)

// simulate runs the command with --simulate in the current folder, on a machine without cases.
func simulate(t *testing.T, chip string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return calibrateOn(t, scripted.New(1, 0), append([]string{"--simulate", chip, "--seed", "7"}, args...)...)
}

// short simulates one case whose threshold is in the middle on every chip.
var short = []string{"--ops", "^log$", "--budget", "5s"}

func TestEveryChipIsSimulated(t *testing.T) {
	for _, name := range chips.Names() {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			stdout, stderr, code := simulate(t, name, short...)
			if code != 0 {
				t.Fatal(stderr)
			}
			for what, said := range map[string]string{"table": stdout, "announcement": stderr} {
				if !strings.HasPrefix(said, "SIMULATED: ") {
					t.Errorf("the %s does not begin with SIMULATED:\n%s", what, said)
				}
			}
			own := filepath.Join("simulated", name)
			for _, path := range []string{own + ".json", filepath.Join(onlyRun(t, filepath.Join(own, "data")), harness.EntryFile)} {
				file, err := calibration.Load(path)
				if err != nil {
					t.Fatal(err)
				}
				h := file.Hosts[0]
				if !h.Simulated || !strings.HasPrefix(h.ID, calibration.SimulatedPrefix) || len(file.Hosts) != 1 {
					t.Errorf("%s holds %s, simulated %v", path, h.ID, h.Simulated)
				}
			}
			set, err := timings.Load(harness.CaseFile(onlyRun(t, filepath.Join(own, "data")), "log"))
			if err != nil || !set.Simulated {
				t.Errorf("the samples say simulated %v (%v)", set != nil && set.Simulated, err)
			}
			for _, chart := range []string{"log.png", "overview.png"} {
				if _, err := os.Stat(filepath.Join(own, "plots", chart)); err != nil {
					t.Error(err)
				}
			}
			if left, _ := os.ReadDir("."); len(left) != 1 {
				t.Errorf("beside simulated/ it wrote %v", left)
			}
		})
	}
}

func TestSimulationFindsTheModelsCrossover(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr, code := simulate(t, "m1", short...); code != 0 {
		t.Fatal(stderr)
	}
	file, err := calibration.Load("simulated/m1.json")
	if err != nil {
		t.Fatal(err)
	}
	c := file.Hosts[0].Cases[0]
	// By the cost formula, 0.2 µs + n·20/51.2 GFLOPS = 132 µs + 296 µs + n·8/60.6 GB/s. The rise of the clock after pauses
	// and a budget of 5 s leave a factor of 1.3.
	const want = 1.66e6
	if n := len(c.Segments); n != 2 || c.Segments[1].Implementation != "metal" ||
		float64(c.Segments[1].From) < want/1.3 || float64(c.Segments[1].From) > want*1.3 {
		t.Errorf("%+v", c.Segments)
	}
	for _, i := range c.Implementations {
		if (i.Processor == "gpu") != (len(i.GPUTimes) == 2) {
			t.Errorf("%s on the %s tells %+v", i.Name, i.Processor, i.GPUTimes)
		}
	}
}

func TestSimulationRefits(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr, code := simulate(t, "m2-pro", short...); code != 0 {
		t.Fatal(stderr)
	}
	want := read(t, "simulated/m2-pro.json")
	stdout, stderr, code := calibrateOn(t, scripted.New(1, 0), "--simulate", "m2-pro", "--from", "simulated/m2-pro/data", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("the refit prints something else (-file +refit):\n%s", diff)
	}
	if diff := cmp.Diff(want, read(t, "simulated/m2-pro.json")); diff != "" {
		t.Errorf("the refit writes something else (-file +refit):\n%s", diff)
	}
	for name, args := range map[string][]string{
		"without --simulate":  {"--from", "simulated/m2-pro/data"},
		"as another chip":     {"--from", "simulated/m2-pro/data", "--simulate", "m1"},
		"as another, outputs": {"--from", "simulated/m2-pro/data", "--simulate", "m1", "-o", "x.json", "--plots", "x"},
	} {
		_, stderr, code := calibrateOn(t, scripted.New(1, 0), args...)
		if code != command.ExitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want exit 2 and one line", name, code, stderr)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 1 {
		t.Errorf("refused refits wrote %v", left)
	}
}

// The same seed gives the same simulation, except for the date.
func TestSimulationsRepeat(t *testing.T) {
	var found [2]calibration.Host
	for k := range found {
		t.Chdir(t.TempDir())
		if _, stderr, code := simulate(t, "m4", short...); code != 0 {
			t.Fatal(stderr)
		}
		file, err := calibration.Load("simulated/m4.json")
		if err != nil {
			t.Fatal(err)
		}
		found[k] = file.Hosts[0]
		found[k].Created = found[0].Created
	}
	if diff := cmp.Diff(found[0], found[1]); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

// No flags make a simulation write over measurements or beside them.
func TestSimulationKeepsAwayFromMeasurements(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr, code := calibrateOn(t, twoCases(1), "--quick", "--seed", "7"); code != 0 {
		t.Fatal(stderr)
	}
	measured := read(t, "calibration.json")
	broken := measured[:len(measured)/2]
	if err := os.WriteFile("broken.json", []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"named":  {"-o", "calibration.json"},
		"forced": {"-o", "calibration.json", "--force"},
		"broken": {"-o", "broken.json", "--force"},
	} {
		_, stderr, code := simulate(t, "m1", append(args, short...)...)
		if code != command.ExitFailed || !strings.Contains(stderr, "-o") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want exit 1 and one line that names -o", name, code, stderr)
		}
	}
	if _, stderr, code := simulate(t, "m1", short...); code != 0 {
		t.Fatal(stderr)
	}
	_, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", "simulated/m1/data", "-o", "calibration.json", "--plots", "x", "--force")
	if code != command.ExitFailed {
		t.Errorf("a refit into a measured file: exit %d, %q", code, stderr)
	}
	if read(t, "calibration.json") != measured || read(t, "broken.json") != broken {
		t.Error("a measured file was changed")
	}
}

// A Mac with that chip does not use the simulation unless its program asks for it.
func TestDispatchRefusesASimulation(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr, code := simulate(t, "m3-max", short...); code != 0 {
		t.Fatal(stderr)
	}
	c, err := chips.Find("m3-max")
	if err != nil {
		t.Fatal(err)
	}
	mac := dispatch.WithHost(host.Facts(chipFacts(c)))
	const file, size = "simulated/m3-max.json", 16 << 20
	d, err := dispatch.Load(file, mac)
	if err != nil {
		t.Fatal(err)
	}
	if chosen := d.Case("log").Choose(size); chosen != dispatch.CPU || d.Fallback() == "" {
		t.Errorf("it chooses %q by a simulation (%s)", chosen, d.Fallback())
	}
	if d, err = dispatch.Load(file, mac, dispatch.AllowSimulated()); err != nil {
		t.Fatal(err)
	}
	if e := d.Case("log").Explain(size); e.Implementation != "metal" || !e.Simulated {
		t.Errorf("allowed to, it says %v", e)
	}
}

func TestSimulationUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		`--simulate "m9": no such chip (want m1, m1-pro`:                                  {"--simulate", "m9"},
		`--simulate "../x": no such chip`:                                                 {"--simulate", "../x"},
		`--simulate "": no such chip`:                                                     {"--simulate", ""},
		`--simulate "m5": no trustworthy figure was found for its GPU clock and peak of`:  {"--simulate", "m5"},
		"--simulate m1 with --mode throughput --state warm: the model knows warm calls":   {"--simulate", "m1", "--mode", "throughput"},
		"--simulate m1 with --mode latency --state cold: the model knows warm calls":      {"--simulate", "m1", "--state", "cold"},
		"--simulate m1 with --audio x.wav: a model computes nothing":                      {"--simulate", "m1", "--audio", "x.wav"},
		`--ops "nothing" matches no case (there are scale, gain`:                          {"--simulate", "m1", "--ops", "nothing"},
		`--impl "cuda": no such implementation in these cases (there are accelerate, acc`: {"--simulate", "m1", "--impl", "cuda"},
	} {
		stdout, stderr, code := calibrateOn(t, twoCases(1), args...)
		if code != command.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "calibrate: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q; want exit 2 and one line with %q", args, code, stderr, want)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 0 {
		t.Errorf("usage errors wrote %v", left)
	}
}

func TestSimulationInformation(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"m4-max":                       {"list"},
		"cannot be simulated":          {"list"},
		"go, go-parallel, accelerate,": {"m1", "--list"},
		"cases, latency: about 120 s":  {"m1", "--dry-run"},
	} {
		var out, log bytes.Buffer
		if err := run(t.Context(), &out, &log, append([]string{"--simulate"}, args...)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %v, %q; want %q", args, err, out.String(), want)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 0 {
		t.Errorf("it wrote %v", left)
	}
}
