package harness

import (
	"fmt"

	"crossover/calibration"
	"crossover/host"
)

// worsen takes from a later condition what disturbs times more than the environment's values.
func worsen(e *calibration.Environment, later host.Condition) {
	if later.Power == "battery" {
		e.Power = later.Power
	}
	if later.PowerMode == "low" {
		e.PowerMode = later.PowerMode
	}
	if later.Priority == "background" || later.Priority == "lowered" && e.Priority != "background" {
		e.Priority = later.Priority
	}
}

// Doubts returns the reasons, one line each, why times measured in an environment may differ from those of a program in use,
// such as low-power mode. The sentinel does not see them, because the machine is slow from start to end.
func Doubts(e *calibration.Environment) []string {
	var lines []string
	if e.Power == "battery" {
		lines = append(lines, "running on battery; clocks may be lower than on mains")
	}
	if e.PowerMode == "low" {
		lines = append(lines, "running in low-power mode; clocks are lower than otherwise")
	}
	switch e.Priority {
	case "background":
		lines = append(lines, "running in the background; macOS keeps such a process on its slowest cores and Linux gives it what others leave "+
			"(start it without taskpolicy -b, launchd's ProcessType Background or chrt -i)")
	case "lowered":
		lines = append(lines, "running at a lowered priority; other programs go first (start it without nice, chrt -b or taskpolicy -c utility)")
	}
	return lines
}

// compareConditions returns the differences of two environments, one clause each. It compares only what both have on record.
func compareConditions(then, now *calibration.Environment) []string {
	moved := []string{}
	for _, c := range []struct{ name, then, now string }{
		{"power", then.Power, now.Power},
		{"power mode", then.PowerMode, now.PowerMode},
		{"priority", then.Priority, now.Priority},
	} {
		if told(c.then) && told(c.now) && c.then != c.now {
			moved = append(moved, fmt.Sprintf("%s is %s now, %s then", c.name, c.now, c.then))
		}
	}
	return moved
}

func told(word string) bool { return word != "" && word != "unknown" }
