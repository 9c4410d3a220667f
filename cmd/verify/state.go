package main

import (
	"fmt"
	"strings"

	"golang.org/x/perf/benchunit"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/crossover"
)

// sameState is the factor by which a figure of two sweeps may differ on a machine in one state. On a virtual machine of two
// processors the medians of quiet sweeps differ by up to 1.2; its states are 30, 48 and 165 ns a hand-over, and a ratio of
// 1.0 or 1.95.
const sameState = 1.4

// state is how the machine's processors stood to one another when it was calibrated, and how they do now.
type state struct {
	Then  *calibration.SentinelTimes `json:"then"` // null where the file does not say
	Now   *calibration.SentinelTimes `json:"now"`  // null where it was not looked at
	Moved []string                   `json:"moved"`
}

// compareStates says which figures moved. What one of the two does not know is not compared.
func compareStates(then, now *calibration.Sentinel) state {
	times := func(s *calibration.Sentinel) *calibration.SentinelTimes {
		if s == nil {
			return nil
		}
		t := command.SentinelTimes(s)
		return &t
	}
	s := state{Then: times(then), Now: times(now), Moved: []string{}}
	if s.Then == nil || s.Now == nil {
		return s
	}
	if then.Processors != now.Processors {
		s.Moved = append(s.Moved, fmt.Sprintf("%s take part, then %d", command.Plural(now.Processors, "processor"), then.Processors))
		return s // the other figures are of other processors
	}
	if before, after := s.Then.AllProcessorsRatio, s.Now.AllProcessorsRatio; differ(before, after) {
		s.Moved = append(s.Moved, fmt.Sprintf("all %d processors at once take %.2f times as long as one alone, then %.2f",
			now.Processors, after, before))
	}
	if before, after := s.Then.HandoverSeconds, s.Now.HandoverSeconds; differ(before, after) {
		s.Moved = append(s.Moved, fmt.Sprintf("a hand-over from processor to processor takes %ss, then %ss",
			benchunit.Scale(after, benchunit.Decimal), benchunit.Scale(before, benchunit.Decimal)))
	}
	return s
}

// differ reports whether two figures, both known, are those of different states.
func differ(before, after float64) bool {
	return before > 0 && after > 0 && (after > sameState*before || before > sameState*after)
}

// otherState is what is said of a machine whose processors stand to one another otherwise than at calibration.
const otherState = "the machine is in another state than at calibration"

// line says in one line what moved, "" where nothing did.
func (s *state) line() string {
	if len(s.Moved) == 0 {
		return ""
	}
	return otherState + ": " + strings.Join(s.Moved, "; ") + " (calibrate would measure this state)"
}

// excuses reports whether another state of the machine may be all that is behind a drift: it is where at every drifted size
// the choice or what beats it spreads over the processors. What one processor computes knows nothing of the others.
func (s *state) excuses(audit *crossover.Audit, names []string) bool {
	if len(s.Moved) == 0 {
		return false
	}
	for _, size := range audit.Sizes {
		if size.Finding == crossover.Drifted && !parallel(names[size.Chosen]) && !parallel(names[size.Best]) {
			return false
		}
	}
	return true
}

// parallel reports whether an implementation spreads over the processors. Ours, FFTW's and OpenBLAS's say so before their
// variant: "go-parallel/direct". What another library does inside a call is not known, and no excuse.
func parallel(implementation string) bool {
	contender, _, _ := strings.Cut(implementation, "/")
	return strings.HasSuffix(contender, "-parallel")
}
