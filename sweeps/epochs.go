package sweeps

import (
	"fmt"
	"slices"
	"time"
)

const (
	// A change lasts when readings of so much time agree with each other, and those between them make up half as much time
	// at most: what disturbs a machine for a moment is over by then, or has changed again. Readings of several processors
	// have to agree for lastingTogether, or for a lastingShare-th of a short budget: what another program computes in a
	// second or two is no state of the machine, and slows parallel work alone.
	lasting         = 500 * time.Millisecond
	lastingTogether = 3 * time.Second
	lastingShare    = 30
	// lastingReadings is how many readings that is at least, and returningReadings the same where a level is known.
	lastingReadings, returningReadings = 5, 2
	// followed is how many readings the baseline is the median of: a fifth of a second of them at most times, in which a clock
	// that swings moves less than a reading may be off.
	followed = 9
	// rouseFor bounds how long a processor is kept busy after a pause, so that its clock is up when it is looked at.
	rouseFor = 12 * time.Millisecond
)

// epochs is the history of a baseline. A machine that settles somewhere else, faster or slower, begins an epoch with a
// baseline of its own. The times of a block were all taken at one level. That of a clock cancels in what they are compared
// by. That of several processors is one of the states that a program will meet.
type epochs struct {
	changes int           // so far
	began   time.Duration // when the present one did
	earlier []float64     // baselines of earlier epochs

	recent   []float64     // the last readings at the baseline
	readings []reading     // all of late
	read     time.Duration // when the last one was taken
}

// reading is what a piece of work took, in seconds, when, and for how much time before that it stands.
type reading struct {
	at, covers time.Duration
	seconds    float64
	off        bool // the baseline
}

// steady reports whether a reading of a piece of work is at its baseline, or at one that has taken its place, or is no
// worse than either.
func (s *sentinel) steady(w *work, seconds float64) bool {
	e, off := &w.epochs, !w.near(seconds, w.baseline)
	e.note(s.clock.Now(), seconds, off, w.lasts)
	if !off {
		if !w.slowerOnly {
			e.readings = e.readings[:0] // luck makes no clock faster
			if !s.spreadLately() {
				w.baseline = e.follow(seconds)
			}
		}
		return true
	}
	level, since, lasts := w.settled(seconds)
	if lasts {
		s.begin(w, level, since)
	}
	return lasts || w.slowerOnly && seconds < w.baseline
}

// near reports whether a reading is at a level, but for the tolerance. Where that is most of the level, it is as far below it
// as above it as a factor.
func (w *work) near(seconds, level float64) bool {
	least := (1 - w.tolerance) * level
	if w.slowerOnly {
		least = level / (1 + w.tolerance)
	}
	return !(seconds > (1+w.tolerance)*level || seconds < least)
}

// follow notes a reading at the baseline and returns the baseline that follows from the last ones: a clock that rises and
// falls slowly has no level that it was at when the sweep began.
func (e *epochs) follow(seconds float64) (baseline float64) {
	e.recent = append(e.recent, seconds)
	e.recent = e.recent[max(0, len(e.recent)-followed):]
	return median(slices.Clone(e.recent))
}

// window is the time in which readings have to agree for so long.
func window(lasts time.Duration) time.Duration { return lasts + lasts/2 }

// covers returns for how much time a reading stands that is taken now: that since the last one, but for no more than a third
// of what lasts.
func (e *epochs) covers(now, lasts time.Duration) time.Duration {
	return min(now-e.read, lasts/3)
}

// note notes a reading, and forgets those that are too old to count.
func (e *epochs) note(now time.Duration, seconds float64, off bool, lasts time.Duration) {
	e.readings = append(e.readings, reading{now, e.covers(now, lasts), seconds, off})
	e.read = now
	covered := time.Duration(0)
	for k := len(e.readings) - 1; k >= 0; k-- {
		if covered >= window(lasts) && len(e.readings)-k > lastingReadings {
			e.readings = slices.Delete(e.readings, 0, k+1)
			return
		}
		covered += e.readings[k].covers
	}
}

// settled returns the level of the last readings off the baseline, on that side of it on which the last one is. It reports
// whether it is one that lasts, and since when. An earlier level is known again sooner, unless it is a better one: better
// readings disturb nothing, so nothing is lost by waiting for more of them.
func (w *work) settled(seconds float64) (level float64, since time.Duration, lasts bool) {
	e, faster := &w.epochs, seconds < w.baseline
	for _, level := range e.earlier {
		if w.slowerOnly && faster {
			continue
		}
		if since, lasts := w.held(level, w.returns, returningReadings); lasts {
			return level, since, true
		}
	}
	var side []float64
	for _, r := range e.readings {
		if r.off && (r.seconds < w.baseline) == faster {
			side = append(side, r.seconds)
		}
	}
	level = median(side)
	since, lasts = w.held(level, w.lasts, lastingReadings)
	return level, since, lasts
}

// held reports whether the last readings are at a level off the baseline, so many of them at least and for so much time in
// all, and since when.
func (w *work) held(level float64, lasts time.Duration, atLeast int) (since time.Duration, is bool) {
	var held, passed time.Duration
	count := 0
	for k, r := range slices.Backward(w.epochs.readings) {
		if r.off && w.near(r.seconds, level) {
			count++
			if held += r.covers; held >= lasts && count >= atLeast {
				return r.at - r.covers, true
			}
		}
		passed += r.covers
		if seen := len(w.epochs.readings) - k; passed >= window(lasts) && seen >= atLeast {
			break
		}
	}
	return 0, false
}

// begin begins an epoch, since some time, at a level of a piece of work. When a clock has changed, the works of several
// processors take so many times as long, too: what they are held against would else be that of another clock.
func (s *sentinel) begin(w *work, level float64, since time.Duration) {
	e := &w.epochs
	if !w.slowerOnly {
		for _, other := range s.works {
			if other.slowerOnly {
				other.scale(level / w.baseline)
			}
		}
	}
	e.earlier = slices.DeleteFunc(e.earlier, func(earlier float64) bool {
		return w.near(level, earlier) || w.near(w.baseline, earlier)
	})
	e.earlier = append(e.earlier, w.baseline)
	if e.changes++; w.slowerOnly && level < w.baseline {
		s.pasts = append(s.pasts, past{
			from: e.began, until: since, epoch: s.epoch(),
			was: fmt.Sprintf("%s had taken %.2f times as long before", w.of, w.baseline/level),
		})
	}
	w.baseline, e.began = level, since
	e.readings, e.recent = nil, []float64{level}
	s.tellCore()
}

// scale is called when a clock takes so many times as long for everything. Readings from before tell nothing any more.
func (w *work) scale(factor float64) {
	w.baseline *= factor
	w.epochs.readings = nil
	for k := range w.epochs.earlier {
		w.epochs.earlier[k] *= factor
	}
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
