package sweeps

import (
	"fmt"

	"crossover/kernels"
)

// flights binds, in throughput mode, the implementations of a visit on a GPU once for each call that should be in flight.
type flights struct {
	*visit
	short map[*callable]bool // those for which there is too little memory
}

// fillFlights binds all of them in turn, so that none takes the memory that the others need. If there is too little memory,
// fewer calls are in flight, and the case has a warning. An implementation that fails for another reason is not timed any
// more.
func (v *visit) fillFlights() {
	f := flights{visit: v, short: map[*callable]bool{}}
	for growing := true; growing; {
		growing = false
		for _, c := range v.callables {
			growing = f.grow(c) || growing
		}
	}
}

// grow binds an implementation once more if more calls of it should be in flight, and reports whether it did.
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
	call, err := f.bindAndRun(c.bind)
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

// shallow warns that fewer calls of an implementation are in flight at a size than were asked for. There is no further
// warning for greater sizes.
func (e *entry) shallow(c *callable, size, wanted int, why string) {
	if c.shallowFrom > 0 && c.shallowFrom <= size {
		return
	}
	c.shallowFrom = size
	e.warn("%s had %d of %d calls in flight at %s, and no more above: %s", c.Name, len(c.flight), wanted, e.c.At(size), why)
}
