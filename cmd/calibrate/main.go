// Calibrate measures every operation on every implementation of this machine. It finds the input sizes at which the fastest
// implementation changes. It writes calibration.json, charts, and the raw samples.
//
// Usage: go run ./cmd/calibrate [flags]; --help lists them.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("calibrate", run) }
