package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
)

// kinds are the kinds of rounds. They follow each other in turn.
var kinds = []struct {
	name string
	do   func(*round, context.Context)
}{
	{"signal", signalled},
	{"kill", killed},
	{"disk", fullDisk},
	{"together", together},
	{"damage", damaged},
	{"readonly", readOnly},
	{"links", linked},
	{"strays", strays},
}

// beginnings are patterns of files in the folder of a round. When one appears, a part of a run begins in which files change.
// "" is the start of the run.
var beginnings = []string{
	"", "", "*/data/*/unfinished-*", "*/data/*/unfinished-*/cases/*.bench.gz", "*/data/*/unfinished-*/cases/*.bench.gz", "plots/*/.charts-*",
	"plots/*/.charts-*/overview.png", "*/plots/*/.charts-*", ".*.json.lock", ".*.json.lock", ".*.json.lock", ".*.json.tmp*",
}

// moment draws the moment at which a command gets signals.
func (r *round) moment(signals ...os.Signal) *moment {
	at := &moment{pattern: pick(r, beginnings), signals: signals}
	most := 60 * time.Millisecond
	if at.pattern == "" {
		most = 1500 * time.Millisecond
	}
	at.after = time.Duration(float64(most) * math.Pow(r.random.Float64(), 2))
	at.between = time.Duration(r.random.IntN(200)) * time.Millisecond
	return at
}

// signalled ends a run with one or two signals.
func signalled(r *round, ctx context.Context) {
	signals := []int{r.random.IntN(2), r.random.IntN(2)}[:1+r.random.IntN(2)]
	at := r.moment()
	for _, s := range signals {
		at.signals = append(at.signals, systemSignals[s])
	}
	r.interrupted(ctx, at)
}

// killed ends a run by force.
func killed(r *round, ctx context.Context) { r.interrupted(ctx, r.moment(os.Kill)) }

func (r *round) interrupted(ctx context.Context, at *moment) {
	a := r.any()
	r.beginFor(a, 85)
	r.act(ctx, a, at, "")
	if r.chance(30) { // once more, on what the first run left
		r.act(ctx, r.next(a), r.moment(at.signals...), "")
	}
	r.finish(ctx, a.file)
}

// next returns another action on the file of an action.
func (r *round) next(a action) action {
	if a.name == "verify" || a.file != defaultFile {
		return a
	}
	return r.calibrate(defaultFile)
}

// process is a running action.
type process struct {
	action
	end <-chan *outcome
}

// together runs several commands at once on one file.
func together(r *round, ctx context.Context) {
	if r.chance(60) {
		r.begin()
	}
	old := readState(filepath.Join(r.work, defaultFile))
	started, all := r.startTogether(ctx)
	var done []*outcome
	for _, p := range started {
		done = append(done, r.ended(<-p.end))
	}
	if ctx.Err() != nil {
		return
	}
	now := r.check(defaultFile, old, all)
	for k, p := range started {
		r.checkPart(p.action, done[k], now)
	}
	r.finish(ctx)
}

// startTogether starts several commands and returns what all of them together may change.
func (r *round) startTogether(ctx context.Context) (started []process, all expect) {
	hosts, fits, apart := r.random.Perm(foreignHosts), 60, r.random.IntN(100)
	if r.chance(50) { // refits of the same samples, which want to write at the same time
		fits, apart = 100, 0
	}
	var once []string
	for k := range 2 + r.random.IntN(foreignHosts-1) {
		a := r.calibrate(defaultFile)
		if n := hosts[k]; r.chance(fits) {
			a = r.from(r.foreign[n], foreignHost(n))
			all.hosts = append(all.hosts, foreignHost(n))
		} else {
			for _, name := range casesOf(a.args) {
				if slices.Contains(once, name) {
					all.often = append(all.often, name)
				}
				once = append(once, name)
			}
		}
		var at *moment
		if r.chance(20) {
			at = r.moment(pick(r, append(slices.Clone(systemSignals), os.Kill)))
			r.forced = true
		}
		time.Sleep(time.Duration(r.random.IntN(apart+1)) * time.Millisecond)
		started = append(started, process{a, r.start(ctx, at, a.name, a.args...)})
	}
	return started, all
}

// checkPart tests that one of several commands told the truth about itself.
func (r *round) checkPart(a action, o *outcome, now *state) {
	switch {
	case o.code == command.ExitFailed && !strings.Contains(o.stderr, "holds a better calibration") && !strings.Contains(o.stderr, "nothing could be measured"):
		r.lose("%s: it fails with %q", o.line, lastLine(o.stderr))
	case o.code != command.ExitOK:
	case len(a.expect.hosts) > 0:
		if now.file.Host(a.expect.hosts[0]) == nil {
			r.lose("%s: exit 0, and there is no entry of %s", o.line, a.expect.hosts[0])
		}
	default:
		for _, name := range casesOf(a.args) {
			if mine := now.file.Host(r.host); mine == nil || !slices.ContainsFunc(mine.Cases, func(c calibration.Case) bool { return c.Name == name }) {
				r.lose("%s: exit 0, and %s is not there", o.line, name)
			}
		}
	}
}

// casesOf returns the cases that a command line measures.
func casesOf(args []string) []string {
	pattern := args[slices.Index(args, "--ops")+1]
	return strings.FieldsFunc(pattern, func(c rune) bool { return strings.ContainsRune("^$()|", c) })
}

// strays makes files as killed runs leave them, and then makes a good run.
func strays(r *round, ctx context.Context) {
	old := r.begin()
	hour := time.Now().Add(-2 * time.Hour)
	for _, s := range []struct{ name, text string }{
		{".calibration.json.tmp123", "{"},
		{".calibration.json.lock", fmt.Sprintln(r.fixture.ended)},
		{fmt.Sprintf("plots/%s/.charts-%d-1/scale.png", r.host, r.fixture.ended), "x"},
		{fmt.Sprintf("plots/%s/.charts-%d-1/.plot-1", r.host, r.fixture.ended), "x"},
		{fmt.Sprintf("plots/%s/.plot-2", r.host), "x"},
		{fmt.Sprintf("plots/%s/.writable-%d-2", r.host, r.fixture.ended), ""},
		{fmt.Sprintf("sweeps/data/%s/unfinished-20260101T000000Z-%d/cases/.samples-1", r.host, r.fixture.ended), "case"},
		{fmt.Sprintf("sweeps/data/%s/unfinished-20260101T000001Z-%d/cases/scale.bench.gz", r.host, r.fixture.ended), "case"},
		{fmt.Sprintf("sweeps/data/%s/unfinished-20260101T000002Z-%d-2/.sweep.json.gz.tmp1", r.host, r.fixture.ended), ""},
		{fmt.Sprintf(".writable-%d-1", r.fixture.ended), ""},
	} {
		if r.chance(40) {
			continue
		}
		path := filepath.Join(r.work, s.name)
		r.must(os.MkdirAll(filepath.Dir(path), 0o755))
		r.must(os.WriteFile(path, []byte(s.text), 0o644))
		r.must(os.Chtimes(path, hour, hour))
	}
	if r.chance(30) {
		a := r.from(filepath.Join(defaultData, r.host), r.host)
		r.act(ctx, a, nil, "")
	}
	r.check(defaultFile, old, expect{same: true})
	r.finish(ctx)
}

// linked puts the calibration file behind a symbolic link and changes its permissions. Both must stay.
func linked(r *round, ctx context.Context) {
	r.begin()
	path, store := filepath.Join(r.work, defaultFile), filepath.Join(r.work, "store")
	target := filepath.Join("store", "real.json")
	mode := pick(r, []os.FileMode{0o600, 0o640, 0o664})
	ok := r.must(os.Mkdir(store, 0o755)) && r.must(os.Rename(path, filepath.Join(r.work, target))) &&
		r.must(os.Chmod(filepath.Join(r.work, target), mode))
	if r.chance(30) {
		target = filepath.Join(r.work, target)
	}
	if !ok || !r.must(os.Symlink(target, path)) {
		return
	}
	r.own = append(r.own, filepath.Join("store", "real.json"))
	if r.chance(40) { // the folders too
		for _, name := range []string{"plots", "sweeps"} {
			r.must(os.Rename(filepath.Join(r.work, name), filepath.Join(r.folder, name)))
			r.must(os.Symlink(filepath.Join(r.folder, name), filepath.Join(r.work, name)))
			r.own = append(r.own, name)
		}
	}
	var at *moment
	if r.chance(60) {
		at = r.moment(pick(r, append(slices.Clone(systemSignals), os.Kill)))
	}
	r.act(ctx, r.any(), at, "")
	r.finish(ctx, "other.json")
	if link, err := os.Readlink(path); err != nil || link != target {
		r.lose("the link to %s leads to %q, %v", target, link, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm() != mode {
		r.lose("permissions were %v and are %v", mode, info.Mode().Perm())
	}
}
