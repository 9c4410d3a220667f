package model

import (
	"math"
	"time"
)

// Clock describes the clock of a GPU. The clock rises while calls run and falls when there are none. The zero value is a
// clock that never changes.
type Clock struct {
	// Slow says how much longer a GPU computes when its clock is down: 2 means three times as long.
	Slow float64
	// Rise is the time constant of the rising clock.
	Rise time.Duration
	// Awake is the longest pause after which the clock is still up. Fall is the time constant of the falling clock in a
	// longer pause.
	Awake, Fall time.Duration
}

// Asleep describes Apple's GPUs by published reports, as far as a few numbers can. It was not measured for this
// project, and not on a Mac.
var Asleep = Clock{Slow: 2, Rise: 20 * time.Millisecond, Awake: 2 * time.Millisecond, Fall: 2 * time.Millisecond}

// clocked is the state of a GPU's clock.
type clocked struct {
	Clock
	excess float64       // by what share the GPU computed longer at the end of the last computation
	last   time.Duration // the end of the last computation
	used   bool
}

// pause returns by what share longer the GPU would compute if a call began now.
func (c *clocked) pause(now time.Duration) float64 {
	if !c.used {
		return c.Slow
	}
	if idle := now - c.last - c.Awake; idle > 0 {
		return c.Slow - (c.Slow-c.excess)*math.Exp(-idle.Seconds()/c.Fall.Seconds())
	}
	return c.excess
}

// stretched returns how many seconds the GPU computes, beginning now, for work of the given seconds at full clock. The clock
// rises while the GPU computes.
func (c *clocked) stretched(seconds float64, now time.Duration) float64 {
	if c.Slow == 0 {
		return seconds
	}
	// The work done by the time t is the integral of 1/(1+e·exp(-t/r)), solved for t.
	e, r := c.pause(now), c.Rise.Seconds()
	return seconds + r*math.Log(1+e-e*math.Exp(-seconds/r))
}

// ran records a call from one moment to another.
func (c *clocked) ran(from, to time.Duration) {
	if c.Slow == 0 {
		return
	}
	c.excess = c.pause(from) * math.Exp(-(to-from).Seconds()/c.Rise.Seconds())
	c.last, c.used = to, true
}
