package sweeps

import (
	"math"
	"time"
)

// On some virtual machines the other thread of a core is nearly always in use by another guest. Then nothing is gained by
// waiting for a core of one's own, because a program will not have one either. Company is usual once looks find it for
// usualAbove of the recent time, and until they find it for less than unusualBelow. Recent is the time of companyFor, or a
// companyShare-th of a short budget. Seconds beside another guest are no usual state.
const (
	usualAbove   = 0.7
	unusualBelow = 0.3
	companyFor   = 10 * time.Second
	companyShare = 18
)

// company is how often somebody else uses the core of the calling thread.
type company struct {
	recent time.Duration // time after which a look hardly counts
	share  float64       // of the recent time with company
	last   time.Duration // when the last look was; 0 before the first
	usual  bool
	since  time.Duration // when it became usual

	watched, met time.Duration // time for which looks count, and the part of it with company
}

func newCompany(budget time.Duration) company {
	return company{recent: max(time.Millisecond, min(companyFor, budget/companyShare))}
}

// note records a look. It returns true if company, which was usual, is no longer.
func (c *company) note(now time.Duration, found bool) (over bool) {
	met := 0.0
	if found {
		met = 1
	}
	if c.last > 0 {
		covers := min(now-c.last, c.recent/4) // nothing is known of longer pauses
		c.watched += covers
		c.met += time.Duration(met * float64(covers))
		c.share += (met - c.share) * -math.Expm1(-covers.Seconds()/c.recent.Seconds())
	}
	c.last = now
	switch {
	case !c.usual && c.share > usualAbove:
		c.usual, c.since = true, now
	case c.usual && c.share < unusualBelow:
		c.usual = false
		return true
	}
	return false
}

// met returns the share of the time in which somebody else used the core. It is 0 if nobody looked.
func (c *core) met() float64 {
	if c == nil || c.company.watched == 0 {
		return 0
	}
	return c.company.met.Seconds() / c.company.watched.Seconds()
}

// begin takes the share of the first looks as that of the recent time.
func (c *company) begin(now time.Duration, share float64) {
	c.share, c.last, c.since, c.usual = share, now, now, share > usualAbove
}
