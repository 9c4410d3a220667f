package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of an arrow head, in points.
const (
	arrowLength = 7
	arrowHalf   = 2.6 // half of its width
	steepest    = 0.8 // the least upward part of an arrow's direction, as a sine
)

// arrow is the head of an arrow where a curve leaves a panel at the top.
type arrow struct{ foot, tip vg.Point }

// arrowsOf returns an arrow for each place where a curve crosses the upper edge of a panel. The arrow points in the
// direction of the curve.
func arrowsOf(points []vg.Point, top vg.Length) []arrow {
	var all []arrow
	for i := 1; i < len(points); i++ {
		in, out := points[i-1], points[i]
		if in.Y > out.Y {
			in, out = out, in
		}
		if in.Y > top || out.Y <= top {
			continue
		}
		share := (top - in.Y) / (out.Y - in.Y)
		foot := vg.Point{X: in.X + share*(out.X-in.X), Y: top}
		angle := math.Atan2(float64(out.Y-in.Y), float64(out.X-in.X))
		lowest := math.Asin(steepest)
		sin, cos := math.Sincos(min(max(angle, lowest), math.Pi-lowest))
		all = append(all, arrow{foot, foot.Add(vg.Point{X: vg.Length(arrowLength * cos), Y: vg.Length(arrowLength * sin)})})
	}
	return all
}

// draw draws the head.
func (a arrow) draw(c draw.Canvas, s style) {
	along := a.tip.Sub(a.foot)
	side := vg.Point{X: -along.Y, Y: along.X}.Scale(arrowHalf / arrowLength)
	c.FillPolygon(s.color, []vg.Point{a.foot.Add(side), a.tip, a.foot.Sub(side)})
}

// clipped draws the arrows of a curve, above the panel that the curve leaves.
type clipped struct {
	points plotter.XYs
	style  style
}

// Plot implements plot.Plotter.
func (a clipped) Plot(c draw.Canvas, p *plot.Plot) {
	for _, head := range arrowsOf(place(a.points, &c, p), c.Max.Y) {
		head.draw(c, a.style)
	}
}

// leaves reports whether a curve crosses a value.
func leaves(points plotter.XYs, value float64) bool {
	for i := 1; i < len(points); i++ {
		if (points[i-1].Y > value) != (points[i].Y > value) {
			return true
		}
	}
	return false
}

// arrowKey explains arrows of curves above the greatest ratio of a panel.
func arrowKey(most float64) keyEntry {
	return keyEntry{"slower than " + ratioLabel(most), 14, func(c draw.Canvas, left, mid vg.Length) {
		grey := style{color: muted}
		foot := vg.Point{X: left + 8, Y: mid}
		tip := foot.Add(vg.Point{X: arrowLength * 0.8, Y: arrowLength * 0.6})
		c.StrokeLine2(grey.line(1.3), left, mid-6, foot.X, foot.Y)
		arrow{foot, tip}.draw(c, grey)
	}}
}
