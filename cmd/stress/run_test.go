package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crossover/calibration"
)

// sharedFixture makes a fixture for all tests when it is first called, so that the commands are built once.
var sharedFixture func() (*fixture, error)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "stress-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedFixture = sync.OnceValues(func() (*fixture, error) { return newFixture(context.Background(), folder, "") })
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// One round of each kind, with the real commands.
func TestNothingIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the commands for a few seconds")
	}
	f, err := sharedFixture()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"--rounds", fmt.Sprint(len(kinds)), "--seed", fmt.Sprint(uint32(time.Now().UnixNano()))}
	o, _, err := parse(args, &stdout)
	if err != nil {
		t.Fatal(err)
	}
	folder, remove, err := o.folder() // it stays if something was lost
	if err != nil {
		t.Fatal(err)
	}
	losses, err := o.doRounds(t.Context(), &stdout, &stderr, f, folder)
	if losses == 0 {
		remove()
	}
	if err != nil {
		t.Errorf("%v\n%s%s", err, stderr.String(), stdout.String())
	}
	t.Log("\n" + stdout.String())
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--kinds", "signal,other"}, {"--rounds", "0"}} {
		var out bytes.Buffer
		if err := run(t.Context(), &out, &out, args); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The rounds find losses that were made by hand.
func TestWhatIsALoss(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the commands and calibrates for a few seconds")
	}
	f, err := sharedFixture()
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(path, old, new string) error {
		text, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(text), old) {
			t.Fatalf("%s lacks %q", path, old)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
		}
		return err
	}
	for name, c := range map[string]struct {
		plant func(work string) error
		want  string // "" if nothing
	}{
		"nothing":     {func(string) error { return nil }, ""},
		"no file":     {func(work string) error { return os.Remove(filepath.Join(work, defaultFile)) }, "is gone"},
		"half a file": {func(work string) error { return os.Truncate(filepath.Join(work, defaultFile), 3000) }, "cannot be loaded"},
		"another host's field": {func(work string) error {
			return rewrite(filepath.Join(work, defaultFile), `"of_a_newer_version":[1,  2 ],`, "")
		}, "the entry of z-host has changed"},
		"an edited entry": {func(work string) error {
			return rewrite(filepath.Join(work, defaultFile), `"id": "`+f.host+`",`, `"id": "`+f.host+`", "more": 1,`)
		}, "does not match its digest"},
		"a lost case": {func(work string) error {
			file := readState(filepath.Join(work, defaultFile)).file
			file.SchemaVersion = calibration.SchemaVersion
			file.Host(f.host).Cases = file.Host(f.host).Cases[1:]
			return calibration.Save(filepath.Join(work, defaultFile), file)
		}, "has lost log"},
		"lost samples": {func(work string) error { return os.RemoveAll(filepath.Join(work, defaultData)) }, "the samples of " + f.host},
		"a temporary file": {func(work string) error {
			return os.WriteFile(filepath.Join(work, ".calibration.json.tmp1"), nil, 0o644)
		}, ".calibration.json.tmp1 was left behind"},
		"two runs": {func(work string) error {
			data := filepath.Join(work, defaultData, f.host)
			runs, _ := filepath.Glob(filepath.Join(data, "*"))
			return os.CopyFS(filepath.Join(data, "20260101T000000Z"), os.DirFS(runs[0]))
		}, "holds 2 runs"},
		"half a run": {func(work string) error {
			path := filepath.Join(work, defaultData, f.host, "unfinished-20260101T000000Z-1")
			return os.MkdirAll(path, 0o755)
		}, "cannot be fitted"},
		"a lost chart": {func(work string) error { return os.Remove(filepath.Join(work, "plots", f.host, "sum.png")) }, "a chart is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{fixture: f, random: rand.New(rand.NewPCG(1, 1)), work: t.TempDir()}
			old := r.begin()
			if err := c.plant(r.work); err != nil {
				t.Fatal(err)
			}
			r.check(defaultFile, old, expect{})
			r.checkStrays(defaultFile)
			if found := strings.Join(r.losses, "\n"); (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestWhatIsAnError(t *testing.T) {
	for line, want := range map[string]bool{
		"calibrate: disk full":                                true,
		"calibrate: warning: busy":                            false,
		"calibrate: left out: sum takes 1 to 2":               false,
		"calibrate: what x.json held before is in x.json.bak": false,
		"calibrate: epyc (AMD, 2 cores, 3 GiB) · 1 case · latency · budget 1 s · seed 1":        false,
		"calibrate: sweeps/data/x holds runs; this fits the newest, sweeps/data/x/2026":         false,
		"wrote calibration.json, 2 charts in plots/x and the samples in sweeps/data/x/2026":     false,
		"calibrate: interrupted after 1 s: calibration.json is as it was, and nothing is saved": true,
	} {
		if got := isError("calibrate", line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
