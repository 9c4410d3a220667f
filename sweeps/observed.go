package sweeps

import (
	"math"

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
	Epochs     int     // 1, and 1 more for each lasting change of the clock
	Discarded  Discarded
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

// keep notes the last readings as those of a machine whose blocks were kept.
func (s *sentinel) keep() {
	s.kept = append(s.kept, s.figures(func(w *work) float64 { return w.last }))
}

// forget forgets what was noted.
func (s *sentinel) forget() { s.kept = nil }

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
		for _, f := range s.kept {
			if value := figure(f); value > 0 {
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
		Baseline:   s.figures(func(w *work) float64 { return w.baseline }),
		Kept: Figures{
			OneProcessor: typical(func(f Figures) float64 { return f.OneProcessor }),
			AllRatio:     typical(func(f Figures) float64 { return f.AllRatio }),
			HandOver:     typical(func(f Figures) float64 { return f.HandOver }),
		},
		Readings: len(s.kept),
		Epochs:   1 + s.epoch(),
	}
}
