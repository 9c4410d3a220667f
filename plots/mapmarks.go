package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	dotRadius  = 1.1
	ringRadius = 2.5
)

// drawFitted draws the mark of a shape from which the surface was fitted.
func drawFitted(c draw.Canvas, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: withAlpha(white, 0.8), Radius: dotRadius + 0.6, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: dotRadius, Shape: draw.CircleGlyph{}}, at)
}

// drawHeldOut draws the mark of a held-out shape. It is red if the choice loses.
func drawHeldOut(c draw.Canvas, at vg.Point, loses bool, radius vg.Length) {
	fill, edge := white, ink
	if loses {
		fill = alarm
		c.DrawGlyph(draw.GlyphStyle{Color: white, Radius: radius + 1.4, Shape: draw.CircleGlyph{}}, at)
	}
	c.DrawGlyph(draw.GlyphStyle{Color: edge, Radius: radius + 0.5, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: radius - 0.4, Shape: draw.CircleGlyph{}}, at)
}

var white = color.NRGBA{R: 255, G: 255, B: 255, A: 255}

// mapKey explains the colours and the marks of a map.
func mapKey() []keyEntry {
	const wide = 12
	entry := func(words string, mark func(c draw.Canvas, at vg.Point)) keyEntry {
		return keyEntry{words, wide, func(c draw.Canvas, left, mid vg.Length) { mark(c, vg.Point{X: left + wide/2, Y: mid}) }}
	}
	swatch := func(left float64) func(draw.Canvas, vg.Point) {
		return func(c draw.Canvas, at vg.Point) {
			fillBox(c, onWhite(muted, left), at.X-5, at.Y-3.5, at.X+5, at.Y+3.5)
		}
	}
	ring := func(loses bool) func(draw.Canvas, vg.Point) {
		return func(c draw.Canvas, at vg.Point) { drawHeldOut(c, at, loses, ringRadius) }
	}
	return []keyEntry{
		entry("the next is 15\u202f% slower or more", swatch(1)),
		entry("5 to 15\u202f%", swatch(narrowLeft)),
		entry("less than 5\u202f%", swatch(faded)),
		entry("nothing measured near", func(c draw.Canvas, at vg.Point) {
			swatch(1)(c, at)
			for _, y := range []vg.Length{-2, 1} {
				fillBox(c, white, at.X-5, onPixel(at.Y+y), at.X+5, onPixel(at.Y+y)+afarLine)
			}
		}),
		entry("not predicted", func(c draw.Canvas, at vg.Point) {
			for d := vg.Length(-5); d <= 2; d += 3.5 {
				c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.5}, at.X+d, at.Y-3.5, at.X+d+3.5, at.Y+3.5)
			}
		}),
		entry("fitted", drawFitted),
		entry("held out", ring(false)),
		entry("held out, the choice loses more than 5\u202f%", ring(true)),
	}
}
