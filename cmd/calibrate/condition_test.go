package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/scripted"
	"crossover/harness"
	"crossover/host"
)

// inCondition runs one case of calibrate on a machine whose condition changes at some time.
func inCondition(t *testing.T, until time.Duration, before, after host.Condition, args ...string) (stdout, stderr string) {
	t.Helper()
	m := twoCases(1).Command()
	m.Observe = func() host.Condition {
		if m.Clock.Now() < until {
			return before
		}
		return after
	}
	var out, log bytes.Buffer
	if code := command.Exit(&log, "calibrate", runOn(t.Context(), m, &out, &log, append(args, "--ops", "^sum$"))); code != 0 {
		t.Fatalf("exit %d: %s", code, log.String())
	}
	return out.String(), log.String()
}

var (
	usual    = host.Condition{Power: "mains", PowerMode: "normal", Priority: "normal", Thermal: "nominal", Load: 0.1, OSVersion: "macOS 15.1"}
	lowPower = host.Condition{Power: "mains", PowerMode: "low", Priority: "normal", Thermal: "nominal", Load: 0.1, OSVersion: "macOS 15.1"}
	behind   = host.Condition{Power: "mains", PowerMode: "normal", Priority: "background", Thermal: "nominal", Load: 0.1, OSVersion: "macOS 15.1"}
)

// Conditions that no sentinel sees are printed before and after the sweep, and recorded. A refit keeps them.
func TestConditionsAreToldAndRecorded(t *testing.T) {
	const never, midway = 1000 * time.Hour, 50 * time.Millisecond
	for name, c := range map[string]struct {
		until         time.Duration
		before, after host.Condition
		says          string
		times         int // on stderr
		mode, class   string
	}{
		"nothing to tell":          {never, usual, usual, "running ", 0, "normal", "normal"},
		"low power":                {never, lowPower, lowPower, "running in low-power mode", 2, "low", "normal"},
		"background":               {never, behind, behind, "running in the background", 2, "normal", "background"},
		"low power from midway on": {midway, usual, lowPower, "running in low-power mode", 1, "low", "normal"},
		"low power up to midway":   {midway, lowPower, usual, "running in low-power mode", 2, "low", "normal"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolders(t)
			_, stderr := inCondition(t, c.until, c.before, c.after, f.args()...)
			if n := strings.Count(stderr, "calibrate: warning: "+c.says); n != c.times {
				t.Errorf("%d warnings with %q, want %d:\n%s", n, c.says, c.times, stderr)
			}
			for _, path := range []string{f.file, filepath.Join(f.run(t), harness.EntryFile)} {
				file, err := calibration.Load(path)
				if err != nil {
					t.Fatal(err)
				}
				if e := file.Hosts[0].Environment; e.PowerMode != c.mode || e.Priority != c.class {
					t.Errorf("%s: power mode %q and priority %q, want %q and %q", path, e.PowerMode, e.Priority, c.mode, c.class)
				}
			}
			if told := strings.Contains(read(t, f.file), c.says); told != (c.times > 0) {
				t.Errorf("the file warns of %q: %v", c.says, told)
			}
			again := filepath.Join(f.root, "again.json")
			if _, stderr, code := calibrateOn(t, scripted.New(1, 0), "--from", f.host(), "-o", again, "--plots", f.plots); code != 0 {
				t.Fatal(stderr)
			}
			if diff := cmp.Diff(read(t, f.file), read(t, again)); diff != "" {
				t.Errorf("refit differs (-first +refit):\n%s", diff)
			}
		})
	}
}

// A run after another one prints nothing of other programs. A run beside a compile job prints a warning.
func TestOtherProgramsAreTold(t *testing.T) {
	for _, c := range []struct {
		others float64 // of a processor
		told   bool
	}{{0.01, false}, {1.9, true}} {
		f := newFolders(t)
		m := twoCases(1).Command()
		m.Observe = func() host.Condition {
			after := usual
			after.Load = 2.5 // the load of the run before
			return after
		}
		m.Others = func() float64 { return c.others * m.Clock.Now().Seconds() }
		var out, log bytes.Buffer
		if code := command.Exit(&log, "calibrate", runOn(t.Context(), m, &out, &log, f.args("--ops", "^sum$"))); code != 0 {
			t.Fatalf("exit %d: %s", code, log.String())
		}
		if told := strings.Contains(log.String(), "calibrate: warning: other programs or virtual machines keep 1.9 processors busy, "); told != c.told {
			t.Errorf("others take %v of a processor: told %t\n%s", c.others, told, log.String())
		}
		if degraded := strings.Contains(read(t, f.file), "degraded: other programs or virtual machines took"); degraded != c.told {
			t.Errorf("others take %v of a processor: degraded %t", c.others, degraded)
		}
		if told := strings.Contains(log.String(), "the machine was not quiet for 1 of 1 cases and operations, so choices of this run may be wrong"); told != c.told {
			t.Errorf("others take %v of a processor: said to be restless %t\n%s", c.others, told, log.String())
		}
		if strings.Contains(log.String(), "load") {
			t.Errorf("others take %v of a processor, and the load is told: %s", c.others, log.String())
		}
	}
}

// A run warns if the entry that it replaces was measured under other conditions.
func TestCalibrationUnderOtherConditions(t *testing.T) {
	const says = "the entry that this replaces was measured under other conditions: power mode is low now, normal then"
	f := newFolders(t)
	for n, c := range []struct {
		condition host.Condition
		told      bool
	}{{usual, false}, {usual, false}, {lowPower, true}} {
		if _, stderr := inCondition(t, 0, c.condition, c.condition, f.args("--force")...); strings.Contains(stderr, says) != c.told {
			t.Errorf("calibration %d: told %v, want %v:\n%s", n, !c.told, c.told, stderr)
		}
	}
}

// The list begins with the identity of the machine and then describes the machine, in the words of package calibration.
func TestTheListBeginsWithTheMachine(t *testing.T) {
	facts, id := command.HostFacts()
	stdout, _ := inCondition(t, 0, usual, usual, "--list")
	lines := strings.Split(stdout, "\n")
	if !strings.HasPrefix(lines[0], id) || !strings.Contains(lines[0], host.Facts(facts).Processor()) || !strings.Contains(lines[0], host.Facts(facts).Caches()) ||
		lines[1] != strings.Join(facts.Words(), ", ")+", macOS 15.1" {
		t.Errorf("it begins with %q", lines[:2])
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, &out, []string{"--simulate", "m3-max", "--list"}); err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(out.String(), "\n")
	want := "Apple M3 Max, 12 performance + 4 efficiency cores, GPU Apple M3 Max with 40 cores, "
	if !strings.HasPrefix(lines[0], "SIMULATED: ") || lines[1] != "simulated-apple-m3-max-40" || !strings.HasPrefix(lines[2], want) {
		t.Errorf("the list of a simulation begins with %q", lines[:3])
	}
}
