package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPanel returns an empty plot with two logarithmic axes that fills its canvas. Type axes draws the axes around it, so
// that panels can share an edge.
func newPanel(xmin, xmax, ymin, ymax float64) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.HideAxes()
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xmin, xmax, ymin, ymax
	return p
}

// axes draws the grid, the frame and the ticks of a panel. Labels stand outside of the panel.
type axes struct {
	x, y     []plot.Tick
	noLabels bool // of x
}

const tickLength = 3

// Plot implements plot.Plotter.
func (a axes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	labels := textStyle(8.5, ink)
	grid := draw.LineStyle{Color: faint, Width: 0.6}
	edge := draw.LineStyle{Color: quiet, Width: 0.8}
	for _, tick := range legible(a.x, labels, x) {
		at := x(tick.Value)
		if !c.ContainsX(at) {
			continue
		}
		length := vg.Length(tickLength)
		if tick.IsMinor() {
			length /= 2
		} else {
			c.StrokeLine2(grid, at, c.Min.Y, at, c.Max.Y)
		}
		c.StrokeLine2(edge, at, c.Min.Y-length, at, c.Min.Y)
		if !a.noLabels {
			write(c, labels, at, text.XCenter, c.Min.Y-tickLength-9, tick.Label)
		}
	}
	for _, tick := range a.y {
		at := y(tick.Value)
		if !c.ContainsY(at) {
			continue
		}
		if !tick.IsMinor() {
			c.StrokeLine2(grid, c.Min.X, at, c.Max.X, at)
		}
		c.StrokeLine2(edge, c.Min.X-tickLength, at, c.Min.X, at)
		write(c, labels, c.Min.X-tickLength-3, text.XRight, middle(labels, at), tick.Label)
	}
	c.StrokeLines(edge, []vg.Point{{X: c.Min.X, Y: c.Max.Y}, c.Min, {X: c.Max.X, Y: c.Min.Y}})
}

// legible removes labels of ticks until no two overlap: it keeps every label, or every second one, and so on. x returns the
// X coordinate of a value.
func legible(ticks []plot.Tick, sty draw.TextStyle, x func(float64) vg.Length) []plot.Tick {
	const apart = 4
	for every := 1; ; every++ {
		kept, labels, right := slices.Clone(ticks), 0, vg.Length(math.Inf(-1))
		clear := true
		for k := range kept {
			tick := &kept[k]
			if tick.IsMinor() {
				continue
			}
			if labels++; (labels-1)%every != 0 {
				tick.Label = ""
				continue
			}
			half := sty.Width(tick.Label) / 2
			clear = clear && x(tick.Value)-half >= right
			right = x(tick.Value) + half + apart
		}
		if clear {
			return kept
		}
	}
}

// thresholdLines draws a thin dark line at each threshold. The line ends above the panel.
type thresholdLines struct {
	spans []span
	above vg.Length
}

// Plot implements plot.Plotter.
func (t thresholdLines) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, s := range t.spans {
		if s.threshold == 0 {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.9}, x(s.from), c.Min.Y, x(s.from), c.Max.Y+t.above)
	}
}

// inside returns the X coordinate nearest to x that is inside a canvas.
func inside(c draw.Canvas, x vg.Length) vg.Length { return min(max(x, c.Min.X), c.Max.X) }

// fillBox fills the rectangle between two corners.
func fillBox(c draw.Canvas, clr color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(clr, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// polyline draws one curve: its line, its markers if they do not crowd, and the marks for sizes at which it was not timed.
type polyline struct {
	points  plotter.XYs
	absence absence
	style   style
	width   vg.Length
	markers bool
}

// Plot implements plot.Plotter.
func (l polyline) Plot(c draw.Canvas, p *plot.Plot) {
	points := place(l.points, &c, p)
	begin := 0
	for i := range points {
		if l.absence.gaps[i] {
			c.StrokeLines(l.style.line(l.width), c.ClipLinesXY(points[begin:i])...)
			c.StrokeLines(l.style.gap(), c.ClipLinesXY(points[i-1:i+1])...)
			begin = i
		}
	}
	c.StrokeLines(l.style.line(l.width), c.ClipLinesXY(points[begin:])...)
	if !l.markers {
		return
	}
	const apart = 9 // least distance between two markers, in points
	last := vg.Length(math.Inf(-1))
	for _, at := range points {
		if at.X-last >= apart {
			c.DrawGlyph(l.style.glyph(2.4), at)
			last = at.X
		}
	}
	if l.absence.below {
		drawEnd(c, l.style, points[0])
	}
	if l.absence.above {
		drawEnd(c, l.style, points[len(points)-1])
	}
}

// place returns points in coordinates of the canvas.
func place(points plotter.XYs, c *draw.Canvas, p *plot.Plot) []vg.Point {
	x, y := p.Transforms(c)
	placed := make([]vg.Point, len(points))
	for i, point := range points {
		placed[i] = vg.Point{X: x(point.X), Y: y(point.Y)}
	}
	return placed
}

// underlay draws a broad pale line below a curve, over the sizes at which its implementation is chosen.
type underlay struct {
	points plotter.XYs
	style  style
	spans  []span
}

// Plot implements plot.Plotter.
func (u underlay) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	points := place(u.points, &c, p)
	for _, s := range u.spans {
		part := c
		part.Min.X, part.Max.X = max(c.Min.X, x(s.from)), min(c.Max.X, x(s.to))
		sty := draw.LineStyle{Color: withAlpha(u.style.color, 0.35), Width: 6}
		c.StrokeLines(sty, part.ClipLinesXY(points)...)
	}
}

// cloud draws values of single runs.
type cloud struct {
	points plotter.XYs
	glyph  draw.GlyphStyle
}

// Plot implements plot.Plotter.
func (d cloud) Plot(c draw.Canvas, p *plot.Plot) {
	for _, at := range place(d.points, &c, p) {
		if c.ContainsY(at.Y) {
			c.DrawGlyph(d.glyph, at)
		}
	}
}

// newestGlyph is the mark of values of the newest run.
func newestGlyph(clr color.NRGBA) draw.GlyphStyle {
	return draw.GlyphStyle{Color: onWhite(clr, 0.45), Radius: 1.2, Shape: draw.CircleGlyph{}}
}

// tieBand shades slowdowns that are too small to tell two implementations apart.
type tieBand struct {
	width float64 // relative; 0 if there is none
}

// Plot implements plot.Plotter.
func (t tieBand) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	fillBox(c, withAlpha(bluishGreen, 0.22), c.Min.X, y(1), c.Max.X, y(min(1+t.width, p.Y.Max)))
}
