// Verify measures again, at sizes and shapes that the calibration never used. It says whether the choices in calibration.json still
// hold on this machine.
//
// Usage: go run ./cmd/verify [flags]; --help lists them. The exit code is 0 if the file holds, 1 if the command could not
// run, and 2 for a wrong command line. It is 3 if a choice has drifted or typed plans take another time than a sweep
// records, 4 if the file has at most a near match for this host, 5 if an implementation computes wrong values, and 6 if too
// little could be measured to say anything.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("verify", run) }
