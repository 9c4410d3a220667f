// Calibrate measures every operation on every implementation of this machine, finds the input sizes at which the
// fastest one changes, and writes calibration.json, one chart a case, and the raw samples.
//
// Usage: go run ./cmd/calibrate [flags]; --help lists them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"crossover/cmd/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command.Exit(os.Stderr, "calibrate", run(ctx, os.Stdout, os.Stderr, os.Args[1:])))
}
