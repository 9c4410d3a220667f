package sweeps

import (
	"math"
	"slices"
	"time"

	"crossover/pool"
)

// Observed is what a sweep's sentinel saw of the machine, apart from any implementation. A virtual machine may keep one
// state during a sweep and be in another an hour later. No reading is then off its baseline, so a comparison of two
// sweeps needs what both sentinels saw.
type Observed struct {
	Processors int     // that took part
	Baseline   Figures // what readings were held against, as it stood last
	Kept       Figures // medians of the readings beside blocks that were kept
	Readings   int     // of which Kept is the median
	Epochs     int     // 1, and 1 more for each lasting change: of the clock, of all processors at once, of a hand-over
	Crowded    Crowded
	Discarded  Discarded
}

// CrowdedAbove is the time of all processors at once over that of one alone from which on they do not reach their speed. It
// is 1.0 where each has a core to itself and 1.95 on two threads of one core.
const CrowdedAbove = 1.5

// Crowded is for how much of the time processors did not reach their speed all at once. Its zero value is that of processors
// that always did, or that nobody looked at.
type Crowded struct {
	Share    float64 // of the time
	AllRatio float64 // meanwhile, the median
}

// crowding is what Crowded is made from.
type crowding struct {
	watched, crowded time.Duration
	ratios           []float64 // while crowded
}

// note notes what the ratio was for some time; 0 where it is not known.
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

// Figures is what fixed work took. One that is not known is 0.
type Figures struct {
	OneProcessor float64 // seconds that one processor took
	AllRatio     float64 // time of all processors at once over that of one alone, the same work each: about 1 to 2
	HandOver     float64 // seconds from one processor to the next
}

// Together is work of several processors that a Sentinel of one's own comes with.
type Together struct {
	Processors int    // 2 or more
	All        func() // fixed work on each of them at once
	One        func() // the same work on one of them alone
	HandOver   func() // a baton that goes HandOvers times from one to the next
}

// HandOvers is how many times Together.HandOver hands its baton over.
const HandOvers = 200

// pooled is the work of this machine's processors.
func pooled() *Together {
	return &Together{
		Processors: pool.Shared().Workers(), All: crowdWork, One: func() { crowd{}.Do(0, 0, 1) }, HandOver: new(relay).run,
	}
}

// figures puts together what each piece of work took, in seconds; 0 where it was not timed.
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
	if relay := known(s.relay); relay < relayWithin.Seconds() { // else the baton did not come home
		f.HandOver = relay / HandOvers
	}
	return f
}

func lastReading(w *work) float64 { return w.last }
func atBaseline(w *work) float64  { return w.baseline }

// tellCore tells whoever watches the cores for neighbours whether, in the present epoch, the machine's own processors are
// neighbours to one another.
func (s *sentinel) tellCore() {
	if s.core != nil {
		s.core.ownCrowd = s.figures(atBaseline).AllRatio > CrowdedAbove
	}
}

// kept is what the readings were beside blocks that were kept.
type kept struct {
	at time.Duration
	Figures
}

// keep notes the last readings as those of a machine whose blocks were kept.
func (s *sentinel) keep() {
	s.kept = append(s.kept, kept{s.clock.Now(), s.figures(lastReading)})
}

// forget forgets what was noted in a time.
func (s *sentinel) forget(from, until time.Duration) {
	s.kept = slices.DeleteFunc(s.kept, func(k kept) bool { return k.at >= from && k.at < until })
}

// observed returns what was seen so far, and what it cost all cases.
func (s *sweep) observed() Observed {
	o := s.sentinel.observed()
	for _, e := range s.entries {
		o.Discarded.add(e.result.Discarded)
	}
	return o
}

// observed returns what was seen so far.
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
	}
}
