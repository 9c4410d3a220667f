package sweeps

import (
	"fmt"

	"crossover/kernels"
)

// flights binds, in throughput mode, the implementations of a visit on a GPU as often as calls of them are to be in
// flight.
type flights struct {
	*visit
	short map[*callable]bool // those for which memory did not suffice
}

// fillFlights binds them all by turns, so that where memory is short none takes what the others need. Where memory does
// not suffice there are fewer calls in flight, and the case says so. An implementation that fails otherwise is not timed
// any more.
func (v *visit) fillFlights() {
	f := flights{visit: v, short: map[*callable]bool{}}
	for growing := true; growing; {
		growing = false
		for _, c := range v.callables {
			growing = f.grow(c) || growing
		}
	}
}

// grow binds an implementation once more where more calls of it are to be in flight, and reports whether it did.
func (f *flights) grow(c *callable) bool {
	wanted := f.flightOf(f.e.c, c.Processor, f.size)
	if wanted == 0 || c.call.GPU == nil || !c.live(f.size) || f.short[c] {
		return false
	}
	if len(c.flight) == 0 {
		c.flight = []kernels.Call{c.call}
	}
	if len(c.flight) == wanted {
		if wanted < f.InFlight {
			f.e.shallow(c, f.size, f.InFlight, fmt.Sprintf("their data are held to %d MiB", inFlightBytes>>20))
		}
		return false
	}
	call, err := f.bindAndRun(c.implementation, c.bind)
	switch {
	case err == nil:
		c.flight = append(c.flight, call)
		return true
	case isOutOfMemory(err):
		f.short[c] = true
		f.e.shallow(c, f.size, f.InFlight, err.Error())
	default:
		f.fail(f.e, c.implementation, f.size, err)
	}
	return false
}

// shallow warns that fewer calls of an implementation are in flight at a size than were asked for; sizes above go
// without saying.
func (e *entry) shallow(c *callable, size, wanted int, why string) {
	if c.shallowFrom > 0 && c.shallowFrom <= size {
		return
	}
	c.shallowFrom = size
	e.warn("%s had %d of %d calls in flight at %d %s, and no more above: %s",
		c.Name, len(c.flight), wanted, size, e.c.Axis.Unit, why)
}
