package sweeps

import (
	"fmt"
	"slices"
	"time"
)

const (
	// A change lasts when readings of this much time agree with each other, and readings between them make up at most half
	// as much time. A short disturbance is over by then, or has changed again. Readings of several processors must agree for
	// lastingTogether, or for a lastingShare-th of a short budget: another program that computes for a second or two is no
	// state of the machine, and it slows only parallel work.
	lasting         = 500 * time.Millisecond
	lastingTogether = 3 * time.Second
	lastingShare    = 30
	// lastingReadings is the least number of such readings, and returningReadings the same for a known level.
	lastingReadings, returningReadings = 5, 2
	// followed is the number of readings of which the baseline is the median. They usually cover a fifth of a second, in
	// which a swinging clock changes by less than the tolerance.
	followed = 9
	// rouseFor is the longest time for which a processor is kept busy after a pause, so that its clock is up for a reading.
	rouseFor = 12 * time.Millisecond
)

// epochs is the history of a baseline. A machine that settles at another speed begins an epoch with a baseline of its own.
// All times of a block are of one level. A level of the clock cancels in ratios. A level of several processors is one of the
// states that a program meets.
type epochs struct {
	changes int           // number so far
	began   time.Duration // when the present one began
	earlier []float64     // baselines of earlier epochs

	recent   []float64     // the last readings that were at the baseline
	readings []reading     // all recent readings
	read     time.Duration // when the last reading was taken
}

// reading is the time of a piece of work, in seconds, with its moment, and the time before that moment for which it counts.
type reading struct {
	at, covers time.Duration
	seconds    float64
	off        bool // off the baseline
}

// steady reports whether a reading is at the baseline of its work, at a new baseline, or better than both.
func (s *sentinel) steady(w *work, seconds float64) bool {
	e, off := &w.epochs, !w.near(seconds, w.baseline)
	e.note(s.clock.Now(), seconds, off, w.lasts)
	if !off {
		if !w.slowerOnly {
			e.readings = e.readings[:0] // a lucky reading makes no clock faster
			if inCompany := s.core != nil && s.core.company.usual; !inCompany && !s.spreadLately() {
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

// near reports whether a reading is at a level, within the tolerance. For slowerOnly works, whose tolerance is large, the
// tolerance is a factor in both directions.
func (w *work) near(seconds, level float64) bool {
	least := (1 - w.tolerance) * level
	if w.slowerOnly {
		least = level / (1 + w.tolerance)
	}
	return !(seconds > (1+w.tolerance)*level || seconds < least)
}

// follow records a reading at the baseline and returns the baseline from the last such readings, because a clock that rises
// and falls slowly has no constant level.
func (e *epochs) follow(seconds float64) (baseline float64) {
	e.recent = append(e.recent, seconds)
	e.recent = e.recent[max(0, len(e.recent)-followed):]
	return median(slices.Clone(e.recent))
}

// window returns the time within which readings must agree for a duration of lasts.
func window(lasts time.Duration) time.Duration { return lasts + lasts/2 }

// covers returns the time for which a reading counts that is taken now: the time since the last reading, and at most a third
// of lasts.
func (e *epochs) covers(now, lasts time.Duration) time.Duration {
	return min(now-e.read, lasts/3)
}

// note records a reading, and drops readings that are too old to count.
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

// settled returns the level of the last readings off the baseline, on the side of the last reading. It reports whether that
// level lasts, and since when. An earlier level is accepted sooner, unless it is better than the baseline: better readings
// disturb nothing, so nothing is lost by waiting for more of them.
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

// held reports whether the last readings are at a level off the baseline, for lasts in all and at least atLeast of them, and
// since when.
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

// begin begins an epoch at a level of a piece of work, since a moment. When a clock has changed, the baselines of several
// processors' work change by the same factor, because otherwise they would be those of another clock.
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
			was: fmt.Sprintf("until then, %s took %.2f times as long as afterwards", w.of, w.baseline/level),
		})
	}
	w.baseline, e.began = level, since
	e.readings, e.recent = nil, []float64{level}
	s.tellCore()
}

// scale multiplies the baselines by the factor by which a clock has changed. It drops earlier readings.
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

// rouse keeps a processor that was idle busy until its clock is up again, by the baseline if there is one, and for at most
// rouseFor.
func (s *sentinel) rouse() {
	for _, w := range s.works {
		if !w.slowerOnly {
			s.readUntil(w, (1+w.tolerance)*w.baseline, rouseFor)
		}
	}
}
