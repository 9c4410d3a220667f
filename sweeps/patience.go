package sweeps

import "time"

// patience is how long to wait for something that may not come. It is halved by a wait in vain and doubled by one that was
// not, up to what it was at first: where nothing ever comes, hardly anything is spent on waiting for it.
type patience struct{ now, most time.Duration }

func newPatience(most time.Duration) patience { return patience{now: most, most: most} }

// rewarded is called when it came.
func (p *patience) rewarded() { p.now = min(max(2*p.now, p.most/64), p.most) }

// disappointed is called when it did not.
func (p *patience) disappointed() { p.now /= 2 }
