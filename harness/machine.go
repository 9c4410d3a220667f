package harness

import (
	"crossover/host"
	"crossover/sweeps"
)

// Machine is what cases are measured on: this computer, a model of one in virtual time, or a script in tests. Its zero
// value is the system's clock, and nothing else is known of it.
type Machine struct {
	Clock    sweeps.Clock          // nil means the system's
	Sentinel func()                // nil means the sweep's own
	Together *sweeps.Together      // what several processors do beside a Sentinel that is not nil; may be nil
	Forget   func()                // drops what libraries and drivers keep from one call to the next; may be nil
	Trim     func()                // gives back what device pools hold beyond what is useful; may be nil
	Observe  func() host.Condition // the machine's present condition; nil where it is not known
	Memory   int64                 // in bytes; 0 where it is not known
	Others   func() float64        // processor seconds that other programs have taken; nil where no other programs run
}

// Condition returns how the machine is now.
func (m Machine) Condition() host.Condition {
	if m.Observe == nil {
		return host.Condition{Power: "unknown", PowerMode: "unknown", Priority: "unknown", Thermal: "unknown", Load: -1}
	}
	return m.Observe()
}

// throttled reports whether the machine's thermal state forbids to trust a time.
func (m Machine) throttled() (state string, throttled bool) {
	state = m.Condition().Thermal
	return state, state == "serious" || state == "critical"
}

// sweep returns what a sweep takes from the machine.
func (m Machine) sweep() sweeps.Options {
	clock := m.Clock
	if clock == nil {
		clock = sweeps.SystemClock()
	}
	return sweeps.Options{
		Clock: clock, Sentinel: m.Sentinel, Together: m.Together,
		Memory: m.Memory, Throttled: m.throttled, Others: m.Others, Forget: m.Forget, Trim: m.Trim,
	}
}
