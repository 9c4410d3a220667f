package plots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crossover/calibration"
)

// phrase is a part of a headline. implementation is "" if the phrase is about none.
type phrase struct {
	implementation string
	text           string
}

// headline says in words which implementation a case's calibration chooses where.
func headline(c *calibration.Case) []phrase {
	first := ""
	if len(c.Segments) > 0 {
		first = c.Segments[0].Implementation
	}
	everywhere := fmt.Sprintf("at every measured size, %s to %s", grouped(c.Axis.From), grouped(c.Axis.To))
	if c.Axis.From == c.Axis.To {
		everywhere = "at " + grouped(c.Axis.From)
	}
	switch {
	case c.Verdict == calibration.Tie:
		text := "a tie " + everywhere
		if len(c.Segments) == 1 {
			text += " (" + first + " is taken)"
		}
		return []phrase{{first, because(text, c.Reason)}}
	case c.Verdict == calibration.Unresolved || first == "":
		return []phrase{{"", because("unresolved", c.Reason)}}
	case len(c.Segments) == 1:
		return []phrase{{first, because(first+" is taken "+everywhere, c.Reason)}}
	}
	var phrases []phrase
	for i, s := range c.Segments {
		text := s.Implementation + " from " + grouped(s.From)
		if i > 0 && s.Interval != nil {
			text += fmt.Sprintf(" (95\u00a0%% %s–%s)", grouped(s.Interval.Low), grouped(s.Interval.High))
		}
		phrases = append(phrases, phrase{s.Implementation, text})
	}
	if c.Reason != "" {
		phrases = append(phrases, phrase{"", c.Reason})
	}
	return phrases
}

func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// verdict is a short headline of a case, for the overview.
func verdict(c *calibration.Case) string {
	few := c.Few()
	if few != "" {
		few += ": "
	}
	switch {
	case c.Verdict == calibration.Tie:
		return few + "tie"
	case c.Verdict == calibration.Unresolved || len(c.Segments) == 0:
		return "unresolved"
	case len(c.Segments) == 1 && few != "":
		return few + c.Segments[0].Implementation
	case len(c.Segments) == 1:
		return "always " + c.Segments[0].Implementation
	case len(c.Segments) > 4:
		return fmt.Sprintf("%d crossovers", len(c.Segments)-1)
	}
	var at []string
	for _, s := range c.Segments[1:] {
		at = append(at, grouped(s.From))
	}
	return few + "crossover at " + strings.Join(at, ", ")
}

// percent writes a ratio such as 0.034 as 3.4 %, with one decimal below 10 %.
func percent(ratio float64) string {
	switch {
	case ratio >= 9.995:
		return ">999\u202f%"
	case ratio <= 0 && ratio > -0.0005:
		return "0\u202f%"
	case ratio > 0 && ratio < 0.0005:
		return "<0.1\u202f%"
	case ratio < 0:
		return "−" + percent(-ratio)
	case ratio >= 0.0995:
		return strconv.FormatFloat(ratio*100, 'f', 0, 64) + "\u202f%"
	}
	return strings.TrimSuffix(strconv.FormatFloat(ratio*100, 'f', 1, 64), ".0") + "\u202f%"
}

// machine describes a host in several parts.
func machine(h *calibration.Host) []string {
	parts := h.Facts.Words()
	if h.Facts.Chip == "" {
		parts = slices.Insert(parts, 0, h.ID)
	}
	return parts
}

// circumstances describes the software of the host and its state during the measurement.
func circumstances(h *calibration.Host) []string {
	e := h.Environment
	parts := []string{firstOf(e.OSVersion, e.OS), e.Driver, e.Go}
	if known(e.Power) {
		parts = append(parts, "on "+e.Power)
	}
	if e.PowerMode == "low" {
		parts = append(parts, "low-power mode")
	}
	if known(e.Priority) && e.Priority != "normal" {
		parts = append(parts, "priority "+e.Priority)
	}
	if known(e.Thermal) {
		parts = append(parts, "thermal "+e.Thermal)
	}
	return parts
}

// provenance says how and when the numbers were measured.
func provenance(h *calibration.Host) []string {
	e, m := h.Environment, h.Method
	tool := labelled("crossover ", e.ToolVersion)
	if e.ToolCommit != "" {
		commit, more, changed := strings.Cut(e.ToolCommit, "+")
		if commit = commit[:min(12, len(commit))]; changed {
			commit += "+" + more
		}
		tool = firstOf(tool, "crossover") + " (" + commit + ")"
	}
	parts := []string{tool}
	if !h.Created.IsZero() {
		parts = append(parts, h.Created.UTC().Format("2006-01-02 15:04 UTC"))
	}
	mode := m.Mode
	if m.InFlight > 0 {
		mode += fmt.Sprintf(" with %d in flight", m.InFlight)
	}
	return append(parts, m.State, mode, fmt.Sprintf("seed %d", m.Seed))
}

// gpuShares returns, for each GPU implementation, the share of a call's time in which the GPU works, at the least and the
// greatest size. The share is called launch efficiency.
func gpuShares(c *calibration.Case) []string {
	var parts []string
	for _, i := range c.Implementations {
		var ends []string
		for _, g := range i.GPUTimes {
			ends = append(ends, percent(g.LaunchEfficiency)+" at "+grouped(g.Size))
		}
		if len(ends) > 0 {
			parts = append(parts, "GPU's share of a call by "+i.Name+": "+strings.Join(ends, ", "))
		}
	}
	return parts
}

// libraries lists the versions of the libraries of a case's implementations, each once. It leaves out the GPU's driver,
// which circumstances has.
func libraries(h *calibration.Host, c *calibration.Case) []string {
	var versions []string
	seen := map[string]bool{h.Environment.Driver: true}
	for _, i := range c.Implementations {
		if i.Version != "" && !seen[i.Version] {
			seen[i.Version] = true
			versions = append(versions, i.Version)
		}
	}
	return versions
}

// doubts lists what a reader must know before trusting a case: excluded implementations, and warnings. That a case is degraded
// is marked elsewhere, so its warning has only the cause. A warning about the extent of what was timed is a note.
func doubts(c *calibration.Case) []string {
	var lines []string
	var reasons []string
	excluded := map[string][]string{}
	for _, i := range c.Implementations {
		if i.Excluded == "" {
			continue
		}
		if excluded[i.Excluded] == nil {
			reasons = append(reasons, i.Excluded)
		}
		excluded[i.Excluded] = append(excluded[i.Excluded], i.Name)
	}
	for _, reason := range reasons {
		lines = append(lines, strings.Join(excluded[reason], ", ")+" excluded: "+reason)
	}
	for _, w := range c.Warnings {
		mark := "warning: "
		if saysExtent(w) {
			mark = noteMark
		}
		lines = append(lines, mark+strings.TrimPrefix(w, "degraded: "))
	}
	return lines
}

// noteMark begins a remark that takes nothing away from what a case says.
const noteMark = "note: "

// saysExtent reports whether a warning only says up to which size something was timed.
func saysExtent(warning string) bool {
	return strings.HasPrefix(warning, "stopped at ") || strings.Contains(warning, " was not timed above ")
}

func known(state string) bool { return state != "" && state != "unknown" }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// labelled returns value behind label, or "" if there is no value.
func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}
