package main

import (
	"strings"

	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/thresholds"
)

// otherState is what is said of a machine whose processors stand to one another otherwise than at calibration.
const otherState = "the machine is in another state than at calibration"

// stateLines says what moved, nothing where nothing did.
func stateLines(s *command.States) []string {
	var lines []string
	if len(s.Moved) > 0 {
		lines = append(lines, otherState+": "+strings.Join(s.Moved, "; ")+" (calibrate would measure this state)")
	}
	if len(s.Conditions) > 0 {
		lines = append(lines, "the calibration was made under other conditions: "+strings.Join(s.Conditions, "; "))
	}
	return lines
}

// excuses reports whether another state of the machine may be all that is behind a drift: it is where at every drifted size
// the choice or what beats it spreads over the processors. What one processor computes knows nothing of the others, and
// what a library does inside a call is no excuse.
func excuses(s *command.States, audit *thresholds.Audit, names []string) bool {
	if len(s.Moved) == 0 {
		return false
	}
	for _, size := range audit.Sizes {
		if size.Finding == thresholds.Drifted && !kernels.Parallel(names[size.Chosen]) && !kernels.Parallel(names[size.Best]) {
			return false
		}
	}
	return true
}
