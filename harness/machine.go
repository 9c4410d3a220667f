package harness

import (
	"crossover/host"
	"crossover/sweeps"
)

// Machine is the machine on which cases are measured: this computer, a model in virtual time, or a script in tests. The zero
// value has the system's clock, and nothing else is known of it.
type Machine struct {
	Clock    sweeps.Clock          // nil means the system's
	Sentinel func()                // nil means the sweep's own
	Together *sweeps.Together      // work of several processors that belongs to a non-nil Sentinel; may be nil
	Forget   func()                // drops what libraries and drivers keep between calls; may be nil
	Trim     func()                // frees memory of device pools that is no longer useful; may be nil
	Observe  func() host.Condition // the machine's present condition; nil if it is not known
	Memory   int64                 // in bytes; 0 if it is not known
	Others   func() float64        // processor seconds of other programs so far; nil if there are no other programs
}

// Condition returns the present condition of the machine.
func (m Machine) Condition() host.Condition {
	if m.Observe == nil {
		return host.Condition{Power: "unknown", PowerMode: "unknown", Priority: "unknown", Thermal: "unknown", Load: -1}
	}
	return m.Observe()
}

// throttled reports whether the machine's thermal state makes times useless.
func (m Machine) throttled() (state string, throttled bool) {
	state = m.Condition().Thermal
	return state, state == "serious" || state == "critical"
}

// Sweep returns the options of a sweep that follow from the machine.
func (m Machine) Sweep() sweeps.Options {
	clock := m.Clock
	if clock == nil {
		clock = sweeps.SystemClock()
	}
	return sweeps.Options{
		Clock: clock, Sentinel: m.Sentinel, Together: m.Together,
		Memory: m.Memory, Throttled: m.throttled, Others: m.Others, Forget: m.Forget, Trim: m.Trim,
		Virtual: m.Clock != nil,
	}
}
