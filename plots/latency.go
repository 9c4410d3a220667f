package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Latencies are how long the blocks of a stream took by several routes, beside their deadline.
type Latencies struct {
	Title           string
	About, Caption  []string // facts for the lines below the title and below the panel
	DeadlineSeconds float64
	Of              []Latency
}

// Latency is the distribution of one route. Counts[i] blocks took at most Seconds[i], and more than Seconds[i−1]. Seconds ascend
// and are above 0.
type Latency struct {
	Name, Words string
	Seconds     []float64
	Counts      []int
	Underruns   int
}

func (l *Latency) blocks() (n int) {
	for _, count := range l.Counts {
		n += count
	}
	return n
}

// exceeding returns the points of the curve: at each time, the share of the blocks that take as long or longer.
func (l *Latency) exceeding() (seconds, shares []float64) {
	all := l.blocks()
	left := all
	for i, s := range l.Seconds {
		seconds, shares = append(seconds, s), append(shares, float64(left)/float64(all))
		left -= l.Counts[i]
	}
	return seconds, shares
}

// sentence says what a reader shall see of a route.
func (l *Latency) sentence() string {
	seconds, _ := l.exceeding()
	s := l.Name
	if l.Words != "" {
		s += ", " + l.Words
	}
	s += fmt.Sprintf(": at worst %s", timeLabel(seconds[len(seconds)-1]))
	switch l.Underruns {
	case 0:
		return s + ", always in time"
	case 1:
		return s + fmt.Sprintf(", 1 of %s blocks too late", grouped(l.blocks()))
	}
	return s + fmt.Sprintf(", %s of %s blocks too late", grouped(l.Underruns), grouped(l.blocks()))
}

// routeColors are those of routes, in their order.
var routeColors = []color.NRGBA{vermillion, skyBlue, blue, bluishGreen, reddishPurple, orange, black}

// Sizes of a latency chart, in points.
const (
	latencyWidth = 600
	latencyPanel = 230 // height
	latencyLeft  = 62  // labels of the shares
	latencyKey   = 13  // pitch
)

// LatencyChart returns the chart of latencies: for each route, the share of the blocks that take longer than a time, with both
// axes logarithmic. So a rare long block is as visible as the median. The area behind the deadline is shaded. Routes without
// blocks are left out.
func LatencyChart(l Latencies) *Chart {
	width := vg.Length(latencyWidth - 2*margin)
	var of []Latency
	for _, one := range l.Of {
		if one.blocks() > 0 {
			of = append(of, one)
		}
	}
	about := flow(headStyle, l.About, " · ", width, 2)
	caption := flow(captionStyle, l.Caption, " · ", width, 3)
	bottom := margin + captionPitch*vg.Length(len(caption)) + latencyKey*vg.Length(max(1, len(of))) + 42
	frame := vg.Rectangle{Min: vg.Point{X: latencyLeft, Y: bottom}, Max: vg.Point{X: latencyWidth - margin, Y: bottom + latencyPanel}}
	height := frame.Max.Y + 26 + headPitch*vg.Length(len(about)) + 22 + margin

	low, high, most := l.DeadlineSeconds/10, 1.6*l.DeadlineSeconds, 100
	for i := range of {
		seconds, _ := of[i].exceeding()
		low, high, most = min(low, seconds[0]*0.9), max(high, seconds[len(seconds)-1]*1.15), max(most, of[i].blocks())
	}
	least := math.Pow(10, math.Floor(-math.Log10(float64(most))))
	return &Chart{width: latencyWidth, height: height, paint: func(c draw.Canvas) {
		y := height - margin - 12
		write(c, titleStyle, margin, text.XLeft, y, fit(titleStyle, l.Title, width))
		for _, line := range about {
			y -= headPitch
			write(c, headStyle, margin, text.XLeft, y-3, line)
		}
		write(c, columnStyle, margin, text.XLeft, frame.Max.Y+9, "share of the blocks that take longer")

		panel := newPanel(low, high, least, 1)
		panel.Add(late{l.DeadlineSeconds}, axes{x: timeTicker{most: 12}.Ticks(low, high), y: shareTicks(least)})
		for i := range of {
			panel.Add(stairs{&of[i], routeColors[i%len(routeColors)]})
		}
		panel.Draw(draw.Canvas{Canvas: c, Rectangle: frame})
		write(c, columnStyle, (frame.Min.X+frame.Max.X)/2, text.XCenter, frame.Min.Y-27, "time from when a block is due until it is done")

		y = frame.Min.Y - 44
		for i := range of {
			c.StrokeLine2(draw.LineStyle{Color: routeColors[i%len(routeColors)], Width: 2.2}, margin, y+3, margin+18, y+3)
			write(c, labelStyle, margin+24, text.XLeft, y, fit(labelStyle, of[i].sentence(), width-24))
			y -= latencyKey
		}
		if len(of) == 0 {
			write(c, labelStyle, margin, text.XLeft, y, "no blocks")
		}
		y = margin + captionPitch*vg.Length(len(caption)-1)
		for _, line := range caption {
			write(c, captionStyle, margin, text.XLeft, y, line)
			y -= captionPitch
		}
	}}
}

// shareTicks are the shares from all blocks down to the least.
func shareTicks(least float64) (ticks []plot.Tick) {
	for n := 1; 1/float64(n) >= least*0.99; n *= 10 {
		label := "1 in " + grouped(n)
		if n == 1 {
			label = "all"
		}
		ticks = append(ticks, plot.Tick{Value: 1 / float64(n), Label: label})
	}
	return ticks
}

// late shades the times behind a deadline.
type late struct{ deadline float64 }

// Plot implements plot.Plotter.
func (l late) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	at := x(l.deadline)
	fillBox(c, onWhite(vermillion, 0.12), at, c.Min.Y, c.Max.X, c.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.9}, at, c.Min.Y, at, c.Max.Y+4)
	write(c, columnStyle, c.Max.X, text.XRight, c.Max.Y+9, "too late: the next block is due after "+timeLabel(l.deadline))
}

// stairs draws the curve of a route.
type stairs struct {
	*Latency
	color color.NRGBA
}

// Plot implements plot.Plotter.
func (s stairs) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	seconds, shares := s.exceeding()
	var line []vg.Point
	for i := range seconds {
		if i > 0 {
			line = append(line, vg.Point{X: x(seconds[i-1]), Y: y(shares[i])})
		}
		line = append(line, vg.Point{X: x(seconds[i]), Y: y(shares[i])})
	}
	c.StrokeLines(draw.LineStyle{Color: s.color, Width: 1.8}, line)
	c.DrawGlyph(draw.GlyphStyle{Color: s.color, Radius: 2.2, Shape: draw.CircleGlyph{}}, line[len(line)-1])
}
