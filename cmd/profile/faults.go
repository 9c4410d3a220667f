package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"crossover/cmd/internal/command"
	"crossover/cmd/internal/harm"
	"crossover/songs"
	"crossover/songs/stream"
)

// fault is a fault of --fault.
type fault struct {
	name      string
	at, lasts float64 // seconds; it lasts for ever if that is 0
}

// The names of faults, and the causes that they are for a guard.
var (
	faultNames = []string{"thermal", "memory", "busy", "lost"}
	causes     = map[string]stream.Cause{"thermal": stream.Heat, "memory": stream.Memory, "busy": stream.Busy, "lost": stream.Lost}
)

// faultForm says how a fault is written.
const faultForm = "want NAME@SECONDS or NAME@SECONDS+DURATION, such as thermal@10+5"

// checkFaults reads the faults of the flag, and fails if one cannot be made in such a run.
func (s *streaming) checkFaults() error {
	for _, text := range s.fault {
		f, err := parseFault(text)
		if err != nil {
			return err
		}
		switch {
		case f.name == "lost" && f.lasts > 0:
			return command.Usage("--fault %s: a GPU is lost for good (want lost@%g)", text, f.at)
		case f.at+f.lasts >= s.seconds:
			return command.Usage("--fault %s: it is not over when the stream ends after %g s (want a greater --seconds; streams go back 5 s after a cause is over)",
				text, s.seconds)
		}
		s.faults = append(s.faults, f)
	}
	switch {
	case len(s.faults) == 0:
	case s.fast:
		return command.Usage("--fault with --fast: faults come at times, which --fast does not wait for (leave one of the two out)")
	case s.afterIdle != "":
		return command.Usage("--fault with --after-idle: one route is played, and nothing is compared (leave one of the two out)")
	case s.seconds > stream.MostFaultSeconds:
		return command.Usage("--fault with --seconds %g: want at most %d seconds", s.seconds, stream.MostFaultSeconds)
	}
	return nil
}

// parseFault reads one fault.
func parseFault(text string) (f fault, err error) {
	name, times, timed := strings.Cut(text, "@")
	switch {
	case !slices.Contains(faultNames, name):
		return f, command.Usage("--fault %q: no such fault (want %s, as in thermal@10+5)", text, strings.Join(faultNames, ", "))
	case !timed:
		return f, command.Usage("--fault %q: it has no time (%s)", text, faultForm)
	}
	f.name = name
	at, lasts, ends := strings.Cut(times, "+")
	if f.at, err = strconv.ParseFloat(at, 64); err != nil || !(f.at >= 0 && f.at <= stream.MostFaultSeconds) {
		return f, command.Usage("--fault %q: %q is no time (%s)", text, at, faultForm)
	}
	if !ends {
		return f, nil
	}
	if f.lasts, err = strconv.ParseFloat(lasts, 64); err != nil || !(f.lasts > 0 && f.lasts <= stream.MostFaultSeconds) {
		return f, command.Usage("--fault %q: %q is no duration (%s)", text, lasts, faultForm)
	}
	return f, nil
}

// inject makes a run one with faults: streams play everything on the GPU, so that every block feels the fault.
func (s *streaming) inject(o *stream.Options, m machine) error {
	o.Routes = slices.DeleteFunc(slices.Clone(o.Routes), func(r songs.Entrant) bool { return r.Name != stream.GPU })
	if len(o.Routes) == 0 {
		return errors.New("--fault: streams cannot use a GPU here, so there is none to leave (want a host with one; go run ./cmd/calibrate --list says what is missing)")
	}
	for _, f := range s.faults {
		one := stream.Fault{Cause: causes[f.name], At: f.at, Lasts: f.lasts}
		switch one.Cause {
		case stream.Busy:
			one.Begin = m.occupy
		case stream.Lost:
			one.Begin = func(context.Context) (func() error, error) { return nil, m.loseGPU() }
		}
		o.Faults = append(o.Faults, one)
	}
	return nil
}

// loseGPU loses the GPU of the machine.
func (m machine) loseGPU() error {
	for _, g := range m.GPUs {
		if device := g.Opened(); device != nil {
			return m.lose(device)
		}
	}
	return errors.New("no GPU is open")
}

// occupied is what --occupy prints when the GPU is busy.
const occupied = "the GPU is busy"

// occupy keeps the GPU busy until the input ends. It ends with the program that started it, whose end of the pipe is then closed.
func occupy(ctx context.Context, m machine, stdin io.Reader, stdout io.Writer) error {
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	missing := errors.New("there is no GPU")
	for _, g := range m.GPUs {
		device, err := g.OpenFit()
		if err != nil {
			missing = err
			continue
		}
		return harm.Occupy(until, device, func() { fmt.Fprintln(stdout, occupied) })
	}
	return fmt.Errorf("--occupy: %w", missing)
}

// alone fails if a flag is given beside --occupy.
func alone(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "occupy" {
			err = command.Usage("--%s: it says nothing about --occupy (leave one of the two out)", f.Name)
		}
	})
	return err
}

// anotherProgram starts this program a second time, to keep the GPU busy, and returns when it does. end ends it.
func anotherProgram(ctx context.Context) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, exec.Command(self, "--occupy"))
}

// patience is how long another program has to end by itself. A kernel of it takes 20 ms.
const patience = 5 * time.Second

// start starts a program that prints a line when it has begun, and ends when its input does. If ctx is done before the line, start
// ends it and fails.
func start(ctx context.Context, c *exec.Cmd) (end func() error, err error) {
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	end = func() error {
		stdin.Close()
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		if err := c.Wait(); err != nil {
			return fmt.Errorf("the other program: %w: %s", err, strings.TrimSpace(stderr.String()))
		}
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if stop(); err != nil || ctx.Err() != nil {
		if ended := end(); ended != nil {
			return nil, ended
		}
		return nil, fmt.Errorf("the other program printed %q and ended", line)
	}
	return end, nil
}

// sameOutput is the greatest relative L2 error with which two routes play the same.
const sameOutput = 1e-4

// printFaults prints what streams did about each fault.
func printFaults(r *stream.Report, stdout io.Writer) {
	at := func(seconds *float64) string {
		if seconds == nil {
			return "–"
		}
		return fmt.Sprintf("%.2f s", *seconds)
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tBEGAN\tSTREAMS LEFT\tLATE UNTIL THEN\tWORST UNTIL THEN\tOVER\tSTREAMS WENT BACK\tLATE WHILE AWAY\tLATE AFTERWARDS\tCHANGES")
	for _, f := range r.Faults {
		worst := "–" // streams left at the next block
		if f.WorstLeaving > 0 {
			worst = milli(f.WorstLeaving)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", f.Cause, at(&f.BeganSeconds), at(f.LeftSeconds), command.Thousands(f.LateLeaving), worst,
			at(f.OverSeconds), at(f.BackSeconds), command.Thousands(f.LateAway), command.Thousands(f.LateBack), f.Changes)
	}
	t.Flush()
}

// faultFindings says what a run with faults shows, in a sentence each.
func faultFindings(r *stream.Report) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, f := range r.Faults {
		if f.MadeSeconds-f.BeganSeconds > 0.05 {
			say("The %s that began after %.2f s was there after %.2f s.", f.Cause, f.BeganSeconds, f.MadeSeconds)
		}
		if f.Failure != "" {
			say("The %s was not made as it should be: %s.", f.Cause, f.Failure)
		}
	}
	switch d := r.Deviation; {
	case d == nil:
	case *d < sameOutput:
		say("What was played is what the serial route plays alone, with a relative error of %.1g.", *d)
	default:
		say("What was played is not what the serial route plays alone: the relative error is %.1g, and at most %.1g is usual.", *d, sameOutput)
	}
	return all
}
