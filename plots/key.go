package plots

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var keyStyle = textStyle(8.5, muted)

// Sizes of the parts of a key, in points.
const (
	keyPitch = 12
	keyMost  = 4  // lines
	keyGap   = 5  // between a sample and its words
	keyApart = 16 // between entries
)

// keyEntry explains one mark of a chart.
type keyEntry struct {
	text  string
	width vg.Length                                // width of the sample
	draw  func(c draw.Canvas, left, mid vg.Length) // draws a sample of the mark around a height
}

// keyPlace is an entry of a key with its place.
type keyPlace struct {
	keyEntry
	x    vg.Length // left edge of the sample, from the left edge of the key
	line int
}

// flowKey sets entries one after the other into at most keyMost lines of a width. It returns the entries with their places,
// and the number of lines. Entries that do not fit are left out.
func flowKey(entries []keyEntry, width vg.Length) ([]keyPlace, int) {
	var places []keyPlace
	x, line := vg.Length(0), 0
	for _, e := range entries {
		e.text = fit(keyStyle, e.text, width-e.width-keyGap)
		wide := e.width + keyGap + keyStyle.Width(e.text)
		if x > 0 && x+wide > width {
			x, line = 0, line+1
		}
		if line == keyMost {
			return places, keyMost
		}
		places = append(places, keyPlace{e, x, line})
		x += wide + keyApart
	}
	if len(places) == 0 {
		return nil, 0
	}
	return places, line + 1
}

// drawKey draws a key. Its left edge is at x, and its first baseline is at y.
func drawKey(c draw.Canvas, places []keyPlace, x, y vg.Length) {
	for _, p := range places {
		left, baseline := x+p.x, y-vg.Length(p.line)*keyPitch
		p.draw(c, left, baseline+0.36*keyStyle.Font.Size)
		write(c, keyStyle, left+p.width+keyGap, text.XLeft, baseline, p.text)
	}
}
