package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"crossover/cmd/internal/command"
)

// round is one round: a folder with a calibration, in which one fault happens.
type round struct {
	*fixture
	kind   string
	random *rand.Rand
	folder string // of the round
	work   string // the folder inside it in which the commands run
	log    io.Writer

	own     []string // paths in work of the round's own files
	forced  bool     // a command was killed, or ended with work in the background
	full    bool     // the disk is full
	later   func()   // called as soon as the disk has room again
	skipped string   // why this machine does not allow the fault
	longest time.Duration
	ends    []string
	losses  []string
	done    []string // what was run, for round.txt of a failed round
}

// do runs the round in its folder. The folder stays if something was lost.
func (r *round) do(ctx context.Context, kind func(*round, context.Context)) {
	r.work = filepath.Join(r.folder, "work")
	if err := os.MkdirAll(r.work, 0o755); err != nil {
		r.lose("the round itself: %v", err)
		return
	}
	defer r.end()
	kind(r, ctx)
}

// end undoes mounts and removes the folder. If something was lost, the folder stays, with a list of what was run.
func (r *round) end() {
	lost := len(r.losses) > 0
	if lost && len(r.mounts.folders) > 0 { // unmounting removes what they hold
		r.must(os.CopyFS(filepath.Join(r.folder, "kept"), os.DirFS(r.work)))
	}
	r.must(r.mounts.undo())
	if !lost {
		r.must(os.RemoveAll(r.folder))
		return
	}
	account := strings.Join(slices.Concat(r.done, []string{"", "lost:"}, r.losses), "\n") + "\n"
	r.must(os.WriteFile(filepath.Join(r.folder, "round.txt"), []byte(account), 0o644))
}

// note keeps a line for the round's list, and prints it if there is a log.
func (r *round) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if r.log != nil {
		fmt.Fprintf(r.log, "%s: %s\n", filepath.Base(r.folder), line)
	}
	r.done = append(r.done, line)
}

// must reports whether err is nil. If it is not, the round itself failed.
func (r *round) must(err error) bool {
	if err != nil {
		r.lose("the round itself: %v", err)
	}
	return err == nil
}

func (r *round) chance(percent int) bool { return r.random.IntN(100) < percent }

func pick[T any](r *round, from []T) T { return from[r.random.IntN(len(from))] }

// begin copies the common calibration into the round's folder.
func (r *round) begin() *state {
	r.must(r.copyBase(r.work, r.chance(50)))
	return readState(filepath.Join(r.work, defaultFile))
}

// beginFor copies the calibration if an action needs one, and otherwise with a probability in percent.
func (r *round) beginFor(a action, percent int) {
	if a.name == "verify" || a.args[0] == "--from" || r.chance(percent) {
		r.begin()
	}
}

// action is a command line with a known effect on files.
type action struct {
	name   string
	args   []string
	file   string // the file that it writes
	expect expect
}

// calibrate returns a run that measures some cases.
func (r *round) calibrate(file string, args ...string) action {
	args = append(slices.Clone(quick), args...)
	args = append(args, "--ops", pick(r, []string{"^scale$", "^log$", "^sum$", "^(scale|log)$", "^(scale|log|sum)$"}),
		"--budget", pick(r, []string{"1s", "1s", "1s", "2s"}))
	if file != defaultFile {
		args = append(args, "-o", file)
	}
	if r.chance(50) {
		args = append(args, "-q")
	}
	return action{name: "calibrate", args: args, file: file}
}

// from returns a refit of saved samples of a host.
func (r *round) from(folder, host string) action {
	args := []string{"--from", folder}
	if r.chance(50) {
		args = append(args, "-q")
	}
	return action{name: "calibrate", args: args, file: defaultFile, expect: expect{hosts: []string{host}}}
}

// any returns one of the usual things to do with a calibration.
func (r *round) any() action {
	switch r.random.IntN(8) {
	default:
		return r.calibrate(defaultFile)
	case 2:
		a := r.calibrate(defaultFile, "--force")
		a.expect.replace = true
		return a
	case 3:
		a := r.calibrate(defaultFile, "--force", "--state", "cold")
		a.expect.replace = true
		return a
	case 4:
		return r.calibrate("other.json", "--state", "cold")
	case 5:
		return r.from(filepath.Join(defaultData, r.host), r.host)
	case 6:
		n := r.random.IntN(len(r.foreign))
		return r.from(r.foreign[n], foreignHost(n))
	case 7:
		return action{name: "verify", args: []string{"--budget", "1s", "--no-progress", "-q"}, file: defaultFile, expect: expect{same: true}}
	}
}

// act runs an action and tests its result. at is nil if nothing ends the action. refusals are the errors that the round may
// cause, as a regular expression, in addition to the usual ones.
func (r *round) act(ctx context.Context, a action, at *moment, refusals string) *outcome {
	old := readState(filepath.Join(r.work, a.file))
	o := r.run(ctx, at, a.name, a.args...)
	r.judge(ctx, a, o, old, refusals)
	return o
}

// usualRefusals are errors of runs without a fault. Short runs on a busy machine may measure too little.
const usualRefusals = "holds a better calibration of this host|nothing could be measured|holds a calibration of this host for "

// judge tests what an action did to its file, and that it told the truth about that.
func (r *round) judge(ctx context.Context, a action, o *outcome, old *state, refusals string) {
	if ctx.Err() != nil {
		return
	}
	if o.sent && (o.code < 0 || o.code == command.ExitInterrupted) {
		r.forced = true // or ended with work in the background, which looks the same from outside
	}
	e := a.expect
	said := lastLine(o.stderr)
	switch o.code {
	case command.ExitOK, -1:
	case command.ExitInterrupted:
		if strings.Contains(said, a.file+" is as it was") {
			e.same = true
		}
	case command.ExitFailed:
		e.same = !strings.Contains(said, "is written, but not its charts")
		if !regexp.MustCompile(usualRefusals + refusals).MatchString(said) {
			r.lose("%s: it fails with %q", o.line, said)
		}
	case command.ExitDrifted, command.ExitTooLittle:
		e.same = true
		if a.name != "verify" {
			r.lose("%s: exit %d is of verify", o.line, o.code)
		}
	default:
		r.lose("%s: exit %d with %q", o.line, o.code, said)
	}
	now := r.check(a.file, old, e)
	if o.code == command.ExitOK && !e.same && now.file.Host(r.host) == nil && len(e.hosts) == 0 {
		r.lose("%s: exit 0, and %s has no entry of this host", o.line, a.file)
	}
	for _, host := range e.hosts {
		if o.code == command.ExitOK && now.file.Host(host) == nil {
			r.lose("%s: exit 0, and %s has no entry of %s", o.line, a.file, host)
		}
	}
	follow := func() { r.follow(ctx, a, said, now) }
	if r.later = follow; !r.full {
		follow()
	}
}

var advice = regexp.MustCompile(`(calibrate --from .*?)( fits them\)| writes them$)`)

// follow runs the command line that an error recommends. It must succeed.
func (r *round) follow(ctx context.Context, a action, said string, old *state) {
	found := advice.FindStringSubmatch(said)
	if found == nil || a.expect.harmed || r.chance(30) { // an entry without its samples cannot be joined
		return
	}
	o := r.shell(ctx, found[1])
	last := lastLine(o.stderr)
	if o.code == command.ExitFailed && strings.Contains(last, "--force replaces it") {
		a.expect.replace = true
		o = r.shell(ctx, found[1]+" --force")
		last = lastLine(o.stderr)
	}
	if o.code != command.ExitOK {
		r.lose("%q advises %q, which fails with %q", said, found[1], last)
	}
	a.expect.same = false
	r.check(a.file, old, a.expect)
}

// finish makes one more good run with each of the files. After that, no stray files may be left.
func (r *round) finish(ctx context.Context, files ...string) {
	files = slices.Compact(slices.Sorted(slices.Values(append(files, defaultFile))))
	for _, file := range files {
		if ctx.Err() == nil && !r.goodRun(ctx, file) {
			return
		}
	}
	if ctx.Err() == nil {
		r.checkStrays(files...)
	}
}

func (r *round) goodRun(ctx context.Context, file string) bool {
	for attempt := range 3 {
		old := readState(filepath.Join(r.work, file))
		args := append(slices.Clone(quick), "--ops", "^scale$", "--budget", fmt.Sprintf("%ds", 1<<(2*attempt)), "--force", "-q", "-o", file)
		o := r.run(ctx, nil, "calibrate", args...)
		r.check(file, old, expect{replace: true})
		if o.code == command.ExitOK {
			return true
		}
		if !strings.Contains(o.stderr, "nothing could be measured") {
			r.lose("the next run fails with %q", lastLine(o.stderr))
			return false
		}
	}
	r.lose("three runs in a row could measure nothing")
	return false
}
