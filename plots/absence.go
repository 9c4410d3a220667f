package plots

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// A chart shows at which sizes an implementation was not timed: its line ends at a bar or is dotted, and its label says from
// or up to which size it was timed.

// timedFrom says in a few words at which sizes an implementation was timed, and "" if it was timed at the least and at the
// greatest.
func (c *curve) timedFrom() string {
	first, last := sizeLabel(int(c.times[0].X)), sizeLabel(int(c.times[len(c.times)-1].X))
	switch {
	case c.below && c.above && first == last:
		return "at " + first
	case c.below && c.above:
		return first + " to " + last
	case c.below:
		return "from " + first
	case c.above:
		return "up to " + last
	}
	return ""
}

// neverTimed returns the implementations of a case that were excluded and have no curve, in their order.
func neverTimed(c *calibration.Case, curves []curve) []string {
	timed := map[string]bool{}
	for i := range curves {
		timed[curves[i].name] = true
	}
	var names []string
	for _, i := range c.Implementations {
		if i.Excluded != "" && !timed[i.Name] {
			names = append(names, i.Name)
		}
	}
	return names
}

// drawEnd draws the bar at which a line ends.
func drawEnd(c draw.Canvas, s style, at vg.Point) {
	if c.ContainsY(at.Y) {
		c.StrokeLine2(draw.LineStyle{Color: s.color, Width: 1.6}, at.X, at.Y-5, at.X, at.Y+5)
	}
}

// absenceKey explains the marks for sizes at which an implementation was not timed.
func absenceKey(curves []curve) []keyEntry {
	grey := style{color: muted}
	var entries []keyEntry
	if slices.ContainsFunc(curves, func(c curve) bool { return c.above || c.below }) {
		entries = append(entries, keyEntry{"not timed beyond", 12, func(c draw.Canvas, left, mid vg.Length) {
			c.StrokeLine2(grey.line(1.3), left, mid, left+11, mid)
			drawEnd(c, grey, vg.Point{X: left + 11, Y: mid})
		}})
	}
	if slices.ContainsFunc(curves, func(c curve) bool { return slices.Contains(c.gaps, true) }) {
		entries = append(entries, keyEntry{"not timed there", 16, func(c draw.Canvas, left, mid vg.Length) {
			c.StrokeLine2(grey.gap(), left, mid, left+16, mid)
		}})
	}
	return entries
}
