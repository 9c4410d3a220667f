package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const stuckVariable = "CROSSOVER_TEST_STUCK"

// TestStuckCommand is not a test. It is the program to which TestASignalEndsWhatCannotBeStopped sends a signal.
func TestStuckCommand(t *testing.T) {
	if os.Getenv(stuckVariable) == "" {
		t.Skip("it is run by another test, in a process of its own")
	}
	Main("stuck", func(ctx context.Context, stdout, stderr io.Writer, args []string) error {
		Farewell(ctx, func() error { return Interrupted(errors.New("what there was\nis saved")) })
		io.WriteString(stdout, "\x1b[2Jready\n") // a file may have such text
		for {                                    // like a call of a library that takes an hour
			time.Sleep(time.Hour)
		}
	})
}

func TestASignalEndsWhatCannotBeStopped(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // long enough for a busy machine
		defer cancel()
		stuck := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestStuckCommand$")
		stuck.Env = append(os.Environ(), stuckVariable+"=1")
		var stderr strings.Builder
		stuck.Stderr = &stderr
		stdout, err := stuck.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := stuck.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "?[2Jready\n" {
			t.Fatalf("it began with %q, %v", line, err)
		}
		if err := stuck.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		stuck.Wait()
		if code := stuck.ProcessState.ExitCode(); code != ExitInterrupted || stderr.String() != "stuck: what there was is saved\n" {
			t.Errorf("%v: exit %d with %q, want %d and the farewell", signal, code, stderr.String(), ExitInterrupted)
		}
	}
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- os.Interrupt
	signals <- os.Interrupt
	left := make(chan struct{})
	defer close(left)
	err := until(signals, 24*time.Hour, func(context.Context) error { <-left; return nil })
	var coded *Error
	if !errors.As(err, &coded) || coded.Code != ExitInterrupted {
		t.Errorf("the error is %v, want one of exit code %d", err, ExitInterrupted)
	}
}

// A command that ends by itself after the first signal returns its own error.
func TestTheCommandEndsByItself(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	want := errors.New("its own words")
	err := until(signals, 24*time.Hour, func(ctx context.Context) error { <-ctx.Done(); return want })
	if err != want {
		t.Errorf("the error is %v, want %v", err, want)
	}
}
