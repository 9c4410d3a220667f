package sweeps

import (
	"math"
	"runtime"
	"time"
)

// Other programs may take othersShare of a processor while a case is measured, or othersOfAll of all processors if that is
// more, because the housekeeping of a large machine grows with it. They may never take othersMost, which is a program at
// work.
const (
	othersShare = 0.15
	othersOfAll = 0.03
	othersMost  = 0.5
)

// othersAllowed returns how much of a processor other programs may take.
func othersAllowed() float64 {
	return min(max(othersShare, othersOfAll*float64(runtime.NumCPU())), othersMost)
}

// beside is the processor time of other programs during a visit, in seconds.
type beside struct {
	from, until time.Duration
	taken       float64
}

// othersShare returns how much of a processor other programs or virtual machines took during the visits to a case; NaN if it is not
// known.
func (e *entry) othersShare() float64 {
	visiting, taken := 0.0, 0.0
	for _, b := range e.beside {
		visiting, taken = visiting+(b.until-b.from).Seconds(), taken+b.taken
	}
	return taken / visiting
}

// usage has the processor time of other programs, in seconds, at several moments in their order.
type usage []used

type used struct {
	at      time.Duration
	seconds float64
}

// noteOthers records the processor time of other programs so far, and returns it, or NaN if it is not known.
func (s *sweep) noteOthers() float64 {
	if s.Others == nil {
		return math.NaN()
	}
	seconds := s.Others()
	s.usage = append(s.usage, used{s.Clock.Now(), seconds})
	return seconds
}

// share returns how much of a processor other programs or virtual machines took in a time, from the records around its ends. It
// returns NaN if that is not known.
func (u usage) share(from, until time.Duration) float64 {
	if len(u) == 0 {
		return math.NaN()
	}
	first, last := u[0], u[len(u)-1]
	for _, now := range u {
		if now.at <= from {
			first = now
		}
		if now.at >= until {
			last = now
			break
		}
	}
	return (last.seconds - first.seconds) / (last.at - first.at).Seconds()
}
