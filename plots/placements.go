package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
	"crossover/thresholds"
)

// Placed is a case along the same line of shapes as another one, with the data of its calls elsewhere, and its runs.
type Placed struct {
	Case *calibration.Case
	Runs []Run
}

// placements are the words at the ends of names of cases. The first one has no word.
var placements = []string{"caller", "shared", "resident"}

// cutPlacement returns the name of a case without its placement, and the placement.
func cutPlacement(name string) (line, placement string) {
	for _, p := range placements[1:] {
		for _, separator := range []string{",", "/"} {
			if line, found := strings.CutSuffix(name, separator+p); found {
				return line, p
			}
		}
	}
	return name, placements[0]
}

// linesOf returns the indices of cases that are along the same line of shapes and differ in their placement. Lines are in
// the order of their first cases. In a line, ordinary slices come first, then shared and resident data.
func linesOf(cases []calibration.Case) [][]int {
	type key struct{ operation, line, axis string }
	at := map[key]int{}
	var lines [][]int
	for i := range cases {
		c := &cases[i]
		line, placement := cutPlacement(c.Name)
		k := key{c.Operation, line, c.Axis.Name}
		n, have := at[k]
		twice := have && slices.ContainsFunc(lines[n], func(other int) bool {
			_, p := cutPlacement(cases[other].Name)
			return p == placement
		})
		if !have || twice {
			at[k] = len(lines)
			lines = append(lines, []int{i})
			continue
		}
		lines[n] = append(lines[n], i)
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b int) int {
			_, p := cutPlacement(cases[a].Name)
			_, q := cutPlacement(cases[b].Name)
			return slices.Index(placements, p) - slices.Index(placements, q)
		})
	}
	return lines
}

// Sizes of the part about another placement, in points.
const (
	placedGap   = 11 // above it
	placedPitch = 13 // between the lines of its words
)

var (
	placedStyle = boldStyle(9.5, ink)
	placedWords = textStyle(9.5, ink)
)

// placed is the part of a chart about another placement: its choices in words, and a strip with thresholds, intervals and
// doubts below the panels.
type placed struct {
	of        *calibration.Case
	name      string
	mark      string // behind the name; "" if the case is not degraded
	phrases   []phrase
	words     []chip
	indent    vg.Length // of the words, behind the name
	lines     int       // of the words
	spans     []span
	foreseen  bool // whether the spans are predicted beside a single measured size
	worths    [][]worth
	earlier   []float64
	regret    []string
	top       vg.Length // baseline of the first words
	strip     strip
	intervals []interval
	doubtBar  vg.Length // its lower edge
	bottom    vg.Length
}

// newPlaced returns the part about a case of a host, without places. base is the case of the panels.
func newPlaced(h *calibration.Host, base *calibration.Case, of Placed) *placed {
	p := &placed{of: of.Case, spans: spansOf(of.Case), phrases: headline(of.Case), earlier: earlierThresholds(of.Runs)}
	_, p.name = cutPlacement(of.Case.Name)
	summary := thresholds.Summarise(samplesOf(of.Runs)...)
	p.worths = worthsOf(p.spans, &summary)
	if regret := regretOf(of.Case); regret != "" && len(p.spans) > 0 {
		p.regret = append(p.regret, "regret "+regret)
		if r := of.Case.Regret; r != nil && r.Upper != nil {
			p.regret = append(p.regret, "(95\u00a0% below "+percent(*r.Upper)+")")
		}
	}
	p.foresee(foreseen(h, of.Case, base))
	return p
}

// foresee takes predicted choices for those of a single size, if there are some. o is the operation whose surface predicts them.
func (p *placed) foresee(spans []span, o *calibration.Operation) {
	if len(spans) == 0 {
		return
	}
	p.spans, p.foreseen, p.worths = spans, true, make([][]worth, len(spans))
	p.phrases, p.regret = nil, nil
	for n, s := range spans {
		words := s.implementation
		if n > 0 {
			words += " from about " + grouped(int(math.Round(s.from)))
		}
		p.phrases = append(p.phrases, phrase{s.implementation, words})
	}
	shapes := len(o.Surface.Shapes) / len(o.Axes)
	p.phrases = append(p.phrases, phrase{"", fmt.Sprintf("predicted from %s shapes: one size was measured", grouped(shapes))})
	if held := &o.HeldOut; held.Shapes > 0 {
		p.regret = []string{
			"at held-out shapes: regret", percent(held.Regret) + " (95\u00a0% below " + percent(held.RegretUpper) + ")",
		}
	}
}

// lay places the part above a bottom and returns its top. x returns the X coordinate of a size.
func (p *placed) lay(bottom vg.Length, x func(size float64) vg.Length) vg.Length {
	p.bottom = bottom
	if len(p.earlier) > 0 {
		bottom += triangleHeight + 1
	}
	p.intervals, bottom = layIntervals(p.spans, x, bottom)
	if slices.ContainsFunc(p.spans, func(s span) bool { return len(s.doubts) > 0 }) {
		p.doubtBar = bottom + stripGap
		bottom = p.doubtBar + doubtHeight
	}
	p.strip = layStrip(p.spans, p.worths, x, bottom+stripGap)
	p.strip.pale = p.foreseen
	p.top = p.strip.top + 5 + placedPitch*vg.Length(p.lines-1)
	return p.top + 8 + placedGap
}

// layWords sets the words behind the name into lines of a width.
func (p *placed) layWords(width vg.Length) {
	p.indent = placedStyle.Width(p.name) + 9
	if p.mark != "" {
		p.indent += unitDoubtStyle.Width(p.mark) + 9
	}
	p.words, p.lines = flowChips(placedWords, p.phrases, width-p.indent, 3)
}

// paint draws the part. x returns the X coordinate of a size, and frame is that of the panel above.
func (p *placed) paint(c draw.Canvas, styles map[string]style, frame vg.Rectangle, x func(size float64) vg.Length) {
	write(c, placedStyle, margin, text.XLeft, p.top, p.name)
	write(c, unitDoubtStyle, margin+placedStyle.Width(p.name)+9, text.XLeft, p.top, p.mark)
	drawChips(c, placedWords, p.words, styles, margin+p.indent, p.top, placedPitch)
	p.strip.paint(c, p.spans, styles, frame)
	paintDoubts(c, p.spans, &p.strip, styles, p.doubtBar, x)
	for _, i := range p.intervals {
		drawWhisker(c, i.at, i.low, i.high, i.y-2, i.y+2, i.y)
	}
	for _, size := range p.earlier {
		if at := x(size); at >= frame.Min.X && at <= frame.Max.X {
			drawTriangle(c, at, p.bottom)
		}
	}
	for i, line := range p.regret {
		write(c, numberStyle, frame.Max.X+6, text.XLeft, p.strip.top-8-11*vg.Length(i), line)
	}
}

// placedFacts says where the data of each placement on a chart lie.
func placedFacts(names []string) []string {
	where := map[string]string{
		"caller": "data in any Go slice", "shared": "data in memory from Alloc, which a GPU reaches without a copy by the processor",
		"resident": "data in the GPU's own memory",
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, name+": "+where[name])
	}
	return parts
}

// placedDoubts lists the doubts of the cases of a chart. A doubt that is not about all of them begins with their placements.
func placedDoubts(cases []*calibration.Case) []string {
	var order []string
	about := map[string][]string{}
	for _, c := range cases {
		_, placement := cutPlacement(c.Name)
		for _, doubt := range doubts(c) {
			if about[doubt] == nil {
				order = append(order, doubt)
			}
			if !slices.Contains(about[doubt], placement) {
				about[doubt] = append(about[doubt], placement)
			}
		}
	}
	for i, doubt := range order {
		if len(about[doubt]) < len(cases) {
			order[i] = strings.Join(about[doubt], ", ") + ": " + doubt
		}
	}
	return order
}
