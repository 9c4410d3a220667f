package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// Sizes of the parts of a map, in points.
const (
	mapWidth      = 600 // of a map with one panel
	wideMapWidth  = 720 // of a map with several panels
	mapHeight     = 250 // of a single panel
	smallHeight   = 190 // of one of several panels
	betweenPanels = 22
	regretsHeight = 76
	heldOut       = 5 // percent; a choice that loses more is drawn in red
)

// lossTold is heldOut as a ratio.
const lossTold = heldOut / 100.0

var (
	panelStyle = textStyle(9.5, ink)
	wordsStyle = textStyle(10, ink)
	alarm      = color.NRGBA{R: 0xE0, A: 255}
)

// Map returns the chart of an operation of a host over all its shapes, for calls with their data in one placement. The chart
// shows which implementation is predicted to be fastest where, and the regret at held-out shapes. Map returns nil if the
// surface is over fewer than two axes, predicts fewer than two implementations, or is not valid.
func Map(h *calibration.Host, o *calibration.Operation) *Chart {
	if !drawable(o) {
		return nil
	}
	f := newMapFigure(h, survey(o))
	return &Chart{width: f.width, height: f.height, paint: f.paint}
}

// mapFigure is the layout of a map.
type mapFigure struct {
	width, height   vg.Length
	title, subtitle string
	simulated       bool
	legend          []chip
	styles          map[string]style
	colors          []color.NRGBA // in the order of the surface's implementations
	names           []string
	key             []keyPlace
	keyAt           vg.Length // the first baseline
	xTitle, yTitle  string
	xTicks, yTicks  []plot.Tick
	plot            *plot.Plot // the axes of every panel
	panels          []mapPanel
	frames          []vg.Rectangle
	labels          []regionLabel
	words           []string
	regrets         *regretFigure
	caption         []string
}

func newMapFigure(h *calibration.Host, s *surveyed) *mapFigure {
	d := directionsOf(h, s)
	f := &mapFigure{simulated: h.Simulated, panels: s.mapPanels(d), width: mapWidth}
	if len(f.panels) > 1 {
		f.width = wideMapWidth
	}
	width := f.width - 2*margin
	titleWidth := width
	if f.simulated {
		titleWidth -= tagWidth("SIMULATED") + 6
	}
	f.title = fit(titleStyle, placedName(s.Operation), titleWidth)
	f.subtitle = fit(headStyle, subtitleOf(s, d), width)
	for i := range s.Surface.Implementations {
		f.names = append(f.names, s.Surface.Implementations[i].Name)
	}
	f.styles = stylesOf(f.names)
	for _, name := range f.names {
		f.colors = append(f.colors, f.styles[name].color)
	}
	f.xTitle, f.yTitle = axisTitle(s.Axes[d.x]), axisTitle(s.Axes[d.y]) // lay fits them
	x0, x1 := axisRange(s.Axes[d.x])
	y0, y1 := axisRange(s.Axes[d.y])
	f.plot = newPanel(x0, x1, y0, y1)
	f.xTicks, f.yTicks = sizeTicker{most: 8}.Ticks(x0, x1), sizeTicker{most: 9}.Ticks(y0, y1)
	f.words = wrap(wordsStyle, heldOutWords(s.Operation), width, 2)
	f.regrets = newRegretFigure(s.HeldOut.Losses)
	versions := &calibration.Case{Implementations: s.Implementations}
	f.caption = flow(captionStyle, slices.Concat(machine(h), circumstances(h), libraries(h, versions)), " · ", width, 3)
	f.caption = append(f.caption, flow(captionStyle, append(provenance(h), grouped(s.Blocks)+" blocks"), " · ", width, 2)...)
	f.lay(width)
	return f
}

// placedName returns the name of an operation with its placement, in the form of a case's name.
func placedName(o *calibration.Operation) string {
	if o.Placement == "" || o.Placement == "caller" {
		return o.Name
	}
	return o.Name + "/" + o.Placement
}

// subtitleOf says what the colours mean.
func subtitleOf(s *surveyed, d directions) string {
	words := fmt.Sprintf("the fastest implementation at each shape, predicted from %s measured shapes", grouped(len(s.fitted)))
	if len(s.fitted) == 1 {
		words = "the fastest implementation at each shape, predicted from one measured shape"
	}
	switch {
	case d.third >= 0:
		words += ", each marked on the panel nearest to it"
	case d.classed >= 0:
		words += fmt.Sprintf("; lengths other than powers of two as means of %d neighbours", neighbours)
	}
	return words
}

// heldOutWords says in numbers how good the choices are at held-out shapes.
func heldOutWords(o *calibration.Operation) string {
	r := &o.HeldOut
	if r.Shapes == 0 {
		return "No shape was held out: what the choices cost is not known."
	}
	plural := "shapes"
	if r.Shapes == 1 {
		plural = "shape"
	}
	words := fmt.Sprintf("%s %s held out: regret %s (at most %s), within 5\u202f%% at %s (at least %s), worst %s", grouped(r.Shapes), plural,
		percent(r.Regret), percent(r.RegretUpper), share100(r.Within), share100(r.WithinLower), percent(r.Worst))
	if len(r.WorstShape) == len(o.Axes) {
		words += " at"
		for i, value := range r.WorstShape {
			words += fmt.Sprintf(" %s=%d", oneLine(o.Axes[i].Name), value)
		}
	}
	return words
}

// share100 writes a share of shapes in whole percent.
func share100(v float64) string { return fmt.Sprintf("%.0f\u202f%%", 100*v) }

// wrap breaks words into at most most lines of a width.
func wrap(sty draw.TextStyle, words string, width vg.Length, most int) []string {
	return flow(sty, strings.Split(words, " "), " ", width, most)
}

// lay places all parts of the map, from the bottom to the top.
func (f *mapFigure) lay(width vg.Length) {
	var legendLines int
	f.legend, legendLines = flowChips(headStyle, f.legendOf(), width, 4)
	var keyLines int
	f.key, keyLines = flowKey(mapKey(), width)

	bottom := margin + captionPitch*vg.Length(len(f.caption)) + 4
	if f.regrets != nil {
		bottom += 34
		f.regrets.frame = vg.Rectangle{Min: vg.Point{X: leftOfPanels, Y: bottom}, Max: vg.Point{X: f.width - margin - 8, Y: bottom + regretsHeight}}
		bottom += regretsHeight
	}
	bottom += 10 + headPitch*vg.Length(len(f.words)) + 40
	tall := vg.Length(mapHeight)
	if len(f.panels) > 1 {
		tall = smallHeight
	}
	room := f.width - leftOfPanels - margin - betweenPanels*vg.Length(len(f.panels)-1)
	each := half(room / vg.Length(len(f.panels)))
	for k := range f.panels {
		left := leftOfPanels + vg.Length(k)*(each+betweenPanels)
		frame := vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: left + each, Y: bottom + tall}}
		f.frames = append(f.frames, frame)
		f.labels = append(f.labels, regionLabels(&f.panels[k], frame, f.names)...)
		f.panels[k].title = fit(panelStyle, f.panels[k].title, each)
	}
	f.xTitle = fit(axisStyle, f.xTitle, each)
	f.yTitle = fit(axisStyle, f.yTitle, leftOfPanels-margin-6+(each-panelStyle.Width(f.panels[0].title))/2)
	top := bottom + tall + 22
	f.keyAt = top + keyPitch*vg.Length(keyLines-1)
	top = f.keyAt + 18 + headPitch*vg.Length(legendLines-1)
	f.height = top + 20 + 20 + 12 + margin
}

// legendOf lists the implementations, in the order of how much of the map they win. Those that win nothing stand at the end,
// without a colour.
func (f *mapFigure) legendOf() []phrase {
	wins := map[string]int{}
	for k := range f.panels {
		for _, row := range f.panels[k].cells {
			for _, c := range row {
				if c.winner >= 0 {
					wins[f.names[c.winner]]++
				}
			}
		}
	}
	var phrases []phrase
	var nowhere []string
	for _, name := range slices.SortedFunc(slices.Values(f.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b))
	}) {
		if wins[name] == 0 {
			nowhere = append(nowhere, oneLine(name))
			continue
		}
		phrases = append(phrases, phrase{name, name})
	}
	if len(nowhere) > 0 {
		phrases = append(phrases, phrase{"", "nowhere: " + strings.Join(nowhere, ", ")})
	}
	return phrases
}

// paint draws the figure.
func (f *mapFigure) paint(c draw.Canvas) {
	y := f.height - margin - 12
	write(c, titleStyle, margin, text.XLeft, y, f.title)
	if f.simulated {
		drawTag(c, f.width-margin, y, "SIMULATED")
	}
	write(c, headStyle, margin, text.XLeft, y-20, f.subtitle)
	drawChips(c, headStyle, f.legend, f.styles, margin, y-40, headPitch)
	drawKey(c, f.key, margin, f.keyAt)

	for k := range f.panels {
		f.paintPanel(c, k)
	}
	for _, l := range f.labels {
		l.paint(c)
	}
	write(c, axisStyle, margin, text.XLeft, f.frames[0].Max.Y+7, f.yTitle)

	y = f.frames[0].Min.Y - 40
	for i, line := range f.words {
		write(c, wordsStyle, margin, text.XLeft, y-headPitch*vg.Length(i)-4, line)
	}
	if f.regrets != nil {
		f.regrets.paint(c)
	}
	y = margin + captionPitch*vg.Length(len(f.caption)-1)
	for i, line := range f.caption {
		write(c, captionStyle, margin, text.XLeft, y-captionPitch*vg.Length(i), line)
	}
	if f.simulated {
		drawWatermark(c)
	}
}

// paintPanel draws one panel with its title and axes.
func (f *mapFigure) paintPanel(c draw.Canvas, k int) {
	p, frame := &f.panels[k], f.frames[k]
	ticks := axes{x: f.xTicks, y: f.yTicks}
	if k > 0 {
		ticks.y = nil
	}
	inner := draw.Canvas{Canvas: c, Rectangle: frame}
	ticks.Plot(inner, f.plot)
	f.paintCells(c, p, frame)
	for _, m := range p.dots {
		drawFitted(c, m.on(frame))
	}
	for _, m := range p.rings {
		drawHeldOut(c, m.on(frame), m.loss > lossTold, ringRadius)
	}
	center := (frame.Min.X + frame.Max.X) / 2
	write(c, panelStyle, center, text.XCenter, frame.Max.Y+7, p.title)
	write(c, axisStyle, center, text.XCenter, frame.Min.Y-25, f.xTitle)
}

// on returns the place of a mark on a panel.
func (m markAt) on(frame vg.Rectangle) vg.Point {
	size := frame.Size()
	return vg.Point{X: frame.Min.X + vg.Length(m.u)*size.X, Y: frame.Min.Y + vg.Length(m.v)*size.Y}
}
