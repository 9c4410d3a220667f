package sweeps

import (
	"math"
	"slices"
	"time"
)

// Observed is what a sweep's sentinel measured of the machine, without regard to implementations. A virtual machine may be
// in one state during a whole sweep, and in another an hour later. No reading is off its baseline then, so a comparison of
// two sweeps needs what both sentinels measured.
type Observed struct {
	Processors int     // number of processors that took part
	Baseline   Figures // the last baseline with which readings were compared
	Kept       Figures // medians of the readings next to kept blocks
	Readings   int     // number of readings behind Kept
	Epochs     int     // 1 plus the number of lasting changes: of the clock, of all processors at once, of a hand-over
	Crowded    Crowded
	Company    float64 // share of the sweep in which others usually used the core of the calls; −1 if that is not known
	Discarded  Discarded
}

// CrowdedAbove is the least ratio of the time of all processors at once to that of one alone at which they do not reach
// their speed. The ratio is 1.0 if each has a core to itself, and 1.95 on two threads of one core.
const CrowdedAbove = 1.5

// Crowded says for how much of the time processors did not reach their speed all at once. Its zero value means that they
// always did, or that nothing was measured.
type Crowded struct {
	Share    float64 // of the time
	AllRatio float64 // median of the ratio in that time
}

// crowding collects what Crowded sums up.
type crowding struct {
	watched, crowded time.Duration
	ratios           []float64 // those above CrowdedAbove
}

// note records a ratio that held for some time; 0 means not known.
func (c *crowding) note(covers time.Duration, allRatio float64) {
	if allRatio == 0 {
		return
	}
	c.watched += covers
	if allRatio > CrowdedAbove {
		c.crowded += covers
		c.ratios = append(c.ratios, allRatio)
	}
}

func (c *crowding) observed() Crowded {
	if c.crowded == 0 {
		return Crowded{}
	}
	return Crowded{Share: c.crowded.Seconds() / c.watched.Seconds(), AllRatio: median(slices.Clone(c.ratios))}
}

// Figures are the times of fixed work. A figure that is not known is 0.
type Figures struct {
	OneProcessor float64 // seconds on one processor
	AllRatio     float64 // time of all processors at once divided by that of one alone, with the same work each: about 1 to 2
	HandOver     float64 // seconds from one processor to the next
}

// figures returns the figures from the seconds of each piece of work, which are 0 if it was not timed.
func (s *sentinel) figures(seconds func(*work) float64) Figures {
	known := func(w *work) float64 {
		if w == nil {
			return 0
		}
		if took := seconds(w); took > 0 && !math.IsInf(took, 1) {
			return took
		}
		return 0
	}
	f := Figures{OneProcessor: known(s.spin)}
	if all, alone := known(s.all), known(s.alone); alone > 0 {
		f.AllRatio = all / alone
	}
	if relay := known(s.relay); relay < meetWithin.Seconds() { // otherwise the baton did not come back
		f.HandOver = relay / HandOvers
	}
	return f
}

func lastReading(w *work) float64 { return w.last }
func atBaseline(w *work) float64  { return w.baseline }

// tellCore tells the core whether, in the present epoch, the machine's own processors are neighbours of one another.
func (s *sentinel) tellCore() {
	if s.core != nil {
		s.core.ownCrowd = s.figures(atBaseline).AllRatio > CrowdedAbove
	}
}

// kept are the readings next to kept blocks.
type kept struct {
	at time.Duration
	Figures
}

// keep records the last readings as those of a machine whose blocks were kept.
func (s *sentinel) keep() {
	s.kept = append(s.kept, kept{s.clock.Now(), s.figures(lastReading)})
}

// forget drops what was recorded in a time.
func (s *sentinel) forget(from, until time.Duration) {
	s.kept = slices.DeleteFunc(s.kept, func(k kept) bool { return k.at >= from && k.at < until })
}

// observed returns what was measured so far, and the blocks that all cases lost.
func (s *sweep) observed() Observed {
	o := s.sentinel.observed()
	if s.sentinel.core != nil {
		o.Company = s.companyShare()
	}
	for _, e := range s.entries {
		o.Discarded.add(e.result.Discarded)
	}
	return o
}

// companyShare returns the share of the sweep in which others usually used the core, without times whose blocks were dropped or
// doubted.
func (s *sweep) companyShare() float64 {
	var lasted time.Duration
	for _, p := range s.worseStates() {
		if p.company {
			lasted += p.until - max(p.from, s.start)
		}
	}
	return lasted.Seconds() / s.elapsed().Seconds()
}

// observed returns what was measured so far.
func (s *sentinel) observed() Observed {
	typical := func(figure func(Figures) float64) float64 {
		var known []float64
		for _, k := range s.kept {
			if value := figure(k.Figures); value > 0 {
				known = append(known, value)
			}
		}
		if len(known) == 0 {
			return 0
		}
		return median(known)
	}
	return Observed{
		Processors: s.processors,
		Baseline:   s.figures(atBaseline),
		Kept: Figures{
			OneProcessor: typical(func(f Figures) float64 { return f.OneProcessor }),
			AllRatio:     typical(func(f Figures) float64 { return f.AllRatio }),
			HandOver:     typical(func(f Figures) float64 { return f.HandOver }),
		},
		Readings: len(s.kept),
		Epochs:   1 + s.epoch(),
		Crowded:  s.crowd.observed(),
		Company:  -1,
	}
}
