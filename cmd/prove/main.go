// Prove says how far Crossover's answers can be trusted. It runs the calibration and the verification on modelled machines
// with known thresholds. It also compares our rule with those of other programs on measured samples.
//
// Usage: go run ./cmd/prove [flags]; --help lists them. Nothing is measured on this machine.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("prove", run) }
