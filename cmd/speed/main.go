// Speed measures how close our GPU kernels come to the vendor's libraries and to the limits of the device. It measures each
// kernel beside its peer in one run, and prints a table.
//
// Usage: go run ./cmd/speed [flags]; --help lists them. The exit code is 0 if it measured, 1 if it could not run (for
// example without a GPU) or if a kernel computes wrong values, and 2 for a wrong command line.
//
// With --plans it compares the typed plans of programs with what a sweep times, and needs no GPU. The exit code is then also
// 1 if the two differ, or if too little could be measured to tell.
package main

import "crossover/cmd/internal/command"

func main() { command.Main("speed", run) }
