package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// fixtureFolder is the subfolder for what the rounds share.
const fixtureFolder = "fixture"

// The default places of the commands' files, in the folder that they run in.
const (
	defaultFile  = "calibration.json"
	defaultData  = "sweeps/data"
	defaultPlots = "plots"
)

// quick are flags for a short run of a few cases, with few small sizes.
var quick = []string{"--sizes", "64:1Ki:x4", "--no-progress"}

// fixture is what the rounds share: the commands, and a calibration of this host with which most rounds begin.
type fixture struct {
	bin     string
	host    string   // this host's id
	base    string   // folder of a calibration with three cases of this host, and with two other hosts
	foreign []string // folders with samples of further hosts
	ended   int      // the number of a process that has ended
	mounts  mounts   // of the current round
}

// otherHosts are in the fixture's calibration, before and after this host.
var otherHosts = []string{"a-host", "z-host"}

func newFixture(ctx context.Context, folder, commands string) (*fixture, error) {
	folder = filepath.Join(folder, fixtureFolder)
	f := &fixture{bin: filepath.Join(folder, "bin"), base: filepath.Join(folder, "base")}
	if err := os.MkdirAll(f.base, 0o755); err != nil {
		return nil, err
	}
	if commands == "" {
		build := exec.CommandContext(ctx, "go", "build", "-o", f.bin+string(filepath.Separator), "crossover/cmd/calibrate", "crossover/cmd/verify")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot build calibrate and verify: %w: %s", err, out)
		}
	} else {
		var err error
		if f.bin, err = filepath.Abs(commands); err != nil {
			return nil, err
		}
	}
	_, f.host = command.HostFacts()
	if err := f.calibrateBase(ctx); err != nil {
		return nil, fmt.Errorf("the calibration that the rounds begin with: %w", err)
	}
	if err := f.addHosts(); err != nil {
		return nil, err
	}
	return f, f.makeForeign(ctx, filepath.Join(folder, "foreign"))
}

func (f *fixture) program(name string) string { return filepath.Join(f.bin, name) }

// calibrateBase measures the calibration, with growing budgets until each of its cases has segments.
func (f *fixture) calibrateBase(ctx context.Context) error {
	for budget := 2; ; budget *= 2 {
		args := append(slices.Clone(quick), "--ops", "^(scale|log|sum)$", "--budget", fmt.Sprintf("%ds", budget), "--seed", "1", "--force")
		program := exec.CommandContext(ctx, f.program("calibrate"), args...)
		program.Dir = f.base
		out, err := program.CombinedOutput()
		if program.ProcessState == nil || err != nil && budget > 20 {
			return fmt.Errorf("%w: %s", err, out)
		}
		f.ended = program.ProcessState.Pid()
		if file, err := calibration.Load(filepath.Join(f.base, defaultFile)); err == nil {
			mine := file.Host(f.host)
			if mine == nil {
				return fmt.Errorf("it has no entry of %s: calibrate is of another version", f.host)
			}
			if !slices.ContainsFunc(mine.Cases, func(c calibration.Case) bool { return len(c.Segments) == 0 }) {
				return nil
			}
		}
		for _, name := range []string{defaultFile, "sweeps", defaultPlots} {
			if err := os.RemoveAll(filepath.Join(f.base, name)); err != nil {
				return err
			}
		}
		if budget > 20 {
			return errors.New("the machine is too busy to measure three cases")
		}
	}
}

// addHosts adds other hosts to the calibration. One of them has a field that this version does not know.
func (f *fixture) addHosts() error {
	path := filepath.Join(f.base, defaultFile)
	file, err := calibration.Load(path)
	if err != nil {
		return err
	}
	for _, id := range otherHosts {
		other := *file.Host(f.host)
		other.ID = id
		if err := file.Merge(other); err != nil {
			return err
		}
	}
	if err := calibration.Save(path, file); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known := []byte(`"id": "z-host",`)
	return os.WriteFile(path, bytes.Replace(text, known, append(known, `  "of_a_newer_version":[1,  2 ],`...), 1), 0o644)
}

// makeForeign makes folders with samples of hosts that the calibration does not have.
func (f *fixture) makeForeign(ctx context.Context, folder string) error {
	r, err := harness.Load(filepath.Join(f.base, defaultData, f.host))
	if err != nil {
		return err
	}
	for n := range foreignHosts {
		r.Entry.ID = foreignHost(n)
		path := filepath.Join(folder, r.Entry.ID)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := r.Save(ctx, path); err != nil {
			return err
		}
		f.foreign = append(f.foreign, path)
	}
	return nil
}

// foreignHosts is the number of hosts of makeForeign.
const foreignHosts = 6

func foreignHost(n int) string { return fmt.Sprintf("foreign-%d", n) }

// copyBase copies the calibration into a folder. newer changes the file to a newer minor version.
func (f *fixture) copyBase(folder string, newer bool) error {
	if err := os.CopyFS(folder, os.DirFS(f.base)); err != nil || !newer {
		return err
	}
	path := filepath.Join(folder, defaultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mine := fmt.Sprintf(`"schema_version": %q,`, calibration.SchemaVersion)
	changed := strings.Replace(string(text), mine, `"schema_version": "2.9",`, 1)
	changed = strings.TrimSuffix(changed, "\n}\n") + ",\n  \"of_a_newer_version\": {\"a\":  1}\n}\n"
	return os.WriteFile(path, []byte(changed), 0o644)
}
