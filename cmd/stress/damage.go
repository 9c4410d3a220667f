package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// damaged cuts or changes a file, runs a command on it, and restores it.
func damaged(r *round, ctx context.Context) {
	r.begin()
	if r.chance(40) {
		r.damagedFile(ctx)
	} else {
		r.damagedSamples(ctx)
	}
	r.finish(ctx)
}

// damage cuts a file or flips one of its bits. It returns the contents before and after.
func (r *round) damage(path string) (before, after []byte, cut bool) {
	before, err := os.ReadFile(path)
	if !r.must(err) || len(before) == 0 {
		return nil, nil, false
	}
	at := r.random.IntN(len(before))
	after = bytes.Clone(before)
	if cut = r.chance(50); cut {
		after = after[:at]
	} else {
		after[at] ^= 1 << r.random.IntN(8)
	}
	r.must(os.WriteFile(path, after, 0o644))
	return before, after, cut
}

func (r *round) damagedFile(ctx context.Context) {
	path := filepath.Join(r.work, defaultFile)
	before, after, _ := r.damage(path)
	old := readState(path)
	a := r.any()
	for a.file != defaultFile {
		a = r.any()
	}
	if a.name == "verify" {
		a.args = []string{"--budget", "1s", "--no-progress"}
	}
	o := r.run(ctx, nil, a.name, a.args...)
	switch force := strings.Contains(o.line, "--force"); {
	case old.err != nil && r.concernsOthers(a, after):
		if now := readState(path); !r.othersStay(a, after, now.text) {
			r.lose("%s: exit %d, and entries of other hosts have changed", o.line, o.code)
		}
	case old.err != nil && !(force && o.code == command.ExitOK):
		if now := readState(path); o.code != command.ExitFailed || !bytes.Equal(now.text, after) {
			r.lose("%s: exit %d on a file that cannot be loaded (%v), which holds %d bytes of %d now", o.line, o.code, old.err, len(now.text), len(after))
		}
	case old.err != nil:
		kept, err := os.ReadFile(path + ".bak")
		if now := readState(path); now.err != nil || !bytes.Equal(kept, after) {
			r.lose("%s: it replaced a broken file by one with %v, and the backup holds %d bytes of %d (%v)", o.line, now.err, len(kept), len(after), err)
		}
	case a.name == "verify" && old.file.Host(r.host) == nil:
		if o.code != command.ExitNoEntry {
			r.lose("%s: exit %d, and the file has no entry of this host", o.line, o.code)
		}
	default:
		if a.name == "verify" && old.file.Host(r.host).Edited && o.code != command.ExitFailed && !strings.Contains(o.stderr, "edited") {
			r.lose("%s: it does not say that the entry was edited: %q", o.line, o.stderr)
		}
		a.expect.harmed = true
		r.judge(ctx, a, o, old, `|calibration\.json|can be checked`)
	}
	r.must(os.WriteFile(path, before, 0o644))
	r.restore()
}

// writes reports whether an action may change the entry of a host.
func (r *round) writes(a action, host string) bool {
	if len(a.expect.hosts) > 0 {
		return slices.Contains(a.expect.hosts, host)
	}
	return host == r.host
}

// concernsOthers reports whether the text of a file is wrong only in entries that an action need not decode.
func (r *round) concernsOthers(a action, text []byte) bool {
	x, err := calibration.ReadIndex(bytes.NewReader(text))
	if err != nil {
		return false
	}
	for k := range x.Entries {
		if _, err := x.Entries[k].Host(); err != nil && r.writes(a, x.Entries[k].ID) {
			return false
		}
	}
	_, err = rawHosts(text)
	return err == nil
}

// othersStay reports whether the entries that an action does not write are the same in two texts of a file.
func (r *round) othersStay(a action, before, after []byte) bool {
	was, errBefore := rawHosts(before)
	is, errAfter := rawHosts(after)
	for id, text := range was {
		if !r.writes(a, id) && is[id] != text {
			return false
		}
	}
	return errBefore == nil && errAfter == nil
}

// restore restores samples and charts.
func (r *round) restore() {
	for _, name := range []string{defaultData, defaultPlots} {
		r.must(os.RemoveAll(filepath.Join(r.work, name)))
		r.must(os.CopyFS(filepath.Join(r.work, name), os.DirFS(filepath.Join(r.base, name))))
	}
}

func (r *round) damagedSamples(ctx context.Context) {
	old := readState(filepath.Join(r.work, defaultFile))
	runs, _ := filepath.Glob(filepath.Join(r.work, defaultData, r.host, "*"))
	if len(runs) != 1 {
		r.lose("the round itself: %d runs", len(runs))
		return
	}
	path := filepath.Join(runs[0], pick(r, []string{harness.EntryFile, harness.EntryFile, "cases/scale.bench.gz", "cases/log.bench.gz", "cases/sum.bench.gz"}))
	before, _, cut := r.damage(path)
	a := r.from(filepath.Join(defaultData, r.host), r.host)
	if r.chance(40) {
		a = r.calibrate(defaultFile)
	}
	a.args = without(a.args, "-q")
	o := r.run(ctx, nil, a.name, a.args...)
	switch name := filepath.Base(path); {
	case o.code == command.ExitOK && a.args[0] == "--from" && (cut || name != harness.EntryFile):
		r.lose("%s: exit 0 on a damaged %s", o.line, name)
	case o.code == command.ExitFailed && a.args[0] == "--from" && !strings.Contains(o.stderr, name):
		r.lose("%s: the error does not name %s: %q", o.line, name, o.stderr)
	}
	a.expect.harmed, a.expect.hosts = true, nil
	// A flipped bit in the facts of a run makes it a run of another machine.
	r.judge(ctx, a, o, old, "|"+defaultData+"|holds another machine as")
	now := readState(filepath.Join(r.work, defaultFile))
	if o.code == command.ExitOK && !strings.Contains(o.stderr, "edited") {
		r.checkRuns(o, now.file.Host(r.host), old.file.Host(r.host))
	}
	if _, err := os.Stat(path); err == nil && bytes.Equal(now.text, old.text) {
		r.must(os.WriteFile(path, before, 0o644))
		return
	}
	r.forced = true // the old run is damaged, so it is not removed with the old entry
	r.must(os.WriteFile(filepath.Join(r.work, defaultFile), old.text, 0o644))
	r.restore()
}

// checkRuns tests that cases with the same samples still have the same run and machine on record.
func (r *round) checkRuns(o *outcome, now, old *calibration.Host) {
	if now == nil || old == nil {
		return
	}
	if now.Facts.Chip != old.Facts.Chip || !reflect.DeepEqual(now.Facts, old.Facts) {
		r.lose("%s: exit 0, and the facts of the host are others, without a word", o.line)
	}
	for k := range now.Cases {
		is := &now.Cases[k]
		for j := range old.Cases {
			was := &old.Cases[j]
			if was.Name != is.Name || was.Samples != is.Samples {
				continue
			}
			from, of := old.RunOf(was), now.RunOf(is)
			from.Method.TieBand, of.Method.TieBand = 0, 0 // follows from all cases of a run together
			if !reflect.DeepEqual(from, of) {
				r.lose("%s: exit 0, and the run of %s is said to be another, without a word: %+v, was %+v", o.line, is.Name, of, from)
			}
		}
	}
}

func without(args []string, flag string) []string {
	var rest []string
	for _, a := range args {
		if a != flag {
			rest = append(rest, a)
		}
	}
	return rest
}
