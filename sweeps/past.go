package sweeps

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"crossover/timings"
)

// past is a time in which the machine was worse than afterwards.
type past struct {
	from, until time.Duration // of the sweep's clock
	was         string        // what was worse
	epoch       int           // epoch that began at the end of this time; 0 if none did
	seen        bool          // another program was seen on the machine during all of it
	company     bool          // others usually used the core; that is a state of the machine itself
}

// If the system does not report other programs, a worse time counts as theirs if it is over within passesWithin, or within a
// passesShare-th of a short budget. A machine that changes its state by itself keeps the state longer: for at least 40 s,
// where we saw it.
const (
	passesWithin = 30 * time.Second
	passesShare  = 4
)

// passed reports whether the cause of a worse past was another program. If the system reports the processor time of others,
// that decides, because a state of the machine itself may also end and come back.
func (s *sweep) passed(p past) bool {
	if p.seen || p.company {
		return p.seen
	}
	if share := s.usage.share(p.from, p.until); !math.IsNaN(share) {
		return share > othersAllowed()
	}
	return p.until-p.from <= min(passesWithin, s.Budget/passesShare)
}

// rareBelow is the share of a run below which a state of the machine itself is rare. A program meets such a state, too, but seldom.
// Most sizes are visited once, so a size that was visited in it alone would decide by it.
const rareBelow = 0.3

// review handles the pasts that have ended, and earlier states of the machine that have become rare since.
func (s *sweep) review() {
	for _, p := range s.sentinel.pasts {
		for _, e := range s.entries {
			e.renumber(p.until-s.start, p.epoch)
		}
		if s.passed(p) {
			s.startOver(p)
		} else {
			s.states = append(s.states, p)
		}
	}
	s.sentinel.pasts = s.sentinel.pasts[:0]
	if len(s.states) > 0 && s.rare(s.worseStates()) {
		for _, p := range s.states {
			s.startOver(p)
		}
		s.states = nil
	}
}

// reviewEnd handles all worse states of the run, also the one in which it ends.
func (s *sweep) reviewEnd() {
	if worse := s.worseStates(); s.rare(worse) {
		for _, p := range worse {
			s.startOver(p)
		}
	}
}

// worseStates returns the worse states of the machine, and the present one if it is worse than an earlier one.
func (s *sweep) worseStates() []past {
	states := slices.Clone(s.states)
	if p, worse := s.sentinel.worsened(); worse {
		states = append(states, p)
	}
	if p, is := s.sentinel.core.inCompany(); is {
		states = append(states, p)
	}
	return states
}

// rare reports whether some states make a small part of the run together.
func (s *sweep) rare(states []past) bool {
	var lasted time.Duration
	for _, p := range states {
		lasted += p.until - p.from
	}
	return lasted.Seconds() < rareBelow*s.elapsed().Seconds()
}

// worsened returns the present epoch of the work of several processors as a past, if an earlier one was better.
func (s *sentinel) worsened() (p past, worse bool) {
	for _, w := range s.works {
		if !w.slowerOnly || len(w.epochs.earlier) == 0 {
			continue
		}
		if before := slices.Min(w.epochs.earlier); !w.near(w.baseline, before) && w.baseline > before {
			return past{from: w.epochs.began, until: s.clock.Now(),
				was: fmt.Sprintf("at the end, %s took %.2f times as long as before", w.of, w.baseline/before)}, true
		}
	}
	return past{}, false
}

// renumber moves the blocks since a moment of the sweep into an epoch that began then and has only now lasted long enough.
func (e *entry) renumber(since time.Duration, epoch int) {
	for k := range e.result.Samples.Blocks {
		if b := &e.result.Samples.Blocks[k]; b.Elapsed >= since.Seconds() && b.Epoch < epoch {
			b.Epoch, e.dirty = epoch, true
		}
	}
}

// startOver drops blocks of a worse past, because a program does not meet that machine. A case with few other blocks starts
// over. In other cases, and after half of the budget, such blocks are kept until there are quiet ones of their size.
func (s *sweep) startOver(p past) {
	late := s.elapsed() > s.Budget/2
	if !late {
		s.sentinel.forget(p.from, p.until)
	}
	from, until := (p.from - s.start).Seconds(), (p.until - s.start).Seconds()
	worse := func(b timings.Block) bool { return b.Elapsed >= from && b.Elapsed < until }
	for _, e := range s.entries {
		count := 0
		for _, b := range e.result.Samples.Blocks {
			if worse(b) {
				count++
			}
		}
		e.beside = slices.DeleteFunc(e.beside, func(b beside) bool { return b.until > p.from && b.from < p.until })
		switch {
		case count == 0:
		case !late && 2*count >= len(e.result.Samples.Blocks):
			e.forget(worse, s.Planner(e.c))
		default:
			e.doubt(worse, p.was)
		}
	}
}

// forget throws blocks away and begins with a new planner.
func (e *entry) forget(worse func(timings.Block) bool, p Planner) {
	e.result.Samples.Blocks = discard(e.result.Samples.Blocks, &e.result.Discarded.Restarts, func(b *timings.Block) bool { return worse(*b) })
	e.planner = p
	e.resume()
}

// doubt marks blocks as those of a disturbed machine. It throws away those of sizes that have quiet blocks.
func (e *entry) doubt(worse func(timings.Block) bool, was string) {
	blocks := e.result.Samples.Blocks
	quiet, doubted := map[int]bool{}, map[int]bool{}
	for k := range blocks {
		if b := &blocks[k]; worse(*b) {
			e.disturb(blocks[k:k+1], was)
			doubted[b.Size] = true
		}
		quiet[blocks[k].Size] = quiet[blocks[k].Size] || !blocks[k].Disturbed
	}
	replaced := func(b *timings.Block) bool { return b.Disturbed && quiet[b.Size] }
	e.result.Samples.Blocks = discard(blocks, &e.result.Discarded.Replaced, replaced)
	for _, size := range slices.Sorted(maps.Keys(doubted)) {
		if !quiet[size] {
			e.planner.Doubted(size)
		}
	}
	e.resume()
}

// resume lets the planner be asked again, up to the greatest size that it may propose.
func (e *entry) resume() {
	e.stopAt(e.high)
	e.done, e.dirty = len(e.implementations) == 0, true
}
