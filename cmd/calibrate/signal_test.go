package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crossover/cmd/internal/command"
)

const argumentsVariable = "CROSSOVER_TEST_ARGUMENTS"

// TestTheProgram is the program that TestASignalEndsACallOfMinutes runs, and no test.
func TestTheProgram(t *testing.T) {
	arguments := os.Getenv(argumentsVariable)
	if arguments == "" {
		t.Skip("it is run by another test, in a process of its own")
	}
	os.Args = append([]string{"calibrate"}, strings.Split(arguments, " ")...)
	main()
}

// The float64 reference of such a large product takes minutes, and nothing can stop it.
func TestASignalEndsACallOfMinutes(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTheProgram$")
	program.Dir = dir
	program.Env = append(os.Environ(), argumentsVariable+"=--ops ^matmul/square$ --sizes 4096:4096 --budget 24h --no-progress")
	pipe, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	stderr := bufio.NewReader(pipe)
	if line, err := stderr.ReadString('\n'); err != nil {
		t.Fatalf("it began with %q, %v", line, err)
	}
	time.Sleep(2 * time.Second) // until the reference computes
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	said.ReadFrom(stderr)
	program.Wait()
	if code := program.ProcessState.ExitCode(); code != command.ExitInterrupted || strings.Count(said.String(), "calibrate: interrupted after") != 1 {
		t.Errorf("exit %d, and it said %q", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "calibration.json")); err == nil {
		t.Error("it wrote a file")
	}
}
