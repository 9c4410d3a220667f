package plots

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of the labels at the right of the upper panel, in points.
const (
	labelPitch  = 11.5 // between baselines
	labelsLeast = 64   // room for the notes beside the lower panel
	labelWidest = 130
	asideApart  = 4
	swatchWidth = 30 // the piece of line and marker before a label, and the line that joins it to the curve
)

var asideStyle = textStyle(8.5, muted)

// lineLabel names a curve, or an implementation without a curve, at the right of the upper panel.
type lineLabel struct {
	curve *curve // nil for an implementation without a curve
	text  string
	aside string    // the sizes at which it was timed, if not all
	y     vg.Length // middle of the label
	end   vg.Point  // end of the curve
}

// labelOf returns the label of a curve.
func labelOf(c *curve) *lineLabel {
	return &lineLabel{curve: c, text: fit(labelStyle, c.name, labelWidest), aside: c.timedFrom()}
}

// labelOfNever returns the label of an implementation without a curve.
func labelOfNever(name string) *lineLabel {
	return &lineLabel{text: fit(asideStyle, name, labelWidest-30), aside: "not timed"}
}

// style returns the style of the label's text.
func (l *lineLabel) style() draw.TextStyle {
	if l.curve == nil {
		return asideStyle
	}
	return labelStyle
}

// width returns the width of the label, without the swatch.
func (l *lineLabel) width() vg.Length {
	wide := l.style().Width(l.text)
	if l.aside != "" {
		wide += asideApart + asideStyle.Width(l.aside)
	}
	return wide
}

// labelsWidth returns the width of the labels, without their swatches.
func (f *caseFigure) labelsWidth() vg.Length {
	wide := vg.Length(labelsLeast)
	for i := range f.curves {
		wide = max(wide, labelOf(&f.curves[i]).width())
	}
	for _, name := range f.never {
		wide = max(wide, labelOfNever(name).width())
	}
	return wide
}

// layLabels places labels at the right ends of the curves, for as many curves as there is room for. Chosen implementations
// come first, then those that come closest to being best. Implementations without a curve have labels below, if there is
// room for all of them.
func (f *caseFigure) layLabels() {
	chosen := func(name string) int {
		if slices.ContainsFunc(f.spans, func(s span) bool { return s.implementation == name }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(f.curves, func(a, b curve) int { return cmp.Compare(chosen(a.name), chosen(b.name)) })

	low, high := f.upperFrame.Min.Y+labelPitch/2, f.upperFrame.Max.Y-labelPitch/2
	room := int((high-low)/labelPitch) + 1
	f.named = len(f.curves)
	if f.named > room {
		f.named = room - 1 // the last line is the number of curves without a label
	}
	canvas := draw.Canvas{Rectangle: f.upperFrame}
	for i := range f.named {
		label := labelOf(&f.curves[i])
		places := place(label.curve.times, &canvas, f.upper)
		label.end = places[len(places)-1]
		f.labels = append(f.labels, label)
	}
	if len(f.curves)+len(f.never) <= room {
		for _, name := range f.never {
			label := labelOfNever(name)
			label.end.Y = low
			f.labels = append(f.labels, label)
		}
	}
	slices.SortStableFunc(f.labels, func(a, b *lineLabel) int {
		return cmp.Or(cmp.Compare(a.end.Y, b.end.Y), cmp.Compare(a.text, b.text))
	})
	var wanted []float64
	for _, l := range f.labels {
		wanted = append(wanted, float64(l.end.Y))
	}
	if f.named < len(f.curves) {
		high -= labelPitch
	}
	for i, y := range spread(wanted, labelPitch, float64(low), float64(high)) {
		f.labels[i].y = vg.Length(y)
	}
}

// paintLabels draws the labels. A label of a curve stands behind a piece of the curve's line, and one without a curve stands
// behind a cross.
func (f *caseFigure) paintLabels(c draw.Canvas) {
	edge := f.upperFrame.Max.X
	for _, l := range f.labels {
		f.paintSwatch(c, l)
		sty := l.style()
		write(c, sty, edge+swatchWidth, text.XLeft, middle(sty, l.y), l.text)
		if l.aside != "" {
			write(c, asideStyle, edge+swatchWidth+sty.Width(l.text)+asideApart, text.XLeft, middle(asideStyle, l.y), l.aside)
		}
	}
	if rest := len(f.curves) - f.named; rest > 0 {
		y := f.upperFrame.Max.Y - labelPitch/2
		c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.8}, edge+6, y, edge+swatchWidth-4, y)
		write(c, axisStyle, edge+swatchWidth, text.XLeft, middle(axisStyle, y), grouped(rest)+" others")
	}
	if len(f.curves) == 0 {
		frame := draw.Canvas{Rectangle: f.upperFrame}
		write(c, labelStyle, frame.Center().X, text.XCenter, frame.Center().Y, "no samples")
	}
}

// paintSwatch draws the mark before a label: a piece of the curve's line, joined to the curve, or a cross.
func (f *caseFigure) paintSwatch(c draw.Canvas, l *lineLabel) {
	edge := f.upperFrame.Max.X
	center := vg.Point{X: edge + (swatchWidth+2)/2, Y: l.y}
	if l.curve == nil {
		c.DrawGlyph(draw.GlyphStyle{Color: quiet, Radius: 2.4, Shape: markers[crossMarker]}, center)
		return
	}
	sty := f.styles[l.curve.name]
	way := draw.LineStyle{Color: withAlpha(sty.color, 0.6), Width: 0.6}
	if l.curve.above { // the join is no part of the curve
		way.Color, way.Dashes = quiet, []vg.Length{1, 2}
	}
	c.StrokeLine2(way, l.end.X+3, l.end.Y, edge+6, l.y)
	c.StrokeLine2(sty.line(1.3), edge+6, l.y, edge+swatchWidth-4, l.y)
	c.DrawGlyph(sty.glyph(2.4), center)
}
