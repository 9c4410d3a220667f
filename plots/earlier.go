package plots

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// earlierThresholds returns the thresholds that earlier runs gave by themselves, in ascending order. runs begins with the
// newest, which is left out.
func earlierThresholds(runs []Run) []float64 {
	var sizes []float64
	for _, r := range runs[min(1, len(runs)):] {
		for _, size := range r.Thresholds {
			if drawableSize(size) {
				sizes = append(sizes, float64(size))
			}
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// earlierTicks draws the thresholds of earlier runs as faint triangles that stand on the axis.
type earlierTicks struct{ sizes []float64 }

const triangleHeight = 5.5

// Plot implements plot.Plotter.
func (e earlierTicks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, size := range e.sizes {
		if at := x(size); c.ContainsX(at) {
			drawTriangle(c, at, c.Min.Y)
		}
	}
}

func drawTriangle(c draw.Canvas, x, bottom vg.Length) {
	c.FillPolygon(earlierInk, []vg.Point{{X: x - 2.6, Y: bottom}, {X: x + 2.6, Y: bottom}, {X: x, Y: bottom + triangleHeight}})
}

// earlierInk is transparent, so that several marks at one place can be told from one.
var earlierInk = withAlpha(muted, 0.6)

// earlierKey explains the marks of earlier runs.
func earlierKey(thresholds, points bool) []keyEntry {
	var entries []keyEntry
	if thresholds {
		entries = append(entries, keyEntry{"threshold of an earlier run", 6, func(c draw.Canvas, left, mid vg.Length) {
			drawTriangle(c, left+3, mid-triangleHeight/2)
		}})
	}
	if points {
		entries = append(entries, keyEntry{"the main run, and others (lines: all runs)", 16, func(c draw.Canvas, left, mid vg.Length) {
			for k, glyph := range []draw.GlyphStyle{newestGlyph(ink), earlierGlyph(ink)} {
				for _, off := range []vg.Point{{X: 2, Y: -2}, {X: 3.5, Y: 2}, {X: 5, Y: -2}} {
					c.DrawGlyph(glyph, vg.Point{X: left + 9*vg.Length(k), Y: mid}.Add(off))
				}
			}
		}})
	}
	return entries
}

// earlierGlyph is the mark of values of earlier runs. It is fainter than newestGlyph.
func earlierGlyph(clr color.NRGBA) draw.GlyphStyle {
	return draw.GlyphStyle{Color: onWhite(clr, 0.22), Radius: 1.2, Shape: draw.CircleGlyph{}}
}
