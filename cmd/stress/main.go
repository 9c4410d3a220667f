// Stress looks for what calibrate and verify lose. It ends them by signals and by force at random moments, fills their
// disk, runs several at once, and damages their files. After each it tests that the calibration file is the old or the new
// one and whole, that the samples beside it fit to what it says, that nothing is left lying about, and that the commands
// said what was so.
//
// Usage: go run ./cmd/stress [flags]; --help lists them. It exits with 1 if something was lost. Rounds that need a file
// system of their own mount a small one where that is allowed, which is on Linux for root.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("stress", run) }
