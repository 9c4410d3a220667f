// Calibrate measures every operation on every implementation of this machine, finds the input sizes at which the
// fastest one changes, and writes calibration.json, one chart a case, and the raw samples.
//
// Usage: go run ./cmd/calibrate [flags]; --help lists them.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("calibrate", run) }
