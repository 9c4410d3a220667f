package main

import (
	"slices"
	"time"
)

// spread describes the times of one side's runs.
type spread struct{ Low, Median, High time.Duration } // 10 %, 50 % and 90 % of the runs take at most so long

func spreadOf(times []time.Duration) spread {
	slices.Sort(times)
	at := func(percent int) time.Duration { return times[(len(times)-1)*percent/100] }
	return spread{at(10), at(50), at(90)}
}

// warmUp is how long both sides run before they are timed. Clocks settle in that time.
const warmUp = 300 * time.Millisecond

// compare runs two sides in turn and returns the times of each. The first one is first in every other round.
func compare(a, b *side, runs int) (ofA, ofB spread, err error) {
	for begin := time.Now(); time.Since(begin) < warmUp; {
		if _, err = a.run(); err != nil {
			return
		}
		if _, err = b.run(); err != nil {
			return
		}
	}
	times := map[*side][]time.Duration{}
	for round := range runs {
		order := []*side{a, b}
		if round%2 == 1 {
			order = []*side{b, a}
		}
		for _, s := range order {
			took, err := s.run()
			if err != nil {
				return ofA, ofB, err
			}
			times[s] = append(times[s], took)
		}
	}
	return spreadOf(times[a]), spreadOf(times[b]), nil
}
