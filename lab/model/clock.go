package model

import (
	"math"
	"time"
)

// Clock is that of a GPU, which rises while calls are under way and falls when there are none. The zero value stands
// still.
type Clock struct {
	// Slow is by how much longer a GPU computes whose clock is down: 2 for three times as long.
	Slow float64
	// Rise is the time constant with which that goes away.
	Rise time.Duration
	// Awake is the pause that the clock survives, and Fall the time constant with which it falls after that.
	Awake, Fall time.Duration
}

// Asleep is what is reported of Apple's GPUs, as far as a few numbers can say it: it was not measured for this, and on no
// Mac.
var Asleep = Clock{Slow: 2, Rise: 20 * time.Millisecond, Awake: 2 * time.Millisecond, Fall: 2 * time.Millisecond}

// clocked is a GPU's clock at work.
type clocked struct {
	Clock
	excess float64       // by how much longer it computed when last it did
	last   time.Duration // when that was
	used   bool
}

// pause lets the time until now pass without a call, and returns by how much longer the GPU would compute then.
func (c *clocked) pause(now time.Duration) float64 {
	if !c.used {
		return c.Slow
	}
	if idle := now - c.last - c.Awake; idle > 0 {
		return c.Slow - (c.Slow-c.excess)*math.Exp(-idle.Seconds()/c.Fall.Seconds())
	}
	return c.excess
}

// stretched returns how long the GPU computes what takes it so many seconds when its clock is up. While it computes the
// clock rises.
func (c *clocked) stretched(seconds float64, now time.Duration) float64 {
	if c.Slow == 0 {
		return seconds
	}
	// The work done by the time t is the integral of 1/(1+e·exp(-t/r)), solved for t.
	e, r := c.pause(now), c.Rise.Seconds()
	return seconds + r*math.Log(1+e-e*math.Exp(-seconds/r))
}

// ran notes a call from one moment to another.
func (c *clocked) ran(from, to time.Duration) {
	if c.Slow == 0 {
		return
	}
	c.excess = c.pause(from) * math.Exp(-(to-from).Seconds()/c.Rise.Seconds())
	c.last, c.used = to, true
}
