package sweeps

import (
	"math"
	"time"
)

// On some virtual machines of few processors, other guests mostly use the other threads of the cores. Then nothing is
// gained by looking for a core of one's own, because a program will not have one either. Company is usual once looks find it for
// usualAbove of the recent time, and until they find it for less than unusualBelow. Recent is the time of companyFor, or a
// companyShare-th of a short budget, but at least companyLeast. So seconds beside another guest are no usual state.
const (
	usualAbove   = 0.6
	unusualBelow = 0.45
	companyFor   = 10 * time.Second
	companyShare = 18
	companyLeast = 2 * time.Second
)

// A look counts for the time since the look before, and at most for a coversShare-th of the recent time, because nothing is known
// of longer pauses.
const coversShare = 50

// company is for how much of the time somebody else uses the core of the calls.
type company struct {
	possible bool          // whether it may be usual
	recent   time.Duration // time after which a look hardly counts
	share    float64       // of the recent time with company
	last     time.Duration // when the last look was; 0 before the first
	watched  time.Duration // for which looks have counted since the share was last set

	usual bool
	since time.Duration // when it became usual
	high  time.Duration // when the share was last above usualAbove
}

func newCompany(budget time.Duration) company {
	return company{recent: max(companyLeast, min(companyFor, budget/companyShare))}
}

// set sets the share.
func (c *company) set(now time.Duration, share float64) {
	c.share, c.last, c.watched = share, now, 0
}

// note records a look. It returns true if company, which was usual, is no longer.
func (c *company) note(now time.Duration, found bool) (over bool) {
	if c.last > 0 {
		met := 0.0
		if found {
			met = 1
		}
		covers := min(now-c.last, c.recent/coversShare)
		c.watched += covers
		c.share += (met - c.share) * -math.Expm1(-covers.Seconds()/c.recent.Seconds())
	}
	c.last = now
	if c.share > usualAbove {
		c.high = now
	}
	switch {
	case !c.usual && c.possible && c.share > usualAbove:
		c.usual, c.since = true, now
	case c.usual && c.share < unusualBelow:
		c.usual = false
		return true
	}
	return false
}

// inCompany returns the present time of usual company as a past. It reports false if there is none.
func (c *core) inCompany() (p past, is bool) {
	if c == nil || !c.company.usual {
		return p, false
	}
	return past{from: c.company.since, until: c.clock.Now(), was: "at the end, somebody else mostly used the core", company: true}, true
}
