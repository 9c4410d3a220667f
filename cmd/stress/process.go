package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"crossover/cmd/internal/command"
)

// mostAfterSignal is how long a command may go on after a signal, and mostAtAll how long one may take that gets none.
const (
	mostAfterSignal = 10 * time.Second
	mostAtAll       = 2 * time.Minute
)

// moment is when a command gets its signals, or something else is done to it: a time after a file appeared that a pattern
// names, or after the start.
type moment struct {
	pattern string // in the folder of the round; "" is the start
	after   time.Duration
	do      func() // instead of signals; nil for none
	signals []os.Signal
	between time.Duration // from each signal to the next
}

func (m *moment) String() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%v %v after %q", m.signals, m.after, m.pattern)
}

// outcome is how a command ended.
type outcome struct {
	line           string // the command
	code           int    // exit code; -1 where it was killed
	stdout, stderr string
	sent           bool          // a signal, before it ended
	ending         time.Duration // from the first signal to the end
	hung           bool
}

// start runs a command of ours in the folder of the round. The channel gets how it ended.
func (r *round) start(ctx context.Context, at *moment, name string, args ...string) <-chan *outcome {
	ended := make(chan *outcome, 1)
	path := name
	if name != "sh" {
		path = r.program(name)
	}
	program := exec.CommandContext(ctx, path, args...)
	program.Dir = r.work
	program.Env = append(os.Environ(), "PATH="+r.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	program.Stdout, program.Stderr = &stdout, &stderr
	o := &outcome{line: strings.TrimSpace(name + " " + strings.Join(args, " ") + " " + at.String()), code: -1}
	if err := program.Start(); err != nil {
		o.stderr = err.Error()
		ended <- o
		return ended
	}
	finished := make(chan struct{})
	signalled := make(chan time.Time, 1)
	go func() {
		defer close(signalled)
		if at != nil {
			r.signal(program.Process, at, finished, signalled)
			return
		}
		select {
		case <-finished:
		case <-time.After(mostAtAll):
			o.hung = true
			program.Process.Kill()
		}
	}()
	go func() {
		program.Wait()
		end := time.Now()
		close(finished)
		if first, ok := <-signalled; ok {
			o.sent, o.ending = true, end.Sub(first)
			<-signalled // closed
		}
		o.code, o.stdout, o.stderr = program.ProcessState.ExitCode(), stdout.String(), stderr.String()
		ended <- o
	}()
	return ended
}

// signal sends the signals at their moment, and says when it sent the first.
func (r *round) signal(p *os.Process, at *moment, finished <-chan struct{}, sent chan<- time.Time) {
	begin := time.Now()
	pattern := filepath.Join(r.work, at.pattern)
	for at.pattern != "" {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			break
		}
		select {
		case <-finished:
			return
		case <-time.After(200 * time.Microsecond):
		}
		if time.Since(begin) > mostAtAll {
			break
		}
	}
	if at.do != nil {
		time.Sleep(at.after)
		at.do()
	}
	wait := at.after
	for k, s := range at.signals {
		select {
		case <-finished:
			return
		case <-time.After(wait):
		}
		now := time.Now()
		if err := p.Signal(s); errors.Is(err, os.ErrProcessDone) {
			return
		}
		if k == 0 {
			sent <- now
		}
		wait = at.between
	}
	most := mostAfterSignal
	if at.do != nil {
		most = mostAtAll
	}
	select {
	case <-finished:
	case <-time.After(most):
		p.Kill()
	}
}

// run runs a command to its end and holds what it said against how it ended.
func (r *round) run(ctx context.Context, at *moment, name string, args ...string) *outcome {
	return r.ended(<-r.start(ctx, at, name, args...))
}

// shell runs a command line that a command advised.
func (r *round) shell(ctx context.Context, line string) *outcome {
	o := <-r.start(ctx, nil, "sh", "-c", line)
	o.line = line
	return r.ended(o)
}

// ended notes how a command ended and tests its manners.
func (r *round) ended(o *outcome) *outcome {
	end := fmt.Sprint("exit ", o.code)
	if o.code < 0 {
		end = "killed"
	}
	r.ends = append(r.ends, end)
	if o.sent && o.code >= 0 {
		r.longest = max(r.longest, o.ending)
	}
	r.note("%s: %s after %v: %s", o.line, end, o.ending.Round(time.Millisecond), lastLine(o.stderr))
	name, _, _ := strings.Cut(o.line, " ")
	errorLines := 0
	for line := range strings.Lines(o.stderr) {
		if isError(name, line) {
			errorLines++
		}
	}
	switch {
	case o.hung:
		r.lose("%s: it did not end in %v", o.line, mostAtAll)
	case o.sent && o.ending >= mostAfterSignal:
		r.lose("%s: it went on for %v after the signal", o.line, o.ending)
	case strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "panic:"):
		r.lose("%s: it panicked: %s", o.line, o.stderr)
	case o.code < 0: // it could not say anything
	case o.code == command.ExitOK && errorLines > 0 || o.code != command.ExitOK && errorLines != 1:
		r.lose("%s: exit %d and %d errors on stderr: %q", o.line, o.code, errorLines, o.stderr)
	case o.code != command.ExitOK && !isError(name, lastLine(o.stderr)):
		r.lose("%s: exit %d and the last line is no error: %q", o.line, o.code, o.stderr)
	case o.code == command.ExitInterrupted && !o.sent:
		r.lose("%s: exit %d without a signal: %q", o.line, o.code, o.stderr)
	}
	return o
}

// isError reports whether a line of a command on stderr is an error, and no warning, note or heading.
func isError(name, line string) bool {
	said, found := strings.CutPrefix(line, name+": ")
	if !found {
		return false
	}
	for _, other := range []string{"warning: ", "left out: ", "what "} {
		if strings.HasPrefix(said, other) {
			return false
		}
	}
	return !strings.Contains(said, "· seed ") && !strings.Contains(said, "; this fits the newest, ")
}

func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// systemSignals are the signals that ask a command to end.
var systemSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
