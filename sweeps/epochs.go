package sweeps

import (
	"math"
	"slices"
	"time"
)

const (
	// A change lasts when readings of so much time, and so many of them, agree with each other: what disturbs a machine
	// for a moment is over by then, or has changed again.
	lasting         = 500 * time.Millisecond
	lastingReadings = 5
	// followed is how many readings the baseline is the median of: a fifth of a second of them at most times, in which a clock
	// that swings moves less than a reading may be off.
	followed = 9
	// rouseFor bounds how long a processor is kept busy after a pause, so that its clock is up when it is looked at.
	rouseFor = 12 * time.Millisecond
)

// epochs is the history of a baseline. A clock that settles somewhere else, faster or slower, begins an epoch with a
// baseline of its own: the times of a block were all taken at one level, so the change cancels in what they are compared
// by. The zero value is that of a baseline that was just taken.
type epochs struct {
	changes int       // so far
	recent  []float64 // the last readings at the baseline
	moved   []reading // those in a row, at last, that were off the baseline
	earlier []float64 // baselines of earlier epochs
}

// reading is what a piece of work took, in seconds, and when.
type reading struct {
	at      time.Duration
	seconds float64
}

// steady reports whether a reading of a piece of work is at its baseline, or at one that has taken its place. What only
// slows parallel work does not cancel in a block, so there lasting changes nothing.
func (s *sentinel) steady(w *work, seconds float64) bool {
	e := &w.epochs
	switch {
	case near(seconds, w.baseline, w.tolerance):
		e.moved = e.moved[:0]
		if !w.slowerOnly && !s.spreadLately() {
			w.baseline = e.follow(seconds)
		}
		return true
	case w.slowerOnly:
		return false
	}
	level, lasts := e.settled(reading{s.clock.Now(), seconds}, w.tolerance)
	if !lasts {
		return false
	}
	s.begin(w, level)
	return true
}

// near reports whether a reading is at a level, but for the tolerance.
func near(seconds, level, tolerance float64) bool {
	return !(math.Abs(seconds-level) > tolerance*level)
}

// follow notes a reading at the baseline and returns the baseline that follows from the last ones: a clock that rises and
// falls slowly has no level that it was at when the sweep began.
func (e *epochs) follow(seconds float64) (baseline float64) {
	e.recent = append(e.recent, seconds)
	e.recent = e.recent[max(0, len(e.recent)-followed):]
	return median(slices.Clone(e.recent))
}

// settled notes a reading off the baseline. It returns the level of the last ones, and whether it is that of an earlier
// epoch, which two readings tell, or lasts.
func (e *epochs) settled(r reading, tolerance float64) (level float64, lasts bool) {
	e.moved = append(e.moved, r)
	if n := len(e.moved); n > 1 {
		for _, level := range e.earlier {
			if near(r.seconds, level, tolerance) && near(e.moved[n-2].seconds, level, tolerance) {
				return level, true
			}
		}
	}
	for len(e.moved) > lastingReadings && r.at-e.moved[1].at >= lasting {
		e.moved = e.moved[1:]
	}
	if len(e.moved) < lastingReadings || r.at-e.moved[0].at < lasting {
		return 0, false
	}
	var all []float64
	for _, m := range e.moved {
		all = append(all, m.seconds)
	}
	level = median(all)
	agree := 0
	for _, seconds := range all {
		if near(seconds, level, tolerance) {
			agree++
		}
	}
	return level, 3*agree >= 2*len(all)
}

// begin begins an epoch at a level of a piece of work. The works of several processors take so many times as long, too:
// what they are held against would else be that of another clock.
func (s *sentinel) begin(w *work, level float64) {
	e := &w.epochs
	e.earlier = slices.DeleteFunc(e.earlier, func(earlier float64) bool {
		return near(level, earlier, w.tolerance) || near(w.baseline, earlier, w.tolerance)
	})
	e.earlier = append(e.earlier, w.baseline)
	e.changes++
	e.moved, e.recent = nil, []float64{level}
	for _, other := range s.works {
		if other.slowerOnly {
			other.baseline *= level / w.baseline
			other.began *= level / w.baseline
		}
	}
	w.baseline = level
}

// epoch returns the number of the present epoch, from 0.
func (s *sentinel) epoch() int {
	number := 0
	for _, w := range s.works {
		number += w.epochs.changes
	}
	return number
}

// rouse keeps a processor that was idle busy until its clock is up again, where it can be told by the baseline, or for
// rouseFor.
func (s *sentinel) rouse() {
	for _, w := range s.works {
		if !w.slowerOnly {
			s.readUntil(w, (1+w.tolerance)*w.baseline, rouseFor)
		}
	}
}
