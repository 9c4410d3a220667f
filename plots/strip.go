package plots

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The strip says which implementation is chosen where. It has a box for each span, in the colour of the choice. The box has
// the name of the choice and, below, how many times as long the next best one takes at some measured sizes.
const (
	nameHeight  = 14
	worthHeight = 11 // added if the strip has worths
	worthApart  = 8
	worthTitle  = "the next best takes"
)

// strip is the layout of a strip.
type strip struct {
	bottom, top vg.Length
	boxes       []stripBox // one for each span
	worths      []worthLabel
	pale        bool
}

type stripBox struct{ left, right vg.Length }

// part returns the part of the box between two X coordinates, at least least wide if the box is that wide.
func (b stripBox) part(from, to, least vg.Length) (left, right vg.Length) {
	half := min(max(to-from, least), b.right-b.left) / 2
	mid := min(max((from+to)/2, b.left+half), b.right-half)
	return mid - half, mid + half
}

// worthLabel is the written worth of a choice.
type worthLabel struct {
	number
	implementation string
}

// number is a text with its place.
type number struct {
	text string
	x    vg.Length // its middle
}

// layStrip lays out the strip of spans above bottom. x returns the X coordinate of a size.
func layStrip(spans []span, worths [][]worth, x func(size float64) vg.Length, bottom vg.Length) strip {
	s := strip{bottom: bottom, top: bottom + nameHeight}
	for _, span := range spans {
		box := stripBox{x(span.from), x(span.to)}
		if len(spans) == 1 && span.from == span.to { // a single size: wide enough for a name
			box.left, box.right = box.left-40, box.right+40
		}
		box.right = max(box.right, box.left+1.5) // so that a segment of one size is visible
		s.boxes = append(s.boxes, box)
	}
	for n, box := range s.boxes {
		for _, label := range layWorths(worths[n], box, x) {
			s.worths = append(s.worths, worthLabel{label, spans[n].implementation})
		}
	}
	if len(s.worths) > 0 {
		s.top += worthHeight
	}
	return s
}

// layWorths places the worths of a span in its middle and at its ends, if there is room for them.
func layWorths(worths []worth, box stripBox, x func(size float64) vg.Length) []number {
	var labels []number
	for _, k := range middleAndEnds(len(worths)) {
		label := number{text: times(worths[k].ratio)}
		half := numberStyle.Width(label.text) / 2
		left, right := box.left+2+half, box.right-2-half
		if left > right {
			continue
		}
		label.x = min(max(x(worths[k].size), left), right)
		if !slices.ContainsFunc(labels, func(other number) bool {
			apart := half + numberStyle.Width(other.text)/2 + worthApart
			return math.Abs(float64(label.x-other.x)) < float64(apart)
		}) {
			labels = append(labels, label)
		}
	}
	return labels
}

// middleAndEnds returns the middle index of count values, the last, and the first.
func middleAndEnds(count int) []int {
	switch count {
	case 0:
		return nil
	case 1:
		return []int{0}
	case 2:
		return []int{1, 0}
	}
	return []int{count / 2, count - 1, 0}
}

// paint draws the strip between the edges of a panel's frame.
func (s *strip) paint(c draw.Canvas, spans []span, styles map[string]style, frame vg.Rectangle) {
	if len(spans) == 0 {
		fillBox(c, faint, frame.Min.X, s.bottom, frame.Max.X, s.top)
		write(c, axisStyle, (frame.Min.X+frame.Max.X)/2, text.XCenter, middle(axisStyle, (s.bottom+s.top)/2), "nothing is chosen")
	}
	for n, span := range spans {
		box, fill := s.boxes[n], styles[span.implementation].color
		if s.pale {
			fill = onWhite(fill, foreseenOpacity)
		}
		drawSpan(c, numberStyle, span, fill, box.left, s.bottom, box.right, s.top, s.top-nameHeight/2)
	}
	for _, label := range s.worths {
		sty := numberStyle
		sty.Color = readableOn(styles[label.implementation].color)
		write(c, sty, label.x, text.XCenter, s.bottom+4, label.text)
	}
}

// paintStrip draws the strip, the thresholds above it, and the doubts and intervals below.
func (f *caseFigure) paintStrip(c draw.Canvas) {
	s := &f.strip
	s.paint(c, f.spans, f.styles, f.upperFrame)
	if len(s.worths) > 0 {
		write(c, asideStyle, f.upperFrame.Max.X+6, text.XLeft, s.bottom+4, worthTitle)
	}
	paintDoubts(c, f.spans, s, f.styles, f.doubtBar, f.across())
	for _, i := range f.intervals {
		drawWhisker(c, i.at, i.low, i.high, i.y-2, i.y+2, i.y)
	}
	for _, n := range f.thresholds {
		write(c, numberStyle, n.x, text.XCenter, s.top+7, n.text)
	}
	write(c, axisStyle, margin, text.XLeft, s.top+7, f.of(timeTitle))
}

// paintDoubts draws the doubts of spans below their strip, each inside its span. x returns the X coordinate of a size.
func paintDoubts(c draw.Canvas, spans []span, s *strip, styles map[string]style, bottom vg.Length, x func(size float64) vg.Length) {
	for n, span := range spans {
		for _, d := range span.doubts {
			left, right := s.boxes[n].part(x(d.from), x(d.to), doubtLeast)
			drawDoubt(c, styles[d.implementation].color, d.tie, left, bottom, right, bottom+doubtHeight)
		}
	}
}

// drawSpan draws a box in an implementation's colour, with the name at the height mid, and underlined if a GPU computes. If
// the name does not fit, drawSpan writes the part behind its slash, if that fits.
func drawSpan(c draw.Canvas, sty draw.TextStyle, s span, fill color.NRGBA, x0, y0, x1, y1, mid vg.Length) {
	fillBox(c, fill, x0, y0, x1, y1)
	if s.onGPU {
		fillBox(c, ink, x0, y0, x1, y0+sole)
	}
	sty.Color = readableOn(fill)
	name := oneLine(s.implementation)
	_, algorithm, _ := strings.Cut(name, "/")
	for _, label := range []string{name, algorithm} {
		if len(label) < 100 && sty.Width(label)+6 <= x1-x0 {
			write(c, sty, (x0+x1)/2, text.XCenter, middle(sty, mid), label)
			return
		}
	}
}

// gpuKey explains the dark line below names of GPU implementations.
func gpuKey() keyEntry {
	return keyEntry{"computed on the GPU", 16, func(c draw.Canvas, left, mid vg.Length) {
		drawSpan(c, keyStyle, span{onGPU: true}, quiet, left, mid-5, left+16, mid+5, mid)
	}}
}
