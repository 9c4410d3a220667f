package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// Intervals are drawn as whiskers between the strip and the panel, so that they never cover curves. Intervals that would
// touch are drawn in different rows.
const (
	intervalPitch = 7 // between rows
	intervalRows  = 3 // at most
	intervalApart = 4 // between the intervals of one row
)

// interval is the drawn interval of a threshold.
type interval struct {
	at, low, high vg.Length // X coordinates
	y             vg.Length
}

// layIntervals returns the intervals of the spans in rows above bottom, and the top of the rows. x returns the X coordinate
// of a size.
func layIntervals(spans []span, x func(size float64) vg.Length, bottom vg.Length) (all []interval, top vg.Length) {
	var ends []vg.Length // right ends of the rows
	for _, s := range spans {
		if s.low == 0 {
			continue
		}
		i := interval{at: x(s.from), low: x(s.low), high: x(s.high)}
		row := 0
		for row < len(ends) && row < intervalRows-1 && min(i.low, i.at) < ends[row]+intervalApart {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = max(ends[row], i.high, i.at)
		i.y = bottom + intervalPitch*(vg.Length(row)+0.5)
		all = append(all, i)
	}
	return all, bottom + intervalPitch*vg.Length(len(ends))
}

// drawWhisker draws a threshold at x and its interval, from low to high, as a bar with ends.
func drawWhisker(c draw.Canvas, x, low, high, bottom, top, y vg.Length) {
	dark := draw.LineStyle{Color: ink, Width: 1}
	c.StrokeLine2(dark, x, bottom, x, top)
	if high > low {
		c.StrokeLine2(dark, low, y, high, y)
		c.StrokeLine2(dark, low, y-2, low, y+2)
		c.StrokeLine2(dark, high, y-2, high, y+2)
	}
}

// intervalKey explains whiskers, and names the difference between runs that intervals of single runs assume.
func intervalKey(cases ...*calibration.Case) keyEntry {
	words := "threshold and its 95\u00a0% interval"
	if assumed := assumedBetweenRuns(cases); assumed > 0 {
		words += " (single run: assumes " + percent(assumed) + " between runs)"
	}
	return keyEntry{words, 16, func(c draw.Canvas, left, mid vg.Length) {
		drawWhisker(c, left+8, left, left+16, mid-5, mid+5, mid)
	}}
}

// assumedBetweenRuns returns the difference between runs that intervals of single runs assume, as a ratio. It returns 0 if
// none of the cases has such an interval.
func assumedBetweenRuns(cases []*calibration.Case) float64 {
	for _, c := range cases {
		for _, s := range c.Segments {
			if s.Interval != nil && s.Interval.AssumedBetweenRuns > 0 {
				return s.Interval.AssumedBetweenRuns
			}
		}
	}
	return 0
}
