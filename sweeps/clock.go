package sweeps

import "time"

// Clock is the clock of a sweep: the machine's, or a scripted one in tests and models.
type Clock interface {
	// Now returns the time since an arbitrary fixed moment.
	Now() time.Duration
	// Resolution is the least difference between two moments that Now can distinguish, with the cost of calling Now.
	Resolution() time.Duration
	// Sleep waits for d.
	Sleep(d time.Duration)
}

// SystemClock returns the machine's monotonic clock. It measures the resolution.
func SystemClock() Clock {
	c := &systemClock{start: time.Now(), resolution: time.Second}
	for range 200 {
		before := c.Now()
		after := c.Now()
		for after == before {
			after = c.Now()
		}
		c.resolution = min(c.resolution, after-before)
	}
	return c
}

type systemClock struct {
	start      time.Time
	resolution time.Duration
}

func (c *systemClock) Now() time.Duration        { return time.Since(c.start) }
func (c *systemClock) Resolution() time.Duration { return c.resolution }
func (c *systemClock) Sleep(d time.Duration)     { time.Sleep(d) }
