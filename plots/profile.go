package plots

import (
	"context"
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/profiles"
)

// Planned is a profile of a plan that is drawn beside others.
type Planned struct {
	Plan    string
	Profile *profiles.Profile
}

// WriteProfile draws a profile into a folder and returns the paths of the charts: gantt.png, with a call by the profile's plan and
// by the others, and stages.png, with what each stage takes. before may be nil.
func WriteProfile(ctx context.Context, dir string, p *profiles.Profile, others []Planned, before *profiles.Profile) (paths []string, err error) {
	for _, chart := range []struct {
		name string
		draw func() *Chart
	}{
		{"gantt.png", func() *Chart { return Gantt(p, others) }},
		{"stages.png", func() *Chart { return StageBars(p, before) }},
	} {
		path := filepath.Join(dir, chart.name)
		if err := Save(ctx, path, chart.draw); err != nil {
			return paths, fmt.Errorf("plots: %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Sizes of the charts of a profile, in points.
const (
	profileWidth  = 600
	profileLeft   = 96 // of the plot, where names stand
	profileRight  = 16
	profileTop    = 52 // above the plot, where the title stands
	laneHeight    = 15
	planGap       = 20
	stageHeight   = 7
	stagePitch    = 24
	profileBottom = 24
)

// lanes are the lanes of a plan, in their order.
var lanes = []struct {
	place profiles.Place
	name  string
}{{profiles.Processor, "processor"}, {profiles.GPU, "GPU"}, {profiles.Transfer, "copies"}}

// band is a plan in a Gantt chart.
type band struct {
	title  string
	pieces []profiles.Piece
	lanes  []int // of lanes, those with a piece
	end    float64
}

func newBand(title string, p *profiles.Profile) band {
	b := band{title: title, end: profiles.Quantile(p.Calls, 0.5)}
	for i := range p.Median {
		b.pieces = append(b.pieces, p.Median[i].Pieces()...)
	}
	for _, piece := range b.pieces {
		b.end = max(b.end, piece.End)
	}
	for i, l := range lanes {
		if slices.ContainsFunc(b.pieces, func(p profiles.Piece) bool { return p.Place == l.place }) {
			b.lanes = append(b.lanes, i)
		}
	}
	return b
}

// Gantt draws a call by each plan, above each other on one axis of time: which stage runs when, and where. Copies are hatched.
func Gantt(p *profiles.Profile, others []Planned) *Chart {
	bands := []band{newBand(planTitle(p.Plan, p, true), p)}
	for _, o := range others {
		bands = append(bands, newBand(planTitle(o.Plan, o.Profile, false), o.Profile))
	}
	end, height := 0.0, vg.Length(0)
	for _, b := range bands {
		end = max(end, b.end)
		height += planGap + laneHeight*vg.Length(len(b.lanes))
	}
	colors := colorsOf(bands)
	width := vg.Length(profileWidth)
	key, lines := flowKey(ganttKey(bands, colors), width-profileLeft-profileRight)
	total := profileTop + height + profileBottom + 14 + vg.Length(lines)*keyPitch
	return &Chart{width, total, func(c draw.Canvas) {
		drawTitle(c, fmt.Sprintf("Where the time of %s goes, by plan", p.Pipeline), caption(p)+" · of each plan the call nearest to the median")
		left, right := c.Min.X+profileLeft, c.Max.X-profileRight
		x := func(seconds float64) vg.Length { return left + vg.Length(seconds/end)*(right-left) }
		top := c.Max.Y - profileTop
		bottom := top - height
		timeAxis(c, x, end, bottom, top)
		y := top
		for _, b := range bands {
			y -= planGap
			write(c, boldStyle(9, ink), left, text.XLeft, y+5, fit(boldStyle(9, ink), b.title, right-left))
			for _, l := range b.lanes {
				y -= laneHeight
				write(c, textStyle(8.5, ink), left-6, text.XRight, middle(textStyle(8.5, ink), y+laneHeight/2), lanes[l].name)
				for _, piece := range b.pieces {
					if piece.Place == lanes[l].place {
						drawPiece(c, piece, colors[piece.Name], x(piece.Begin), y+1, x(piece.End), y+laneHeight-1)
					}
				}
			}
		}
		drawKey(c, key, left, bottom-profileBottom-10)
	}}
}

func planTitle(name string, p *profiles.Profile, chosen bool) string {
	title := fmt.Sprintf("%s: %s a call", name, timeLabel3(profiles.Quantile(p.Calls, 0.5)))
	if chosen {
		title += " (profiled)"
	}
	return title
}

// caption says what a profile is of.
func caption(p *profiles.Profile) string {
	text := fmt.Sprintf("%s · %d calls", p.Input(), len(p.Calls))
	if p.Host != "" {
		text += " · " + p.Host
	}
	if !p.Created.IsZero() {
		text += " · " + p.Created.Format("2006-01-02")
	}
	return text
}

func drawTitle(c draw.Canvas, title, below string) {
	width := c.Max.X - c.Min.X - 24
	write(c, boldStyle(12, ink), c.Min.X+12, text.XLeft, c.Max.Y-20, fit(boldStyle(12, ink), title, width))
	write(c, textStyle(8.5, muted), c.Min.X+12, text.XLeft, c.Max.Y-34, fit(textStyle(8.5, muted), below, width))
}

// timeAxis draws a linear axis of time from 0 on, and its grid.
func timeAxis(c draw.Canvas, x func(float64) vg.Length, end float64, bottom, top vg.Length) {
	labels := textStyle(8.5, ink)
	var ticks []plot.Tick
	for _, t := range (plot.DefaultTicks{}).Ticks(0, end) {
		if t.Label != "" && t.Value <= end {
			label := timeLabel(t.Value)
			if t.Value == 0 {
				label = "0"
			}
			ticks = append(ticks, plot.Tick{Value: t.Value, Label: label})
		}
	}
	for _, t := range legible(ticks, labels, x) {
		at := x(t.Value)
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.6}, at, bottom, at, top)
		c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.8}, at, bottom-tickLength, at, bottom)
		write(c, labels, at, text.XCenter, bottom-tickLength-9, t.Label)
	}
	c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.8}, x(0), bottom, x(end), bottom)
}

// colorsOf gives each stage a colour. Stages that follow each other differ. Launch and wait are grey, because nothing is computed.
func colorsOf(bands []band) map[string]color.NRGBA {
	colors := map[string]color.NRGBA{"launch": muted, "wait": faint}
	stages := 0
	for _, b := range bands {
		for _, piece := range b.pieces {
			if _, known := colors[piece.Name]; known {
				continue
			}
			if piece.Place == profiles.Transfer {
				colors[piece.Name] = quiet
				continue
			}
			of := []color.NRGBA{blue, orange, bluishGreen, reddishPurple, skyBlue, vermillion, yellow}
			shade := of[stages%len(of)]
			if stages/len(of)%2 == 1 {
				shade = onWhite(shade, 0.45)
			}
			colors[piece.Name] = shade
			stages++
		}
	}
	return colors
}

// drawPiece draws a piece with its name, if that fits. Copies are hatched.
func drawPiece(c draw.Canvas, p profiles.Piece, fill color.NRGBA, x0, y0, x1, y1 vg.Length) {
	x1 = max(x1, x0+0.4) // a hair line at least
	if p.Place == profiles.Transfer {
		drawCopy(c, x0, y0, x1, y1)
		return
	}
	fillBox(c, fill, x0, y0, x1, y1)
	if x1-x0 > 3 {
		c.StrokeLine2(draw.LineStyle{Color: color.White, Width: 0.5}, x1, y0, x1, y1)
	}
	sty := textStyle(7.5, readableOn(fill))
	if name := oneLine(p.Name); sty.Width(name)+4 <= x1-x0 {
		write(c, sty, (x0+x1)/2, text.XCenter, middle(sty, (y0+y1)/2), name)
	}
}

// drawCopy draws a hatched box.
func drawCopy(c draw.Canvas, x0, y0, x1, y1 vg.Length) {
	fillBox(c, faint, x0, y0, x1, y1)
	hatch(c, ink, x0, y0, x1, y1)
}

// ganttKey explains the colours.
func ganttKey(bands []band, colors map[string]color.NRGBA) (key []keyEntry) {
	seen := map[string]bool{}
	for _, b := range bands {
		for _, piece := range b.pieces {
			name := piece.Name
			if piece.Place == profiles.Transfer {
				name = "copies"
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			key = append(key, keyEntry{name, 10, func(c draw.Canvas, left, mid vg.Length) {
				if piece.Place == profiles.Transfer {
					drawCopy(c, left, mid-3.5, left+10, mid+3.5)
					return
				}
				fillBox(c, colors[piece.Name], left, mid-3.5, left+10, mid+3.5)
			}})
		}
	}
	return key
}

// bar is a stage in a chart of bars.
type bar struct {
	name          string
	after, before []float64 // seconds, by call; before may be empty
	bound         float64   // seconds; 0 if there is none
	verdict       profiles.Verdict
	ratio         float64
}

// StageBars draws what each stage of a call takes: the median, and from the 10th to the 90th percentile of the calls. A dark line
// is the least time by the machine's roof. With an earlier profile, the times before are drawn below.
func StageBars(p *profiles.Profile, before *profiles.Profile) *Chart {
	bars, end := barsOf(p, before)
	width := vg.Length(profileWidth)
	height := stagePitch * vg.Length(len(bars))
	entries := []keyEntry{
		{"median now", 10, func(c draw.Canvas, left, mid vg.Length) { fillBox(c, blue, left, mid-3, left+10, mid+3) }},
		{"10 % to 90 % of the calls", 14, func(c draw.Canvas, left, mid vg.Length) { whisker(c, left, left+14, mid) }},
		{"least time by the roof", 4, func(c draw.Canvas, left, mid vg.Length) { boundMark(c, left+2, mid-5, mid+5) }},
	}
	title := fmt.Sprintf("What the stages of %s take", p.Pipeline)
	if before != nil {
		title += ", before and after"
		entries = slices.Insert(entries, 1, keyEntry{"before", 10, func(c draw.Canvas, left, mid vg.Length) { fillBox(c, quiet, left, mid-3, left+10, mid+3) }})
	}
	const words = 128 // at the right, where times stand
	key, lines := flowKey(entries, width-profileLeft-profileRight)
	total := profileTop + height + profileBottom + 14 + vg.Length(lines)*keyPitch
	return &Chart{width, total, func(c draw.Canvas) {
		drawTitle(c, title, caption(p)+" · plan "+p.Plan)
		left, right := c.Min.X+profileLeft, c.Max.X-profileRight-words
		x := func(seconds float64) vg.Length { return left + vg.Length(seconds/end)*(right-left) }
		top := c.Max.Y - profileTop
		timeAxis(c, x, end, top-height, top)
		for i, b := range bars {
			mid := top - stagePitch*(vg.Length(i)+0.5)
			b.draw(c, x, mid, left, right)
		}
		drawKey(c, key, left, top-height-profileBottom-10)
	}}
}

// barsOf returns the bars, and the end of the axis in seconds.
func barsOf(p, before *profiles.Profile) (bars []bar, end float64) {
	changes := map[string]profiles.Change{}
	if before != nil {
		for _, c := range profiles.Compare(before, p, 1) {
			changes[c.Name] = c
		}
	}
	add := func(b bar, of *profiles.Profile) {
		if c, ok := changes[b.name]; ok {
			b.verdict, b.ratio = c.Verdict, c.Ratio
		}
		for _, times := range [][]float64{b.after, b.before} {
			if len(times) > 0 {
				end = max(end, profiles.Quantile(times, 0.9))
			}
		}
		bars = append(bars, b)
	}
	earlier := func(name string) []float64 {
		if before != nil {
			for i := range before.Stages {
				if before.Stages[i].Name == name {
					return before.Stages[i].Wall
				}
			}
		}
		return nil
	}
	for i := range p.Stages {
		b := bar{name: p.Stages[i].Name, after: p.Stages[i].Wall, before: earlier(p.Stages[i].Name)}
		if bound, ok := p.Bound(&p.Stages[i]); ok {
			b.bound = bound.Seconds
		}
		add(b, p)
	}
	if before != nil {
		for i := range before.Stages {
			if !slices.ContainsFunc(p.Stages, func(s profiles.Stage) bool { return s.Name == before.Stages[i].Name }) {
				add(bar{name: before.Stages[i].Name, before: before.Stages[i].Wall}, before)
			}
		}
	}
	rest := bar{name: "between the stages", after: p.Between}
	if before != nil {
		rest.before = before.Between
	}
	add(rest, p)
	return bars, end
}

// draw draws a stage around a height.
func (b *bar) draw(c draw.Canvas, x func(float64) vg.Length, mid, left, right vg.Length) {
	sty := textStyle(8.5, ink)
	write(c, sty, left-6, text.XRight, middle(sty, mid), fit(sty, b.name, profileLeft-12))
	low := mid
	if len(b.before) > 0 {
		low = mid - stageHeight
		b.one(c, x, b.before, quiet, mid-stageHeight, mid)
	} else {
		low = mid - stageHeight/2
	}
	if len(b.after) > 0 {
		b.one(c, x, b.after, blue, low+stageHeight*vg.Length(boolean(len(b.before) > 0)), low+stageHeight*vg.Length(1+boolean(len(b.before) > 0)))
	}
	if b.bound > 0 {
		boundMark(c, x(b.bound), mid-stageHeight-1, mid+stageHeight+1)
	}
	write(c, textStyle(8, muted), right+8, text.XLeft, middle(sty, mid), fit(textStyle(8, muted), b.words(), 128+profileRight-12))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// one draws a bar and its spread.
func (b *bar) one(c draw.Canvas, x func(float64) vg.Length, times []float64, fill color.NRGBA, y0, y1 vg.Length) {
	fillBox(c, fill, x(0), y0+0.5, x(profiles.Quantile(times, 0.5)), y1-0.5)
	whisker(c, x(profiles.Quantile(times, 0.1)), x(profiles.Quantile(times, 0.9)), (y0+y1)/2)
}

func whisker(c draw.Canvas, x0, x1, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.8}, x0, y, x1, y)
	for _, x := range []vg.Length{x0, x1} {
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.8}, x, y-2, x, y+2)
	}
}

func boundMark(c draw.Canvas, x, y0, y1 vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: black, Width: 1.6}, x, y0, x, y1)
}

// words says the times of a stage.
func (b *bar) words() string {
	label := func(times []float64) string {
		return strings.ReplaceAll(timeLabel3(profiles.Quantile(times, 0.5)), "\u202f", " ")
	}
	switch {
	case len(b.after) == 0:
		return label(b.before) + " before, then gone"
	case len(b.before) == 0:
		return label(b.after)
	}
	text := fmt.Sprintf("%s → %s", label(b.before), label(b.after))
	if b.verdict == profiles.Faster || b.verdict == profiles.Slower {
		text += fmt.Sprintf(", %.2f×", b.ratio)
	} else {
		text += ", alike"
	}
	return text
}

// timeLabel3 is timeLabel with three digits.
func timeLabel3(seconds float64) string {
	if seconds <= 0 {
		return "0"
	}
	return timeLabel(rounded(seconds))
}

// rounded returns a value with three digits.
func rounded(v float64) float64 {
	var r float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.3g", v), "%g", &r)
	return r
}
