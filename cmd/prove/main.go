// Prove says how far Crossover's answers can be trusted: it runs the calibration and the verification on modelled
// machines whose truth is known, and compares our rule with those of other programs on measured samples.
//
// Usage: go run ./cmd/prove [flags]; --help lists them. Nothing is measured on this machine.
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
	os.Exit(command.Exit(os.Stderr, "prove", run(ctx, os.Stdout, os.Stderr, os.Args[1:])))
}
