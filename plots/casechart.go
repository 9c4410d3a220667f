package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
	"crossover/thresholds"
)

// Sizes of the parts of a case chart, in points.
const (
	caseWidth = 600

	margin       = 14
	leftOfPanels = 62
	headPitch    = 15
	stripGap     = 3
	upperHeight  = 190
	lowerHeight  = 100
	betweenRows  = 30
	captionPitch = 10
	doubtsMost   = 4 // lines
	doubtsGap    = 4 // below them
	sole         = 2 // height of the line that marks a GPU's part
)

var (
	titleStyle     = boldStyle(15, ink)
	headStyle      = textStyle(10.5, ink)
	placementStyle = boldStyle(10.5, ink)
	labelStyle     = textStyle(9.5, ink)
	axisStyle      = textStyle(9, muted)
	numberStyle    = textStyle(8.5, ink)
	captionStyle   = textStyle(7.8, muted)
	doubtStyle     = textStyle(7.8, rust)
)

// CaseChart returns the chart of one case of a host: times, slowdowns, and the calibration's choices. The case was fitted
// from runs; the newest comes first. Without runs the chart has only the choices. CaseChart leaves out sizes below 1 and
// times that are not positive. Below the panels the chart has the choices, thresholds and intervals of others, which are
// along the same line of shapes, with the data in other placements.
func CaseChart(h *calibration.Host, c *calibration.Case, runs []Run, others ...Placed) *Chart {
	f := newCaseFigure(h, c, runs, others...)
	return &Chart{width: caseWidth, height: f.height, paint: f.paint}
}

// caseFigure is the layout of a case chart.
type caseFigure struct {
	height           vg.Length
	title, axisTitle string
	tags             []string // warnings beside the title
	simulated        bool
	headline         []chip
	key              []keyPlace
	keyAt            vg.Length // the first baseline
	facts, doubts    []string  // the caption

	curves     []curve  // those with a label first
	never      []string // excluded implementations without a curve
	labels     []*lineLabel
	spans      []span
	strip      strip
	intervals  []interval
	doubtBar   vg.Length // its lower edge
	earlier    []float64 // thresholds of earlier runs
	styles     map[string]style
	tieBand    float64 // 0 if there is none
	sizes      []plot.Tick
	thresholds []number
	notes      []note
	placement  string    // of the panels; "" if the chart has no other one
	others     []*placed // the choices in other placements, from the top to the bottom

	named                  int     // number of curves with a label
	slowest                float64 // greatest slowdown in the lower panel
	upper, lower           *plot.Plot
	upperFrame, lowerFrame vg.Rectangle
}

// note is a remark at the right of the lower panel.
type note struct {
	text string
	y    vg.Length // of its baseline
}

func newCaseFigure(h *calibration.Host, c *calibration.Case, runs []Run, others ...Placed) *caseFigure {
	const width = caseWidth - 2*margin
	whole, h := h, h.For(c)
	summary := thresholds.Summarise(samplesOf(runs)...)
	f := &caseFigure{simulated: h.Simulated, curves: curvesOf(runs, &summary), spans: spansOf(c), earlier: earlierThresholds(runs)}
	worths := worthsOf(f.spans, &summary)
	f.never = neverTimed(c, f.curves)
	f.slowest = slowdownRange(f.curves)
	if c.TieBand > 0 { // false for NaN
		f.tieBand = c.TieBand
	}
	if f.simulated {
		f.tags = append(f.tags, "SIMULATED")
	}
	if c.Degraded {
		f.tags = append(f.tags, "DEGRADED: machine was not quiet")
	}
	tagsWidth := vg.Length(0)
	for _, tag := range f.tags {
		tagsWidth += tagWidth(tag) + 6
	}
	f.title = fit(titleStyle, c.Name, width-tagsWidth-6)
	f.axisTitle = fit(axisStyle, axisTitle(c.Axis), width/2)
	cases := []*calibration.Case{c}
	for _, other := range others {
		cases = append(cases, other.Case)
		f.others = append(f.others, newPlaced(whole, c, other))
	}
	// The first mark on the chart says what the others mean.
	said := c.Degraded
	for _, o := range f.others {
		switch {
		case !o.of.Degraded:
			continue
		case said:
			o.mark = "degraded"
		default:
			o.mark, said = "degraded: machine was not quiet", true
		}
	}
	if len(others) > 0 {
		_, f.placement = cutPlacement(c.Name)
	}

	phrases := headline(c)
	var names []string
	for i := range f.curves {
		names = append(names, f.curves[i].name)
	}
	for _, s := range f.allSpans() {
		names = append(names, s.implementation)
		for _, d := range s.doubts {
			names = append(names, d.implementation)
		}
	}
	for _, p := range phrases {
		names = append(names, p.implementation)
	}
	for _, o := range f.others {
		for _, p := range o.phrases {
			names = append(names, p.implementation)
		}
		o.layWords(width)
	}
	f.styles = stylesOf(names)

	var headLines int
	f.headline, headLines = flowChips(headStyle, phrases, width-f.placementWidth(), 3)
	if f.placement != "" {
		f.facts = flow(captionStyle, placedFacts(f.placementNames()), " · ", width, 2)
	}
	f.facts = append(f.facts, flow(captionStyle, slices.Concat(machine(h), circumstances(h), libraries(h, c)), " · ", width, 3)...)
	f.facts = append(f.facts, flow(captionStyle, slices.Concat(provenance(h), measured(c), f.measuredElsewhere(whole, h)), " · ", width, 2)...)
	f.facts = append(f.facts, flow(captionStyle, gpuShares(c), " · ", width, 2)...)
	f.doubts = doubtLines(placedDoubts(cases), doubtsMost+len(others), width)
	var keyLines int
	f.key, keyLines = flowKey(f.keyEntries(cases), width)

	f.layPanels(c, vg.Length(keyLines)*keyPitch)
	f.layAbove(worths, vg.Length(headLines)*headPitch)
	f.layLabels()
	f.layNumbers()
	f.layNotes(c)
	f.fillPanels()
	return f
}

// allSpans returns the spans of every placement on the chart.
func (f *caseFigure) allSpans() []span {
	all := slices.Clone(f.spans)
	for _, o := range f.others {
		all = append(all, o.spans...)
	}
	return all
}

// placementNames returns the placements on the chart.
func (f *caseFigure) placementNames() []string {
	names := []string{f.placement}
	for _, o := range f.others {
		names = append(names, o.name)
	}
	return names
}

// placementWidth returns the room that the placement takes before the headline.
func (f *caseFigure) placementWidth() vg.Length {
	if f.placement == "" {
		return 0
	}
	return placementStyle.Width(f.placement) + 10
}

// of returns the title of a panel, with the placement if the chart has several.
func (f *caseFigure) of(title string) string {
	if f.placement == "" {
		return title
	}
	return title + " (" + f.placement + ")"
}

// measuredElsewhere describes the measurement of the other placements. It names the run if that is not the host's.
func (f *caseFigure) measuredElsewhere(whole, h *calibration.Host) []string {
	var parts []string
	for _, o := range f.others {
		words := o.name + " " + strings.Join(measured(o.of), ", ")
		if created := whole.RunOf(o.of).Created; !created.Equal(h.Created) {
			words += created.UTC().Format(" on 2006-01-02 15:04 UTC")
		}
		parts = append(parts, words)
	}
	return parts
}

// across returns the function from sizes to X coordinates in the panels.
func (f *caseFigure) across() func(size float64) vg.Length {
	frame := draw.Canvas{Rectangle: f.lowerFrame}
	x, _ := f.lower.Transforms(&frame)
	return x
}

// doubtLines returns doubts as lines of a width, at most most.
func doubtLines(all []string, most int, width vg.Length) []string {
	rest := 0
	if len(all) > most {
		rest = len(all) - (most - 1)
		all = all[:most-1]
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

// keyEntries explains the marks of the figure, which is about cases.
func (f *caseFigure) keyEntries(cases []*calibration.Case) []keyEntry {
	var entries []keyEntry
	spans := f.allSpans()
	if slices.ContainsFunc(spans, func(s span) bool { return s.low > 0 }) {
		entries = append(entries, intervalKey(cases...))
	}
	entries = append(entries, doubtKey(spans, f.styles)...)
	if slices.ContainsFunc(spans, func(s span) bool { return s.onGPU }) {
		entries = append(entries, gpuKey())
	}
	if slices.ContainsFunc(f.curves, func(c curve) bool { return leaves(c.slowdown, f.slowest) }) {
		entries = append(entries, arrowKey(f.slowest))
	}
	entries = append(entries, absenceKey(f.curves)...)
	earlier := len(f.earlier) > 0 || slices.ContainsFunc(f.others, func(o *placed) bool { return len(o.earlier) > 0 })
	points := slices.ContainsFunc(f.curves, func(c curve) bool { return len(c.earlier.blocks) > 0 })
	return append(entries, earlierKey(earlier, points)...)
}

// layPanels makes both panels. It places the lower one, above a key of the given height and the caption. layAbove places the
// upper one.
func (f *caseFigure) layPanels(c *calibration.Case, keyHeight vg.Length) {
	left := vg.Length(leftOfPanels)
	right := caseWidth - margin - f.labelsWidth() - swatchWidth

	from, to := sizeRange(c.Axis, f.spans, f.curves)
	for _, o := range f.others {
		low, high := sizeRange(o.of.Axis, o.spans, nil)
		from, to = min(from, low), max(to, high)
	}
	f.sizes = sizeTicker{most: 12}.Ticks(from, to)
	if from == to {
		f.sizes = []plot.Tick{{Value: from, Label: sizeLabel(int(from))}}
	}
	from, to = widen(from, to, 0.025)

	bottom := margin + captionPitch*vg.Length(len(f.facts)+len(f.doubts)) + keyHeight
	if len(f.doubts) > 0 {
		bottom += doubtsGap
	}
	f.keyAt = bottom - 5
	f.lowerFrame = vg.Rectangle{Min: vg.Point{X: left}, Max: vg.Point{X: right}}
	f.lower = newPanel(from, to, math.Pow(f.slowest, -0.035), f.slowest)
	if len(f.others) > 0 {
		bottom += 10
	}
	for _, o := range slices.Backward(f.others) {
		bottom = o.lay(bottom, f.within())
	}
	bottom += 37
	f.lowerFrame.Min.Y, f.lowerFrame.Max.Y = bottom, bottom+lowerHeight
	low, high := timeRange(f.curves)
	low, high = widen(low, high, 0.05)
	f.upper = newPanel(from, to, low, high)
}

// within returns the function from sizes to the nearest X coordinates in the panels.
func (f *caseFigure) within() func(size float64) vg.Length {
	frame, x := draw.Canvas{Rectangle: f.lowerFrame}, f.across()
	return func(size float64) vg.Length { return inside(frame, x(size)) }
}

// layAbove places everything above the lower panel, from the bottom to the top: the upper panel, intervals, doubts, the
// strip, and a headline of the given height.
func (f *caseFigure) layAbove(worths [][]worth, headHeight vg.Length) {
	within := f.within()
	f.upperFrame = f.lowerFrame
	f.upperFrame.Min.Y = f.lowerFrame.Max.Y + betweenRows
	f.upperFrame.Max.Y = f.upperFrame.Min.Y + upperHeight
	var top vg.Length
	f.intervals, top = layIntervals(f.spans, within, f.upperFrame.Max.Y)
	if slices.ContainsFunc(f.spans, func(s span) bool { return len(s.doubts) > 0 }) {
		f.doubtBar = top + stripGap
		top = f.doubtBar + doubtHeight
	}
	f.strip = layStrip(f.spans, worths, within, top+stripGap)
	f.height = f.strip.top + 27 + headHeight + 16 + margin
}

// layNumbers places the thresholds above the strip and moves them apart if they are close. It leaves out numbers that would
// be far from their threshold. The headline has all of them.
func (f *caseFigure) layNumbers() {
	canvas := draw.Canvas{Rectangle: f.upperFrame}
	x, _ := f.upper.Transforms(&canvas)
	const apart, far = 6, 16
	taken := max(f.upperFrame.Min.X, margin+axisStyle.Width(f.of(timeTitle))+2*apart)
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

// layNotes places notes at the right of the lower panel: the tie band and the regret.
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

// regretOf returns the regret of a case's choices, or "" if the file does not say it. A file of version 1.0 has only a mean
// of at least 0.
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
	if len(c.Earlier) == 0 {
		return []string{grouped(c.Blocks) + " blocks"}
	}
	all := c.Blocks
	for _, e := range c.Earlier {
		all += e.Blocks
	}
	return []string{fmt.Sprintf("%s blocks in %d runs, %s of them in the main one", grouped(all), 1+len(c.Earlier), grouped(c.Blocks))}
}

// paint draws the figure.
func (f *caseFigure) paint(c draw.Canvas) {
	y := f.height - margin - 12
	write(c, titleStyle, margin, text.XLeft, y, f.title)
	right := vg.Length(caseWidth - margin)
	for _, tag := range f.tags {
		drawTag(c, right, y, tag)
		right -= tagWidth(tag) + 6
	}
	write(c, placementStyle, margin, text.XLeft, y-20, f.placement)
	drawChips(c, headStyle, f.headline, f.styles, margin+f.placementWidth(), y-20, headPitch)

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
		style := doubtStyle
		if strings.Contains(line, noteMark) {
			style = captionStyle
		}
		write(c, style, margin, text.XLeft, y-captionPitch*vg.Length(i), line)
	}
	for _, o := range f.others {
		o.paint(c, f.styles, f.lowerFrame, f.across())
	}
	drawKey(c, f.key, margin, f.keyAt)
	if f.simulated {
		drawWatermark(c)
	}
}

// fillPanels adds the marks to the panels. Curves without a label are grey and lie below the others.
func (f *caseFigure) fillPanels() {
	f.upper.Add(axes{x: f.sizes, y: timeTicker{most: 8}.Ticks(f.upper.Y.Min, f.upper.Y.Max), noLabels: true})
	f.lower.Add(axes{x: f.sizes, y: ratioTicker{}.Ticks(f.lower.Y.Min, f.lower.Y.Max)}, tieBand{f.tieBand}, earlierTicks{f.earlier})
	f.upper.Add(thresholdLines{f.spans, f.strip.top - f.upperFrame.Max.Y})
	f.lower.Add(thresholdLines{f.spans, 0})

	named := f.curves[:f.named]
	grey := style{color: quiet}
	for _, c := range f.curves[f.named:] {
		f.upper.Add(polyline{points: c.times, absence: c.absence, style: grey, width: 0.8})
		f.lower.Add(polyline{points: c.slowdown, absence: c.absence, style: grey, width: 0.8}, clipped{c.slowdown, grey})
	}
	for _, c := range named {
		clr := f.styles[c.name].color
		f.upper.Add(cloud{c.earlier.blocks, earlierGlyph(clr)}, cloud{c.newest.blocks, newestGlyph(clr)})
		f.lower.Add(cloud{c.earlier.slowdown, earlierGlyph(clr)}, cloud{c.newest.slowdown, newestGlyph(clr)})
		mine := slices.DeleteFunc(slices.Clone(f.spans), func(s span) bool { return s.implementation != c.name })
		f.upper.Add(underlay{c.times, f.styles[c.name], mine})
	}
	for _, c := range slices.Backward(named) {
		sty := f.styles[c.name]
		f.upper.Add(polyline{c.times, c.absence, sty, 1.3, true})
		f.lower.Add(polyline{c.slowdown, c.absence, sty, 1.3, true}, clipped{c.slowdown, sty})
	}
}

// paintLower draws the panel of slowdowns, its titles and its notes.
func (f *caseFigure) paintLower(c draw.Canvas) {
	f.lower.Draw(draw.Canvas{Canvas: c, Rectangle: f.lowerFrame})
	write(c, axisStyle, margin, text.XLeft, f.lowerFrame.Max.Y+arrowLength+5, f.of(slowdownTitle))
	for _, n := range f.notes {
		write(c, numberStyle, f.lowerFrame.Max.X+6, text.XLeft, n.y, n.text)
	}
	middle := (f.lowerFrame.Min.X + f.lowerFrame.Max.X) / 2
	write(c, axisStyle, middle, text.XCenter, f.lowerFrame.Min.Y-25, f.axisTitle)
}
