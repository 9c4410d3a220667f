package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/harness"
)

// mostMoves is the greatest number of moves that are printed.
const mostMoves = 12

// moves prints which choices moved since the entry before. It prints nothing if none did, or if before is nil.
func moves(w io.Writer, before, now *calibration.Host) {
	if before == nil {
		return
	}
	var lines []string
	for k := range now.Cases {
		c := &now.Cases[k]
		was := slices.IndexFunc(before.Cases, func(b calibration.Case) bool { return b.Name == c.Name })
		if was < 0 {
			continue
		}
		for _, m := range harness.Moves(&before.Cases[was], c) {
			lines = append(lines, inWords(&m))
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\nmoved since %s:\n", newest(before).Format(time.DateOnly))
	for _, line := range lines[:min(len(lines), mostMoves)] {
		fmt.Fprintln(w, command.Wrap("  "+line))
	}
	if rest := len(lines) - mostMoves; rest > 0 {
		fmt.Fprintf(w, "  and %d more\n", rest)
	}
}

// newest returns the time of an entry's last run.
func newest(h *calibration.Host) time.Time {
	last := h.Created
	for _, r := range h.Runs {
		if r.Created.After(last) {
			last = r.Created
		}
	}
	return last
}

// inWords describes a move.
func inWords(m *harness.Move) string {
	size := func(n int) string { return command.Thousands(n) + " " + calibration.UnitOf(n, m.Unit) }
	shifted := func(implementation string, to, from int) string {
		return fmt.Sprintf("%s: %s from %s on, before from %s", m.Case, implementation, size(to), command.Thousands(from))
	}
	switch m.Kind {
	case harness.ShiftedUp:
		return shifted(m.Before, m.To+1, m.From)
	case harness.ShiftedDown:
		return shifted(m.Now, m.From, m.To+1)
	}
	where := fmt.Sprintf("from %s to %s", command.Thousands(m.From), size(m.To))
	if m.Ends {
		where = fmt.Sprintf("from %s on", size(m.From))
	}
	line := fmt.Sprintf("%s: %s instead of %s %s", m.Case, m.Now, m.Before, where)
	switch m.Kind {
	case harness.Appeared:
		line += ", a new threshold"
	case harness.Vanished:
		line += ", a threshold less"
	}
	return line
}
