// Stress looks for losses by calibrate and verify. It ends them by signals and by force at random moments, fills their disk,
// runs several at once, and damages their files. After each fault it tests that the calibration file is whole, and is the
// old or the new one. It also tests that the samples fit to the file, that no stray files are left, and that the commands
// told the truth.
//
// Usage: go run ./cmd/stress [flags]; --help lists them. It exits with 1 if something was lost. Some rounds mount a small
// file system. They are skipped unless the system allows mounting, as Linux does for root.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("stress", run) }
