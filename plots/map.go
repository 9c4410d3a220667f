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
// shows which implementation is predicted to be fastest where, and the regret at held-out shapes. Below are the panels of
// others, which are the same operation with the data in other placements. If all choices of such a panel are those above, the
// map says so and leaves the panels out. Map returns nil if the surface is over fewer than two axes, predicts fewer than two
// implementations, or is not valid.
func Map(h *calibration.Host, o *calibration.Operation, others ...*calibration.Operation) *Chart {
	if !drawable(o) {
		return nil
	}
	var surveys []*surveyed
	for _, other := range others {
		if drawable(other) {
			surveys = append(surveys, survey(other))
		}
	}
	f := newMapFigure(h, survey(o), surveys...)
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
	others          []*mapFigure // of other placements: their panels, titles and words
	placement       string       // of the panels; "" if the map has no other one
	placementAt     vg.Length    // its baseline
	wordsAt         vg.Length    // the first baseline
	alike           bool         // whether the choices are those of the first placement, so that the panels are left out
}

func newMapFigure(h *calibration.Host, s *surveyed, others ...*surveyed) *mapFigure {
	return newMapAlong(directionsOf(h, s), h, s, others...)
}

// newMapAlong returns the figure with axes in given directions.
func newMapAlong(d directions, h *calibration.Host, s *surveyed, others ...*surveyed) *mapFigure {
	f := &mapFigure{simulated: h.Simulated, panels: s.mapPanels(d), width: mapWidth}
	if len(f.panels) > 1 {
		f.width = wideMapWidth
	}
	width := f.width - 2*margin
	titleWidth := width
	if f.simulated {
		titleWidth -= tagWidth("SIMULATED") + 6
	}
	f.title = fit(titleStyle, titleOf(s), titleWidth)
	f.subtitle = fit(headStyle, subtitleOf(d, relatives(h, s.Operation), s.fixedWords(d, f.panels[0].base)), width)
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
	of := inRun(h, s.Operation)
	f.caption = flow(captionStyle, slices.Concat(machine(of), circumstances(of), libraries(of, versions)), " · ", width, 3)
	blocks := []string{grouped(s.Blocks) + " blocks"}
	names := []string{s.Placement}
	for _, o := range others {
		var other *mapFigure
		if slices.Equal(o.Surface.Axes, s.Surface.Axes) { // all panels have the same axes
			of := *o.Operation
			of.Axes, o.Operation = s.Axes, &of
			other = newMapAlong(d, h, o)
		} else {
			other = newMapFigure(h, o)
		}
		other.placement = o.Placement
		other.alike = f.sameChoices(other)
		f.others = append(f.others, other)
		names = append(names, o.Placement)
		words := o.Placement + " " + grouped(o.Blocks) + " blocks"
		if created := h.NewestRun(o.Operation); !created.Equal(of.Created) {
			words += created.UTC().Format(" on 2006-01-02 15:04 UTC")
		}
		blocks = append(blocks, words)
	}
	if len(others) > 0 {
		f.placement = s.Placement
		f.caption = append(flow(captionStyle, placedFacts(names), " · ", width, 2), f.caption...)
	}
	f.caption = append(f.caption, flow(captionStyle, append(provenance(of), blocks...), " · ", width, 2)...)
	f.lay(width)
	return f
}

// inRun returns the host as it was in the newest run that measured shapes of an operation.
func inRun(h *calibration.Host, o *calibration.Operation) *calibration.Host {
	of := *h
	of.Created = h.NewestRun(o)
	for _, run := range h.Runs {
		if run.Created.Equal(of.Created) && !h.Created.Equal(of.Created) {
			of.Environment, of.Method = run.Environment, run.Method
		}
	}
	return &of
}

// sameChoices reports whether another figure has the same panels with the same winners, whatever their margins are.
func (f *mapFigure) sameChoices(other *mapFigure) bool {
	if len(f.panels) != len(other.panels) {
		return false
	}
	name := func(f *mapFigure, c cell) string {
		if c.winner < 0 {
			return ""
		}
		return f.names[c.winner]
	}
	for k := range f.panels {
		if f.panels[k].title != other.panels[k].title {
			return false
		}
		for row := range mapRows {
			for column := range mapColumns {
				if name(f, f.panels[k].cells[row][column]) != name(other, other.panels[k].cells[row][column]) {
					return false
				}
			}
		}
	}
	return true
}

// placedName returns the name of an operation with its placement, in the form of a case's name.
func placedName(o *calibration.Operation) string {
	if o.Placement == "" || o.Placement == "caller" {
		return o.Name
	}
	return o.Name + "/" + o.Placement
}

// titleOf names the operation, and says on how many shapes the map rests.
func titleOf(s *surveyed) string {
	if len(s.fitted) == 1 {
		return placedName(s.Operation) + ", one shape"
	}
	return fmt.Sprintf("%s, %s shapes", placedName(s.Operation), grouped(len(s.fitted)))
}

// relatives returns the names of the other operations of an operation's family.
func relatives(h *calibration.Host, o *calibration.Operation) []string {
	var names []string
	for i := range h.Operations {
		if other := &h.Operations[i]; o.Family != "" && other.Family == o.Family && other.Placement == o.Placement && other.Name != o.Name {
			names = append(names, other.Name)
		}
	}
	return names
}

// fixedWords names the values of the axes that the map has no direction for: "width = 64, steps = 100". base is the shape that a
// panel begins with. There are none if the operation has up to three axes.
func (s *surveyed) fixedWords(d directions, base []int) string {
	var words []string
	for axis, value := range base {
		if axis != d.x && axis != d.y && axis != d.third && axis != d.classed {
			words = append(words, fmt.Sprintf("%s = %s", oneLine(s.Axes[axis].Name), grouped(value)))
		}
	}
	return strings.Join(words, ", ")
}

// subtitleOf says what the colours mean, of which other operations some shapes are, and at which values of other axes the choices
// are drawn.
func subtitleOf(d directions, relatives []string, fixed string) string {
	words := "the fastest implementation, predicted from these shapes"
	if len(relatives) > 0 {
		words += " (some of " + strings.Join(relatives, ", ") + ")"
	}
	switch {
	case d.third >= 0:
		words += ", each marked on the panel nearest to it"
	case d.classed >= 0:
		words += fmt.Sprintf("; lengths other than powers of two as means of %d neighbours", neighbours)
	}
	if fixed != "" {
		words += "; drawn at " + fixed
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
	for _, o := range slices.Backward(f.others) {
		bottom = o.layPlaced(bottom, f.width)
	}
	if f.regrets != nil {
		bottom += 34
		f.regrets.frame = vg.Rectangle{Min: vg.Point{X: leftOfPanels, Y: bottom}, Max: vg.Point{X: f.width - margin - 8, Y: bottom + regretsHeight}}
		bottom += regretsHeight
	}
	bottom += 10 + headPitch*vg.Length(len(f.words)) + 40
	f.wordsAt = bottom - 44
	tall := f.layFrames(bottom)
	f.placementAt = bottom + tall + 22
	if f.placement != "" {
		tall += 16
	}
	top := bottom + tall + 22
	f.keyAt = top + keyPitch*vg.Length(keyLines-1)
	top = f.keyAt + 18 + headPitch*vg.Length(legendLines-1)
	f.height = top + 20 + 20 + 12 + margin
}

// layFrames places the panels above bottom and returns their height.
func (f *mapFigure) layFrames(bottom vg.Length) (tall vg.Length) {
	tall = mapHeight
	if len(f.panels) > 1 {
		tall = smallHeight
	}
	room := f.width - leftOfPanels - margin - betweenPanels*vg.Length(len(f.panels)-1)
	each := onPixel(room / vg.Length(len(f.panels)))
	f.frames, f.labels = nil, nil
	for k := range f.panels {
		left := leftOfPanels + vg.Length(k)*(each+betweenPanels)
		frame := vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: left + each, Y: bottom + tall}}
		f.frames = append(f.frames, frame)
		f.labels = append(f.labels, regionLabels(&f.panels[k], frame, f.names)...)
		f.panels[k].title = fit(panelStyle, f.panels[k].title, each)
	}
	f.xTitle = fit(axisStyle, f.xTitle, each)
	f.yTitle = fit(axisStyle, f.yTitle, leftOfPanels-margin-6+(each-panelStyle.Width(f.panels[0].title))/2)
	return tall
}

// layPlaced places the panels and the words of another placement above bottom, on a map of a width. It returns their top.
func (f *mapFigure) layPlaced(bottom, width vg.Length) vg.Length {
	f.width = width
	bottom += 14
	f.wordsAt = bottom + headPitch*vg.Length(len(f.words)-1)
	bottom = f.wordsAt + headPitch
	if f.alike {
		f.placementAt = bottom
		return bottom + headPitch
	}
	bottom += 29
	f.placementAt = bottom + f.layFrames(bottom) + 22
	return f.placementAt + headPitch
}

// legendOf lists the implementations, in the order of how much of the map they win. Those that win nothing stand at the end,
// without a colour.
func (f *mapFigure) legendOf() []phrase {
	wins := map[string]int{}
	names := slices.Clone(f.names)
	for _, of := range append([]*mapFigure{f}, f.others...) {
		for k := range of.panels {
			for _, row := range of.panels[k].cells {
				for _, c := range row {
					if c.winner >= 0 {
						wins[of.names[c.winner]]++
					}
				}
			}
		}
		for _, name := range of.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
				f.styles[name] = of.styles[name]
			}
		}
	}
	var phrases []phrase
	var nowhere []string
	for _, name := range slices.SortedFunc(slices.Values(names), func(a, b string) int {
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

	f.paintPanels(c)
	for _, o := range f.others {
		o.paintPanels(c)
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

// paintPanels draws the panels of one placement, and the words about them.
func (f *mapFigure) paintPanels(c draw.Canvas) {
	head := f.placement
	if f.alike {
		head += ": the same choices as above"
	}
	write(c, placedStyle, margin, text.XLeft, f.placementAt, head)
	for i, line := range f.words {
		write(c, wordsStyle, margin, text.XLeft, f.wordsAt-headPitch*vg.Length(i), line)
	}
	if f.alike {
		return
	}
	for k := range f.panels {
		f.paintPanel(c, k)
	}
	for _, l := range f.labels {
		l.paint(c)
	}
	write(c, axisStyle, margin, text.XLeft, f.frames[0].Max.Y+7, f.yTitle)
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
