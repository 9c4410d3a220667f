package main

import (
	"strings"

	"crossover/harness"
)

// otherState says that the times of the processors differ from those at calibration.
const otherState = "the machine is in another state than at calibration"

// stateLines returns a line for each kind of difference from the state at calibration.
func stateLines(s *harness.States) []string {
	var lines []string
	if s.Speed != "" {
		lines = append(lines, "the entry of this host is a near match: "+s.Speed+" (calibrate would measure this host)")
	}
	if len(s.Moved) > 0 {
		lines = append(lines, otherState+": "+strings.Join(s.Moved, "; ")+" (calibrate would measure this state)")
	}
	if len(s.Conditions) > 0 {
		lines = append(lines, "the calibration was made under other conditions: "+strings.Join(s.Conditions, "; "))
	}
	return lines
}
