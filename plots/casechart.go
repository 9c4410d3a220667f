package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// Measures of the case chart, in points.
const (
	caseWidth, caseHeight = 600, 500

	margin       = 14
	leftOfPanels = 62
	headPitch    = 15
	stripHeight  = 14
	stripGap     = 3
	lowerHeight  = 100
	betweenRows  = 30
	labelPitch   = 11.5 // between the baselines of two line labels
	labelWidest  = 130
	swatchWidth  = 30 // the piece of line and marker before a line label, and the way to it
	captionPitch = 10
	doubtsMost   = 4 // lines
	doubtsGap    = 4 // below them
	sole         = 2 // the height of what marks a GPU's part
)

var (
	titleStyle   = boldStyle(15, ink)
	headStyle    = textStyle(10.5, ink)
	labelStyle   = textStyle(9.5, ink)
	axisStyle    = textStyle(9, muted)
	numberStyle  = textStyle(8.5, ink)
	captionStyle = textStyle(7.8, muted)
	doubtStyle   = textStyle(7.8, rust)
)

// CaseChart returns the chart of one case of a host: times, slowdowns, and what the calibration chooses. runs are those that
// the case was fitted from, the newest first; without any the chart shows the choices alone. Sizes below 1 and times that
// are not positive are left out.
func CaseChart(h *calibration.Host, c *calibration.Case, runs []Run) *Chart {
	f := newCaseFigure(h, c, runs)
	return &Chart{width: caseWidth, height: caseHeight, paint: f.paint}
}

// caseFigure is a case chart laid out: what is drawn, and where.
type caseFigure struct {
	title, axisTitle string
	tags             []string // what must not be overlooked, beside the title
	simulated        bool
	headline         []chip
	facts, doubts    []string // the caption

	curves     []curve // the named ones first
	labels     []lineLabel
	spans      []span
	styles     map[string]style
	tieBand    float64 // 0 where there is none
	sizes      []plot.Tick
	thresholds []number
	notes      []note

	upper, lower           *plot.Plot
	upperFrame, lowerFrame vg.Rectangle
}

// lineLabel names a curve, at the right of the upper panel.
type lineLabel struct {
	curve *curve
	text  string
	y     vg.Length // of its middle
	end   vg.Point  // of the curve
}

// number is the size at a threshold, written above it.
type number struct {
	text string
	x    vg.Length // of its middle
}

// note is a remark at the right of the lower panel.
type note struct {
	text string
	y    vg.Length // of its baseline
}

func newCaseFigure(h *calibration.Host, c *calibration.Case, runs []Run) *caseFigure {
	const width = caseWidth - 2*margin
	f := &caseFigure{simulated: h.Simulated, curves: curvesOf(runs), spans: spansOf(c)}
	if c.TieBand > 0 { // not NaN either
		f.tieBand = c.TieBand
	}
	if f.simulated {
		f.tags = append(f.tags, "SIMULATED")
	}
	if c.Degraded {
		f.tags = append(f.tags, "DEGRADED")
	}
	tagsWidth := vg.Length(0)
	for _, tag := range f.tags {
		tagsWidth += tagWidth(tag) + 6
	}
	f.title = fit(titleStyle, c.Name, width-tagsWidth-6)
	f.axisTitle = fit(axisStyle, axisTitle(c.Axis), width/2)

	phrases := headline(c)
	var names []string
	for i := range f.curves {
		names = append(names, f.curves[i].name)
	}
	for _, s := range f.spans {
		names = append(names, s.implementation)
	}
	for _, p := range phrases {
		names = append(names, p.implementation)
	}
	f.styles = stylesOf(names)

	var headLines int
	f.headline, headLines = flowChips(headStyle, phrases, width, 3)
	f.facts = flow(captionStyle, slices.Concat(machine(h), circumstances(h), libraries(h, c)), " · ", width, 3)
	f.facts = append(f.facts, flow(captionStyle, slices.Concat(provenance(h), measured(c)), " · ", width, 2)...)
	f.facts = append(f.facts, flow(captionStyle, gpuShares(c), " · ", width, 2)...)
	f.doubts = doubtLines(c, width)

	f.layPanels(c, vg.Length(headLines)*headPitch)
	f.layLabels()
	f.layNumbers()
	f.layNotes(c)
	f.fillPanels()
	return f
}

// doubtLines returns the doubts as lines of a width, at most doubtsMost.
func doubtLines(c *calibration.Case, width vg.Length) []string {
	all := doubts(c)
	rest := 0
	if len(all) > doubtsMost {
		rest = len(all) - (doubtsMost - 1)
		all = all[:doubtsMost-1]
	}
	var lines []string
	for _, doubt := range all {
		lines = append(lines, fit(doubtStyle, doubt, width))
	}
	if rest > 0 {
		lines = append(lines, "and "+grouped(rest)+" more remarks in the calibration file")
	}
	return lines
}

// layPanels makes the two panels, in what the headline above and the caption below leave.
func (f *caseFigure) layPanels(c *calibration.Case, headHeight vg.Length) {
	labelsWidth := vg.Length(60)
	for i := range f.curves {
		labelsWidth = max(labelsWidth, min(labelStyle.Width(fit(labelStyle, f.curves[i].name, labelWidest)), labelWidest))
	}
	left := vg.Length(leftOfPanels)
	right := caseWidth - margin - labelsWidth - swatchWidth

	bottom := margin + captionPitch*vg.Length(len(f.facts)+len(f.doubts)) + 37
	if len(f.doubts) > 0 {
		bottom += doubtsGap
	}
	f.lowerFrame = vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: bottom + lowerHeight}}
	top := caseHeight - margin - 16 - headHeight - 27 - stripHeight - stripGap
	f.upperFrame = vg.Rectangle{Min: vg.Point{X: left, Y: f.lowerFrame.Max.Y + betweenRows}, Max: vg.Point{X: right, Y: top}}

	from, to := sizeRange(c.Axis, f.spans, f.curves)
	f.sizes = sizeTicker{most: 12}.Ticks(from, to)
	if from == to {
		f.sizes = []plot.Tick{{Value: from, Label: sizeLabel(int(from))}}
	}
	from, to = widen(from, to, 0.025)
	low, high := timeRange(f.curves)
	low, high = widen(low, high, 0.05)
	f.upper = newPanel(from, to, low, high)
	slowest := slowdownRange(f.curves)
	f.lower = newPanel(from, to, math.Pow(slowest, -0.035), slowest)
}

// layLabels names the curves at their right ends, the chosen ones and then those that come closest to being best, as
// many as there is room for.
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
	named := len(f.curves)
	if named > room {
		named = room - 1 // the last line says how many have no label
	}
	canvas := draw.Canvas{Rectangle: f.upperFrame}
	for i := range named {
		curve := &f.curves[i]
		places := place(curve.times, &canvas, f.upper)
		f.labels = append(f.labels, lineLabel{
			curve: curve,
			text:  fit(labelStyle, curve.name, labelWidest),
			end:   places[len(places)-1],
		})
	}
	slices.SortStableFunc(f.labels, func(a, b lineLabel) int {
		return cmp.Or(cmp.Compare(a.end.Y, b.end.Y), cmp.Compare(a.text, b.text))
	})
	var wanted []float64
	for _, l := range f.labels {
		wanted = append(wanted, float64(l.end.Y))
	}
	if named < len(f.curves) {
		high -= labelPitch
	}
	for i, y := range spread(wanted, labelPitch, float64(low), float64(high)) {
		f.labels[i].y = vg.Length(y)
	}
}

// layNumbers writes the thresholds above the strip, moved apart where they are close, and leaves out those that would
// end up far from their place: the headline has them all.
func (f *caseFigure) layNumbers() {
	canvas := draw.Canvas{Rectangle: f.upperFrame}
	x, _ := f.upper.Transforms(&canvas)
	const apart, far = 6, 16
	taken := max(f.upperFrame.Min.X, margin+axisStyle.Width(timeTitle)+2*apart)
	for _, s := range f.spans {
		if s.threshold == 0 {
			continue
		}
		label := grouped(s.threshold)
		half := numberStyle.Width(label) / 2
		at := max(x(s.from), taken+half)
		if at-x(s.from) > far || at+half > caseWidth-margin {
			continue
		}
		f.thresholds = append(f.thresholds, number{label, at})
		taken = at + half + apart
	}
}

// layNotes writes what the lower panel cannot show at its right.
func (f *caseFigure) layNotes(c *calibration.Case) {
	canvas := draw.Canvas{Rectangle: f.lowerFrame}
	_, y := f.lower.Transforms(&canvas)
	if f.tieBand > 0 {
		center := math.Sqrt(min(1+f.tieBand, f.lower.Y.Max))
		f.notes = append(f.notes, note{"tie band " + percent(f.tieBand), middle(numberStyle, y(center))})
	}
	if regret := regretOf(c); regret != "" && len(f.spans) > 0 {
		top := f.lowerFrame.Max.Y
		f.notes = append(f.notes, note{"expected regret", top - 9}, note{"of the choices " + regret, top - 20})
		if c.Regret != nil && c.Regret.Upper != nil {
			f.notes = append(f.notes, note{"(95 % below " + percent(*c.Regret.Upper) + ")", top - 31})
		}
	}
}

// regretOf returns what the choices of a case cost on timings that did not choose. A file of version 1.0 says no more than a
// mean of at least 0.
func regretOf(c *calibration.Case) string {
	switch {
	case c.Regret != nil:
		return percent(c.Regret.Mean)
	case c.ExpectedRegret > 0:
		return percent(c.ExpectedRegret)
	}
	return ""
}

const (
	timeTitle     = "time per call"
	slowdownTitle = "slowdown against the best"
)

func axisTitle(a calibration.Axis) string {
	if a.Unit == "" || a.Unit == a.Name {
		return a.Name
	}
	return a.Name + " [" + a.Unit + "]"
}

// measured describes the measurement of one case.
func measured(c *calibration.Case) []string {
	parts := []string{grouped(c.Blocks) + " blocks"}
	if len(c.Earlier) > 0 {
		all := c.Blocks
		for _, e := range c.Earlier {
			all += e.Blocks
		}
		parts[0] = fmt.Sprintf("%s blocks in %d runs, %s of them in the newest", grouped(all), 1+len(c.Earlier), grouped(c.Blocks))
	}
	for _, s := range c.Segments {
		if s.Interval != nil && s.Interval.AssumedBetweenRuns > 0 {
			parts = append(parts, "one run: intervals assume "+percent(s.Interval.AssumedBetweenRuns)+" between runs")
			break
		}
	}
	if c.TieBand > 0 {
		parts = append(parts, "tie band "+percent(c.TieBand))
	}
	return parts
}

// paint draws the figure.
func (f *caseFigure) paint(c draw.Canvas) {
	y := vg.Length(caseHeight - margin - 12)
	write(c, titleStyle, margin, text.XLeft, y, f.title)
	right := vg.Length(caseWidth - margin)
	for _, tag := range f.tags {
		drawTag(c, right, y, tag)
		right -= tagWidth(tag) + 6
	}
	drawChips(c, headStyle, f.headline, f.styles, margin, y-20, headPitch)

	f.paintStrip(c)
	f.upper.Draw(draw.Canvas{Canvas: c, Rectangle: f.upperFrame})
	f.paintLower(c)
	f.paintLabels(c)

	y = margin + captionPitch*vg.Length(len(f.facts)-1)
	for i, line := range f.facts {
		write(c, captionStyle, margin, text.XLeft, y-captionPitch*vg.Length(i), line)
	}
	y += doubtsGap + captionPitch*vg.Length(len(f.doubts))
	for i, line := range f.doubts {
		write(c, doubtStyle, margin, text.XLeft, y-captionPitch*vg.Length(i), line)
	}
	if f.simulated {
		drawWatermark(c)
	}
}

// paintStrip draws which implementation is chosen where, above the upper panel.
func (f *caseFigure) paintStrip(c draw.Canvas) {
	frame := draw.Canvas{Canvas: c, Rectangle: f.upperFrame}
	x, _ := f.upper.Transforms(&frame)
	bottom := f.upperFrame.Max.Y + stripGap
	if len(f.spans) == 0 {
		fillBox(c, faint, f.upperFrame.Min.X, bottom, f.upperFrame.Max.X, bottom+stripHeight)
		write(c, axisStyle, frame.Center().X, text.XCenter, middle(axisStyle, bottom+stripHeight/2), "nothing is chosen")
	}
	for _, s := range f.spans {
		from, to := x(s.from), x(s.to)
		if len(f.spans) == 1 && s.from == s.to { // a single size: wide enough for a name
			from, to = from-40, to+40
		}
		drawSpan(c, numberStyle, s, f.styles[s.implementation].color, from, bottom, to, bottom+stripHeight)
	}
	for _, n := range f.thresholds {
		write(c, numberStyle, n.x, text.XCenter, bottom+stripHeight+7, n.text)
	}
	write(c, axisStyle, margin, text.XLeft, bottom+stripHeight+7, timeTitle)
}

// drawSpan draws a box in an implementation's colour, with its name where that fits, on a dark sole where a GPU computes.
func drawSpan(c draw.Canvas, sty draw.TextStyle, s span, fill color.NRGBA, x0, y0, x1, y1 vg.Length) {
	x1 = max(x1, x0+1.5) // a segment of one size is seen all the same
	fillBox(c, fill, x0, y0, x1, y1)
	if s.onGPU {
		fillBox(c, ink, x0, y0, x1, y0+sole)
	}
	sty.Color = readableOn(fill)
	name := oneLine(s.implementation)
	if len(name) < 100 && sty.Width(name)+6 <= x1-x0 {
		write(c, sty, (x0+x1)/2, text.XCenter, middle(sty, (y0+y1)/2), name)
	}
}

// fillPanels gives the panels what they show. Curves without a label are grey and lie below the others.
func (f *caseFigure) fillPanels() {
	f.upper.Add(axes{x: f.sizes, y: timeTicker{most: 8}.Ticks(f.upper.Y.Min, f.upper.Y.Max), noLabels: true})
	f.lower.Add(axes{x: f.sizes, y: ratioTicker{}.Ticks(f.lower.Y.Min, f.lower.Y.Max)}, tieBand{f.tieBand})
	f.upper.Add(thresholdLines{f.spans, stripGap + stripHeight})
	f.lower.Add(thresholdLines{f.spans, 0})

	named := f.curves[:len(f.labels)]
	for _, c := range f.curves[len(f.labels):] {
		f.upper.Add(polyline{points: c.times, style: style{color: quiet}, width: 0.8})
		f.lower.Add(polyline{points: c.slowdown, style: style{color: quiet}, width: 0.8})
	}
	for _, c := range named {
		f.upper.Add(cloud{c.blocks, f.styles[c.name]})
		mine := slices.DeleteFunc(slices.Clone(f.spans), func(s span) bool { return s.implementation != c.name })
		f.upper.Add(underlay{c.times, f.styles[c.name], mine})
	}
	for _, c := range slices.Backward(named) {
		f.upper.Add(polyline{c.times, f.styles[c.name], 1.3, true})
		f.lower.Add(polyline{c.slowdown, f.styles[c.name], 1.3, true})
	}
}

// paintLabels names the curves, each behind a piece of its line.
func (f *caseFigure) paintLabels(c draw.Canvas) {
	edge := f.upperFrame.Max.X
	for _, l := range f.labels {
		sty := f.styles[l.curve.name]
		way := draw.LineStyle{Color: withAlpha(sty.color, 0.6), Width: 0.6}
		c.StrokeLine2(way, l.end.X+3, l.end.Y, edge+6, l.y)
		c.StrokeLine2(sty.line(1.3), edge+6, l.y, edge+swatchWidth-4, l.y)
		c.DrawGlyph(sty.glyph(2.4), vg.Point{X: edge + (swatchWidth+2)/2, Y: l.y})
		write(c, labelStyle, edge+swatchWidth, text.XLeft, middle(labelStyle, l.y), l.text)
	}
	if rest := len(f.curves) - len(f.labels); rest > 0 {
		y := f.upperFrame.Max.Y - labelPitch/2
		c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.8}, edge+6, y, edge+swatchWidth-4, y)
		write(c, axisStyle, edge+swatchWidth, text.XLeft, middle(axisStyle, y), grouped(rest)+" others")
	}
	if len(f.curves) == 0 {
		frame := draw.Canvas{Rectangle: f.upperFrame}
		write(c, labelStyle, frame.Center().X, text.XCenter, frame.Center().Y, "no samples")
	}
}

// paintLower draws the panel of slowdowns and what belongs to it.
func (f *caseFigure) paintLower(c draw.Canvas) {
	f.lower.Draw(draw.Canvas{Canvas: c, Rectangle: f.lowerFrame})
	write(c, axisStyle, margin, text.XLeft, f.lowerFrame.Max.Y+9, slowdownTitle)
	for _, n := range f.notes {
		write(c, numberStyle, f.lowerFrame.Max.X+6, text.XLeft, n.y, n.text)
	}
	middle := (f.lowerFrame.Min.X + f.lowerFrame.Max.X) / 2
	write(c, axisStyle, middle, text.XCenter, f.lowerFrame.Min.Y-25, f.axisTitle)
}
