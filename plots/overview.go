package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// Sizes of the parts of the overview, in points. From left to right it has the names of the cases, the lanes, and the
// verdicts.
const (
	namesLeast = 146 // with short names the chart is 720 wide
	namesMost  = 220 // longer names are cut
	namesGap   = 12
	lanesWidth = 348
	verdictGap = 12
	verdicts   = 174 // with the regrets at the right edge

	lanePitch   = 27
	placedLane  = 24 // pitch of a lane of another placement, which has no unit
	placedInset = 10 // of its name
	barHeight   = 14
	lanesMost   = 300

	laneDoubt      = 5.5 // height of the mark of a doubt
	laneDoubtLeast = 10  // least width of the mark
)

var (
	laneStyle   = textStyle(10, ink)
	unitStyle   = textStyle(8.5, muted)
	insideStyle = textStyle(9, ink)
	columnStyle = textStyle(9, muted)
)

// Overview returns the chart of a host's calibration. Each case is a lane over the sizes, in the colours of the chosen
// implementations. runs has, by names of cases, what CaseChart takes, and may be nil. From runs the chart marks the fastest
// implementation at each measured size. The chart has at most 300 cases, and the number of the others.
func Overview(h *calibration.Host, runs map[string][]Run) *Chart {
	return overview(h, page{cases: h.Cases}, runs)
}

// overview returns the chart of a page.
func overview(h *calibration.Host, p page, runs map[string][]Run) *Chart {
	f := newOverviewFigure(h, p, runs)
	return &Chart{width: f.width, height: f.height, paint: f.paint}
}

// overviewFigure is the layout of an overview.
type overviewFigure struct {
	width     vg.Length
	height    vg.Length
	title     string
	subtitle  string
	simulated bool
	legend    []chip
	styles    map[string]style // of names, and of the parts before their slashes
	lanes     []lane
	left      vg.Length // left edge of the lanes
	right     vg.Length // right edge of the lanes
	hidden    int       // cases without a lane
	gpu       bool      // whether the legend has a GPU's implementation
	key       []keyPlace
	caption   []string

	panel *plot.Plot
	frame vg.Rectangle
	ticks []plot.Tick
}

// lane is one case of the overview.
type lane struct {
	name, unit      string
	verdict, regret string
	placed          bool // the lane belongs to the one above, with the data in another placement
	degraded        bool
	pale            bool // whether the bar is pale: the choice is as good as the next, or is foreseen
	foreseen        bool // whether the choices are predicted beside a single measured size
	from, to        float64
	spans           []span
	sizes           []int
	winners         []string  // at each size
	gpus            []string  // the case's implementations that a GPU computes
	y               vg.Length // middle of the lane's bar
}

func newOverviewFigure(h *calibration.Host, p page, runs map[string][]Run) *overviewFigure {
	f := &overviewFigure{simulated: h.Simulated, title: "Which implementation is fastest, by size"}
	if p.title != "" {
		f.title += ": " + p.title
	}
	cases := p.cases[:min(len(p.cases), lanesMost)]
	f.hidden = len(p.cases) - len(cases)
	names := vg.Length(namesLeast)
	var shown []*calibration.Case
	for _, line := range linesOf(cases) {
		for n, i := range line {
			c := &cases[i]
			l := newLane(c, runs[c.Name], n > 0)
			if n > 0 {
				l.foresee(foreseen(h, c, &cases[line[0]]))
			}
			f.lanes = append(f.lanes, l)
			shown = append(shown, c)
			names = max(names, l.inset()+laneStyle.Width(l.name), unitStyle.Width(l.unit))
		}
	}
	f.left = margin + names + namesGap
	f.right = f.left + lanesWidth
	f.width = f.right + verdictGap + verdicts + margin

	width := f.width - 2*margin
	f.subtitle = fit(headStyle, strings.Join(machine(h), " · "), width)
	f.caption = flow(captionStyle, slices.Concat(circumstances(h), provenance(h)), " · ", width, 2)

	phrases := f.legendOf()
	var legendLines int
	f.legend, legendLines = flowChips(headStyle, phrases, width, 3)
	if len(phrases) == 0 {
		legendLines = 0
	}
	var keyLines int
	f.key, keyLines = flowKey(f.keyEntries(shown), width)
	f.layLanes(vg.Length(legendLines)*headPitch, vg.Length(keyLines)*keyPitch)
	return f
}

// legendOf lists the implementations of the lanes, the most often chosen first. Implementations of one colour share an
// entry. They are never in the same case.
func (f *overviewFigure) legendOf() []phrase {
	chosen := map[string]int{}
	for _, l := range f.lanes {
		for _, s := range l.spans {
			chosen[root(s.implementation)]++
		}
		for _, w := range l.winners {
			chosen[root(w)] += 0
		}
	}
	names := slices.SortedFunc(maps.Keys(chosen), func(a, b string) int {
		return cmp.Or(chosen[b]-chosen[a], cmp.Compare(a, b))
	})
	f.styles = stylesOf(slices.Concat(names, f.names()))
	gpus := map[string]bool{}
	for _, l := range f.lanes {
		for _, name := range l.gpus {
			gpus[root(name)] = true
		}
	}
	words := func(name string) string {
		if gpus[name] {
			return oneLine(name) + " (GPU)"
		}
		return oneLine(name)
	}
	f.gpu = slices.ContainsFunc(names, func(name string) bool { return gpus[name] })
	var phrases []phrase
	entry := map[color.NRGBA]int{}
	for _, name := range names {
		c := f.styles[name].color
		if i, ok := entry[c]; ok {
			phrases[i].text += ", " + words(name)
			continue
		}
		entry[c] = len(phrases)
		phrases = append(phrases, phrase{name, words(name)})
	}
	return phrases
}

// names lists the full names of the implementations in the lanes.
func (f *overviewFigure) names() []string {
	var names []string
	for _, l := range f.lanes {
		names = append(names, l.winners...)
		for _, s := range l.spans {
			names = append(names, s.implementation)
			for _, d := range s.doubts {
				names = append(names, d.implementation)
			}
		}
	}
	return names
}

// newLane returns the lane of a case. A placed one has only the placement for a name.
func newLane(c *calibration.Case, runs []Run, placed bool) lane {
	l := lane{
		placed:   placed,
		verdict:  verdict(c),
		degraded: c.Degraded,
		pale:     c.Verdict == calibration.Tie,
		spans:    spansOf(c),
	}
	l.name = fitEnds(laneStyle, c.Name, namesMost)
	if placed {
		_, l.name = cutPlacement(c.Name)
	} else {
		l.unit = fit(unitStyle, axisTitle(c.Axis), namesMost)
	}
	if len(c.Segments) > 0 {
		l.regret = regretOf(c)
	}
	l.sizes, l.winners = winners(runs)
	l.gpus = slices.Sorted(maps.Keys(onGPU(c)))
	l.from, l.to = sizeRange(c.Axis, l.spans, nil)
	for _, size := range l.sizes {
		l.from, l.to = min(l.from, float64(size)), max(l.to, float64(size))
	}
	return l
}

// foresee takes predicted choices for those of a single size, if there are some. o is the operation whose surface predicts them.
func (l *lane) foresee(spans []span, o *calibration.Operation) {
	if len(spans) == 0 {
		return
	}
	l.spans, l.pale, l.foreseen = spans, true, true
	l.from, l.to = min(l.from, spans[0].from), max(l.to, spans[len(spans)-1].to)
	l.verdict, l.regret = "one size, else predicted", ""
	if o.HeldOut.Shapes > 0 {
		l.regret = percent(o.HeldOut.Regret)
	}
}

// pitch returns the height of the lane.
func (l *lane) pitch() vg.Length {
	if l.placed {
		return placedLane
	}
	return lanePitch
}

// inset returns how far the lane's name stands to the right.
func (l *lane) inset() vg.Length {
	if l.placed {
		return placedInset
	}
	return 0
}

// layLanes places the lanes and their axis, from the top to the bottom, below a legend and above a key of the given heights.
func (f *overviewFigure) layLanes(legendHeight, keyHeight vg.Length) {
	from, to := 1.0, 1.0
	for i, l := range f.lanes {
		if i == 0 {
			from, to = l.from, l.to
		}
		from, to = min(from, l.from), max(to, l.to)
	}
	f.ticks = sizeTicker{most: 9}.Ticks(from, to)
	if from == to {
		f.ticks = []plot.Tick{{Value: from, Label: sizeLabel(int(from))}}
	}
	from, to = widen(from, to, 0.01)
	f.panel = newPanel(from, to, 1, 2)

	const below, header = 58, 62
	lanes := vg.Length(0)
	for i := range f.lanes {
		lanes += f.lanes[i].pitch()
	}
	lanes = max(lanes, lanePitch)
	bottom := below + keyHeight + captionPitch*vg.Length(len(f.caption))
	f.frame = vg.Rectangle{
		Min: vg.Point{X: f.left, Y: bottom},
		Max: vg.Point{X: f.right, Y: bottom + lanes + 4},
	}
	f.height = f.frame.Max.Y + legendHeight + header + margin
	top := f.frame.Max.Y - 2
	for i := range f.lanes {
		l := &f.lanes[i]
		l.y = top - l.pitch()/2
		top -= l.pitch()
	}
	f.panel.Add(axes{x: f.ticks}, laneBars{f})
}

// paint draws the figure.
func (f *overviewFigure) paint(c draw.Canvas) {
	y := f.height - margin - 12
	regretEdge := f.width - margin
	write(c, titleStyle, margin, text.XLeft, y, fit(titleStyle, f.title, f.width-2*margin))
	if f.simulated {
		drawTag(c, f.width-margin, y, "SIMULATED")
	}
	write(c, headStyle, margin, text.XLeft, y-18, f.subtitle)
	drawChips(c, headStyle, f.legend, f.styles, margin, y-38, headPitch)

	head := f.frame.Max.Y + 8
	write(c, columnStyle, margin, text.XLeft, head, "case, swept parameter")
	write(c, columnStyle, f.right+verdictGap, text.XLeft, head, "verdict")
	write(c, columnStyle, regretEdge, text.XRight, head, "expected regret")

	f.panel.Draw(draw.Canvas{Canvas: c, Rectangle: f.frame})
	for _, l := range f.lanes {
		name := l.y + 1
		if l.placed {
			name = middle(laneStyle, l.y)
		}
		write(c, laneStyle, margin+l.inset(), text.XLeft, name, l.name)
		write(c, unitStyle, margin, text.XLeft, l.y-9, l.unit)
		sty := laneStyle
		if l.verdict == "unresolved" {
			sty.Color = muted
		}
		regretLeft := regretEdge - laneStyle.Width(l.regret) - 8
		y := middle(laneStyle, l.y)
		if l.degraded {
			write(c, unitDoubtStyle, f.right+verdictGap, text.XLeft, l.y-9, "degraded")
			y = l.y + 1
		}
		write(c, sty, f.right+verdictGap, text.XLeft, y, fit(sty, l.verdict, regretLeft-f.right-verdictGap))
		write(c, laneStyle, regretEdge, text.XRight, middle(laneStyle, l.y), l.regret)
	}
	if len(f.lanes) == 0 {
		write(c, labelStyle, (f.left+f.right)/2, text.XCenter, (f.frame.Min.Y+f.frame.Max.Y)/2, "no cases")
	}

	y = f.frame.Min.Y - 27
	write(c, columnStyle, (f.left+f.right)/2, text.XCenter, y, "size, in the unit named at the left")
	drawKey(c, f.key, margin, y-17)
	y = margin + captionPitch*vg.Length(len(f.caption)-1)
	for _, line := range f.caption {
		write(c, captionStyle, margin, text.XLeft, y, line)
		y -= captionPitch
	}
	if f.hidden > 0 {
		write(c, columnStyle, margin, text.XLeft, f.frame.Min.Y-27, fmt.Sprintf("and %s more cases", grouped(f.hidden)))
	}
	if f.simulated {
		drawWatermark(c)
	}
}

var unitDoubtStyle = textStyle(8.5, rust)

// keyEntries explains the marks of the lanes.
func (f *overviewFigure) keyEntries(cases []*calibration.Case) []keyEntry {
	entries := []keyEntry{intervalKey(cases...), pipKey()}
	if f.gpu {
		entries = append(entries, gpuKey())
	}
	if slices.ContainsFunc(f.lanes, func(l lane) bool { return l.foreseen }) {
		entries = append(entries, foreseenKey())
	}
	if slices.ContainsFunc(f.names(), func(name string) bool { return name != root(name) }) {
		entries = append(entries, variantKey())
	}
	if slices.ContainsFunc(f.lanes, func(l lane) bool {
		return slices.ContainsFunc(l.spans, func(s span) bool { return len(s.doubts) > 0 })
	}) {
		entries = append(entries, laneDoubtKey())
	}
	return entries
}

// pipKey explains the marks of the measured sizes.
func pipKey() keyEntry {
	return keyEntry{"fastest at each measured size", 16, func(c draw.Canvas, left, mid vg.Length) {
		for i, clr := range []string{"go", "go", "go-parallel"} {
			drawPip(c, bases[clr].color, left+2+vg.Length(i)*6, mid)
		}
	}}
}

// laneDoubtKey explains the doubts of lanes, for any implementation.
func laneDoubtKey() keyEntry {
	return keyEntry{"another may be as fast or faster", 16, func(c draw.Canvas, left, mid vg.Length) {
		drawDoubt(c, bases["go"].color, false, left, mid-laneDoubt/2, left+16, mid+laneDoubt/2)
		drawPip(c, bases["go"].color, left+8, mid)
	}}
}

// laneBars draws the bars of the lanes: the choices, the thresholds, and the fastest implementation at each measured size.
type laneBars struct{ *overviewFigure }

// Plot implements plot.Plotter.
func (f laneBars) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, l := range f.lanes {
		if i > 0 && !l.placed {
			rule := l.y + lanePitch/2
			c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5}, margin, rule, f.width-margin, rule)
		}
		low, high := l.y-barHeight/2+2, l.y+barHeight/2+2
		if len(l.spans) == 0 {
			fillBox(c, faint, x(l.from), low, max(x(l.to), x(l.from)+2), high)
		}
		for _, s := range l.spans {
			fill := f.styles[s.implementation].color
			if l.pale {
				fill = onWhite(fill, foreseenOpacity)
			}
			drawSpan(c, insideStyle, s, fill, x(s.from), low, max(x(s.to), x(s.from)+1.5), high, (low+high)/2)
			f.drawDoubts(c, s, x, low-4)
		}
		for _, s := range l.spans {
			if s.threshold == 0 {
				continue
			}
			from, to := x(s.from), x(s.from)
			if s.low > 0 {
				from, to = inside(c, x(s.low)), inside(c, x(s.high))
			}
			drawWhisker(c, x(s.from), from, to, low-2, high+2, high+2)
		}
		for i, size := range l.sizes {
			drawPip(c, f.styles[l.winners[i]].color, x(float64(size)), low-4)
		}
	}
}

// drawDoubts draws the doubts of a span behind the marks of the measured sizes, at the same height.
func (f laneBars) drawDoubts(c draw.Canvas, s span, x func(float64) vg.Length, mid vg.Length) {
	box := stripBox{x(s.from), max(x(s.to), x(s.from)+1.5)}
	for _, d := range s.doubts {
		left, right := box.part(x(d.from), x(d.to), laneDoubtLeast)
		drawDoubt(c, f.styles[d.implementation].color, d.tie, left, mid-laneDoubt/2, right, mid+laneDoubt/2)
	}
}

// drawPip draws the mark of one measured size.
func drawPip(c draw.Canvas, clr color.NRGBA, x, y vg.Length) {
	fillBox(c, clr, x-1.6, y-1.6, x+1.6, y+1.6)
}
