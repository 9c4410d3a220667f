package harness

import (
	"slices"

	"crossover/calibration"
)

// Move is a change of a case's choices from one calibration to another that neither of the two allows for.
type Move struct {
	Case, Unit string
	Kind       MoveKind

	// From and To are the sizes, both included, at which the choice is Now and was Before. If a threshold shifted, they are
	// the sizes between its two places.
	From, To    int
	Now, Before string
	Ends        bool // whether To is the greatest size that both measured
}

// MoveKind says what happened to a threshold.
type MoveKind string

// The kinds of moves.
const (
	ShiftedUp   MoveKind = "shifted up"   // Before is now chosen from To+1 on, and was from From on
	ShiftedDown MoveKind = "shifted down" // Now is chosen from From on, and was from To+1 on
	Appeared    MoveKind = "appeared"
	Vanished    MoveKind = "vanished"
	Replaced    MoveKind = "replaced" // the thresholds are as before, or moved with the implementation
)

// Moves returns the changes between the choices of two calibrations of a case, at sizes that both measured. It leaves out
// sizes at which one of them says that it does not know: sizes inside an interval, sizes in doubt, and all sizes of a case
// that is unresolved, or is a tie now.
func Moves(before, now *calibration.Case) []Move {
	if unsettled(before) || unsettled(now) || now.Verdict == calibration.Tie {
		return nil
	}
	moves := slices.DeleteFunc(differences(before, now), func(m Move) bool { return expected(before, &m) || expected(now, &m) })
	for k := range moves {
		moves[k].Kind = kindOf(&moves[k], before, now)
	}
	return moves
}

// differences returns the stretches of sizes at which the choices of two calibrations of a case differ, without their kinds.
func differences(before, now *calibration.Case) []Move {
	to := min(before.Axis.To, now.Axis.To)
	edges := edges(before, now, to)
	var moves []Move
	for k, from := range edges {
		m := Move{Case: now.Name, Unit: now.Axis.Unit, From: from, To: to, Now: chosen(now, from), Before: chosen(before, from), Ends: true}
		if k+1 < len(edges) {
			m.To, m.Ends = edges[k+1]-1, false
		}
		n := len(moves) - 1
		switch {
		case m.Now == m.Before:
		case n >= 0 && moves[n].To == from-1 && moves[n].Now == m.Now && moves[n].Before == m.Before:
			moves[n].To, moves[n].Ends = m.To, m.Ends
		default:
			moves = append(moves, m)
		}
	}
	return moves
}

// edges returns the sizes at which a choice of one of two calibrations may begin, up to to, of those that both measured.
func edges(before, now *calibration.Case, to int) []int {
	from := max(before.Axis.From, now.Axis.From)
	if from > to {
		return nil
	}
	all := []int{from}
	for _, s := range slices.Concat(before.Segments, now.Segments) {
		if s.From > from && s.From <= to {
			all = append(all, s.From)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func unsettled(c *calibration.Case) bool {
	return len(c.Segments) == 0 || c.Verdict == calibration.Unresolved
}

// chosen returns the chosen implementation of a case at a size.
func chosen(c *calibration.Case, size int) string {
	name := c.Segments[0].Implementation
	for _, s := range c.Segments[1:] {
		if s.From <= size {
			name = s.Implementation
		}
	}
	return name
}

// expected reports whether a case says that it does not know the choice at the sizes of a move.
func expected(c *calibration.Case, m *Move) bool {
	return slices.ContainsFunc(c.Segments, func(s calibration.Segment) bool {
		if s.Interval != nil && s.Interval.Low <= m.From && m.To <= s.Interval.High {
			return true
		}
		return slices.ContainsFunc(s.Doubts, func(d calibration.Doubt) bool {
			low, high := around(c.Sizes, d)
			return low <= m.From && m.To <= high
		})
	})
}

// around returns the range of sizes of a doubt: its own, and those up to the next measured ones.
func around(sizes []int, d calibration.Doubt) (low, high int) {
	low, high = d.From, d.To
	if k, _ := slices.BinarySearch(sizes, d.From); k > 0 {
		low = sizes[k-1] + 1
	}
	if k, _ := slices.BinarySearch(sizes, d.To+1); k < len(sizes) {
		high = sizes[k] - 1
	}
	return low, high
}

// kindOf says what happened to the thresholds at the ends of a move.
func kindOf(m *Move, before, now *calibration.Case) MoveKind {
	behind := m.To + 1
	switch {
	case switches(before, m.From, m.Now, m.Before) && switches(now, behind, m.Now, m.Before):
		return ShiftedUp
	case switches(now, m.From, m.Before, m.Now) && switches(before, behind, m.Before, m.Now):
		return ShiftedDown
	case switches(now, m.From, m.Before, m.Now) || switches(now, behind, m.Now, m.Before):
		return Appeared
	case switches(before, m.From, m.Now, m.Before) || switches(before, behind, m.Before, m.Now):
		return Vanished
	}
	return Replaced
}

// switches reports whether a case has a threshold at a size, from one implementation to another.
func switches(c *calibration.Case, size int, from, to string) bool {
	for n, s := range c.Segments {
		if n > 0 && s.From == size {
			return c.Segments[n-1].Implementation == from && s.Implementation == to
		}
	}
	return false
}
