package sweeps

import "time"

// patience is the longest wait for something that may not happen. A wait in vain halves it, and one that was not in vain
// doubles it, up to its first value. So hardly any time is spent on something that never happens.
type patience struct{ now, most time.Duration }

func newPatience(most time.Duration) patience { return patience{now: most, most: most} }

// rewarded doubles the patience.
func (p *patience) rewarded() { p.now = min(max(2*p.now, p.most/64), p.most) }

// disappointed halves the patience.
func (p *patience) disappointed() { p.now /= 2 }
