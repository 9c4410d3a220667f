// Speed measures how close our GPU kernels come to the vendor's libraries and to the device's own limits, each of them
// beside its peer in one run, and prints a table.
//
// Usage: go run ./cmd/speed [flags]; --help lists them. It exits with 0 when it measured, 1 when it could not run (no
// GPU, say) or when a kernel computes wrong values, and 2 for a wrong command line.
//
// With --plans it compares the typed plans of programs with what a sweep times, and needs no GPU. It then also exits
// with 1 if the two differ, or if too little could be measured to tell.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("speed", run) }
