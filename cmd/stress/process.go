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

// mostAfterSignal is the longest time that a command may take after a signal. mostAtAll is the longest time of a command
// without one.
const (
	mostAfterSignal = 10 * time.Second
	mostAtAll       = 2 * time.Minute
)

// moment says when a command gets signals, or when do is called: some time after a file appeared, or after the start.
type moment struct {
	pattern string // of the file, in the folder of the round; "" is the start
	after   time.Duration
	do      func() // called before any signals, if not nil
	signals []os.Signal
	between time.Duration // from each signal to the next
}

func (m *moment) String() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%v %v after %q", m.signals, m.after, m.pattern)
}

// outcome says how a command ended.
type outcome struct {
	line           string // the command
	code           int    // exit code; -1 if the command was killed
	stdout, stderr string
	sent           bool          // whether a signal was sent before the end
	ending         time.Duration // from the first signal to the end
	hung           bool
}

// start starts a command in the folder of the round. The channel gets the outcome.
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

// signal sends the signals at their moment, and sends the time of the first on the channel sent.
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

// run runs a command to its end and tests that what it printed fits to its exit code.
func (r *round) run(ctx context.Context, at *moment, name string, args ...string) *outcome {
	return r.ended(<-r.start(ctx, at, name, args...))
}

// shell runs a command line that a command recommended.
func (r *round) shell(ctx context.Context, line string) *outcome {
	o := <-r.start(ctx, nil, "sh", "-c", line)
	o.line = line
	return r.ended(o)
}

// ended records how a command ended and tests what it printed.
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
	case o.code < 0: // a killed command prints nothing
	case o.code == command.ExitOK && errorLines > 0 || o.code != command.ExitOK && errorLines != 1:
		r.lose("%s: exit %d and %d errors on stderr: %q", o.line, o.code, errorLines, o.stderr)
	case o.code != command.ExitOK && !isError(name, lastLine(o.stderr)):
		r.lose("%s: exit %d and the last line is no error: %q", o.line, o.code, o.stderr)
	case o.code == command.ExitInterrupted && !o.sent:
		r.lose("%s: exit %d without a signal: %q", o.line, o.code, o.stderr)
	}
	return o
}

// isError reports whether a line of a command on stderr is an error. It is not if it is a warning, a note or a heading.
func isError(name, line string) bool {
	said, found := strings.CutPrefix(line, name+": ")
	if !found {
		return false
	}
	for _, other := range []string{"warning: ", "left out: ", "added ", "what "} {
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
