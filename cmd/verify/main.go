// Verify measures again, at sizes that the calibration never used, and says whether the choices in calibration.json
// still hold on this machine.
//
// Usage: go run ./cmd/verify [flags]; --help lists them. It exits with 0 where the file holds, 1 when it could not run,
// 2 for a wrong command line, 3 where a choice has drifted or typed plans take another time than a sweep records, 4 when
// the file has at most a near match for this host, 5 when an implementation computes wrong values and 6 when too little could
// be measured to say anything.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("verify", run) }
