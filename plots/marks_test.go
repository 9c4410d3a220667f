package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"crossover/calibration"
	"crossover/thresholds"
)

// counts returns how often a chart has each text.
func (d drawing) counts() map[string]int {
	counts := map[string]int{}
	for _, drawn := range d.texts {
		counts[plain(drawn.text)]++
	}
	return counts
}

// keyWords returns the words of a figure's key.
func keyWords(places []keyPlace) string {
	var words []string
	for _, p := range places {
		words = append(words, plain(p.text))
	}
	return strings.Join(words, "; ")
}

// A key explains the marks of its chart, and no others.
func TestKeys(t *testing.T) {
	h, runs := everything()
	want := "threshold and its 95 % interval (single run: assumes 1.5 % between runs); " +
		"go-parallel/direct may be faster there: it depends on the state of the machine; cuda/partitioned is as fast there: a tie; " +
		"computed on the GPU; slower than 3×; not timed beyond; not timed there; threshold of an earlier run; " +
		"the main run, and others (lines: all runs)"
	if got := keyWords(newCaseFigure(h, &h.Cases[0], runs).key); got != want {
		t.Errorf("the key of every mark is\n%s, want\n%s", got, want)
	}
	want = "threshold and its 95 % interval (single run: assumes 1.5 % between runs); fastest at each measured size; " +
		"computed on the GPU; shades of a colour: variants; another may be as fast or faster"
	if got := keyWords(newOverviewFigure(h, page{cases: h.Cases}, map[string][]Run{h.Cases[0].Name: runs}).key); got != want {
		t.Errorf("the overview's key of every mark is\n%s, want\n%s", got, want)
	}
	for e, want := range map[*experiment]string{
		&tie: "", &noCrossover: "slower than 3×", &twoThresholds: "threshold and its 95 % interval; slower than 3×",
	} {
		h, runs := testHost(*e)
		if got := keyWords(newCaseFigure(h, &h.Cases[0], runs[e.name]).key); got != want {
			t.Errorf("the key of %s is %q, want %q", e.name, got, want)
		}
	}
}

// Entries that do not fit into a key are left out, and none is wider than the key.
func TestFlowKey(t *testing.T) {
	var entries []keyEntry
	for i := range 40 {
		entries = append(entries, keyEntry{text: fmt.Sprint("entry ", i, strings.Repeat(" and more", i)), width: 12})
	}
	places, lines := flowKey(entries, 300)
	if lines != keyMost || len(places) == 0 || len(places) == len(entries) {
		t.Fatalf("%d entries in %d lines", len(places), lines)
	}
	for i, p := range places {
		if p.x+p.width+keyGap+keyStyle.Width(p.text) > 300 || p.line >= keyMost {
			t.Errorf("%q is at %v of line %d", p.text, p.x, p.line)
		}
		if i > 0 && p.line == places[i-1].line && p.x < places[i-1].x+places[i-1].width {
			t.Errorf("%q lies on %q", p.text, places[i-1].text)
		}
	}
	if places, lines := flowKey(nil, 300); len(places) != 0 || lines != 0 {
		t.Errorf("%d entries in %d lines of nothing", len(places), lines)
	}
}

// The key names the assumption of a single run once. With several runs it names none.
func TestAssumptionsAreSaidOnce(t *testing.T) {
	for _, assumed := range []float64{0, 0.015} {
		h, runs := testHost(twoThresholds)
		for k := range h.Cases[0].Segments[1:] {
			h.Cases[0].Segments[k+1].Interval.AssumedBetweenRuns = assumed
		}
		for name, chart := range map[string]*Chart{"case": CaseChart(h, &h.Cases[0], runs[twoThresholds.name]), "overview": Overview(h, runs)} {
			said := 0
			for _, drawn := range list(chart).texts {
				said += strings.Count(plain(drawn.text), "assumes 1.5 % between runs")
			}
			if want := map[bool]int{true: 1}[assumed > 0]; said != want {
				t.Errorf("%s: %v between runs is said %d times, want %d", name, assumed, said, want)
			}
		}
	}
}

// An arrow is at each place where a curve leaves the panel of slowdowns, and nowhere else. It has the colour and the
// direction of the curve.
func TestArrows(t *testing.T) {
	h, runs := exact()
	f := newCaseFigure(h, &h.Cases[0], runs)
	d := list(CaseChart(h, &h.Cases[0], runs))
	at := d.scale(t, "1", "64", 1, 64)
	top := f.lowerFrame.Max.Y
	heads := func(name string) []vg.Rectangle {
		var all []vg.Rectangle
		for _, s := range d.shapes {
			if !s.stroke && s.color == f.styles[name].color && s.box.Min.Y > top-arrowHalf && s.box.Max.Y > top+4 && s.box.Max.Y <= top+arrowLength+0.01 {
				all = append(all, s.box)
			}
		}
		return all
	}
	// The slowdown of a is n/8, so it is 3 at 24. The line between 16 and 32, from 2 to 4, is at 3 after ln 1.5 of ln 2.
	crossing := at(16 * math.Pow(2, math.Log(1.5)/math.Log(2)))
	if got := heads("a"); len(got) != 1 || got[0].Min.X > crossing || got[0].Max.X < crossing || got[0].Max.X-crossing < crossing-got[0].Min.X {
		t.Errorf("arrows of a: %v, want one to the right from %v", got, crossing)
	}
	// The slowdown of b is 8/n: from 4 at 2 down to 2 at 4.
	crossing = at(2 * math.Pow(2, math.Log(4/3.0)/math.Log(2)))
	if got := heads("b"); len(got) != 1 || got[0].Min.X > crossing || got[0].Max.X < crossing || got[0].Max.X-crossing > crossing-got[0].Min.X {
		t.Errorf("arrows of b: %v, want one to the left from %v", got, crossing)
	}
	if got := heads("c"); len(got) != 0 {
		t.Errorf("arrows of c, which is never in the panel: %v", got)
	}
	if title := d.find(t, slowdownTitle); title.Min.Y < top+arrowLength {
		t.Errorf("the title is at %v, and arrows reach %v", title, top+arrowLength)
	}
}

func TestArrowsOf(t *testing.T) {
	for name, c := range map[string]struct {
		points []vg.Point
		feet   []vg.Length
	}{
		"never inside":     {[]vg.Point{{X: 0, Y: 30}, {X: 10, Y: 20}}, nil},
		"never outside":    {[]vg.Point{{X: 0, Y: 3}, {X: 10, Y: 10}}, nil},
		"out":              {[]vg.Point{{X: 0, Y: 0}, {X: 10, Y: 20}}, []vg.Length{5}},
		"in":               {[]vg.Point{{X: 0, Y: 20}, {X: 10, Y: 0}}, []vg.Length{5}},
		"out, in, and out": {[]vg.Point{{X: 0, Y: 0}, {X: 10, Y: 20}, {X: 20, Y: 0}, {X: 30, Y: 40}}, []vg.Length{5, 15, 22.5}},
		"almost level":     {[]vg.Point{{X: 0, Y: 9.999}, {X: 100, Y: 10.001}}, []vg.Length{50}},
	} {
		t.Run(name, func(t *testing.T) {
			arrows := arrowsOf(c.points, 10)
			if len(arrows) != len(c.feet) {
				t.Fatalf("%d arrows, want %d", len(arrows), len(c.feet))
			}
			for i, a := range arrows {
				along := a.tip.Sub(a.foot)
				if math.Abs(float64(a.foot.X-c.feet[i])) > 1e-6 || a.foot.Y != 10 || along.Y < steepest*arrowLength-1e-6 {
					t.Errorf("an arrow from %v to %v, want one from %v", a.foot, a.tip, c.feet[i])
				}
			}
		})
	}
	if leaves(plotter.XYs{{X: 1, Y: 4}, {X: 2, Y: 5}}, 3) || !leaves(plotter.XYs{{X: 1, Y: 4}, {X: 2, Y: 2}}, 3) {
		t.Error("a key has arrows where the panel has none, or the other way round")
	}
}

// Intervals of any width cover no part of the curves.
func TestWideIntervalsLeaveThePanelsAlone(t *testing.T) {
	h, runs := testHost(twoThresholds)
	c := &h.Cases[0]
	narrow := list(CaseChart(h, c, runs[c.Name]))
	for k := range c.Segments[1:] {
		c.Segments[k+1].Interval.Low, c.Segments[k+1].Interval.High = 64, 1<<20
	}
	f := newCaseFigure(h, c, runs[c.Name])
	wide := list(CaseChart(h, c, runs[c.Name]))
	within := func(s drawnShape) bool {
		return s.box.Min.Y < f.upperFrame.Max.Y && s.box.Max.Y > f.lowerFrame.Min.Y && s.box.Max.X-s.box.Min.X > 50
	}
	// The frames of both charts have the same height and the same bottom.
	if a, b := narrow.count(within), wide.count(within); a != b {
		t.Errorf("%d broad shapes in the panels, and %d with wide intervals", a, b)
	}
	full := f.upperFrame.Max.X - f.upperFrame.Min.X
	rows := map[vg.Length]bool{}
	for _, i := range f.intervals {
		rows[i.y] = true
		if i.y <= f.upperFrame.Max.Y || i.y >= f.strip.bottom || i.high-i.low < 0.9*full {
			t.Errorf("an interval from %v to %v at %v, want one above the panel and below the strip", i.low, i.high, i.y)
		}
	}
	if len(rows) != 2 {
		t.Errorf("two intervals that lie on one another are in %d rows", len(rows))
	}
}

func TestLayIntervals(t *testing.T) {
	x := func(size float64) vg.Length { return vg.Length(size) }
	rows := func(spans ...span) (rows []int) {
		all, top := layIntervals(spans, x, 100)
		for _, i := range all {
			rows = append(rows, int((i.y-100)/intervalPitch))
			if i.y > top {
				t.Errorf("an interval at %v above %v", i.y, top)
			}
		}
		return rows
	}
	for name, c := range map[string]struct {
		spans []span
		want  []int
	}{
		"none":                   {[]span{{from: 1}}, nil},
		"apart":                  {[]span{{from: 10, low: 5, high: 20}, {from: 40, low: 30, high: 50}}, []int{0, 0}},
		"touching":               {[]span{{from: 10, low: 5, high: 28}, {from: 40, low: 30, high: 50}}, []int{0, 1}},
		"the third fits again":   {[]span{{from: 10, low: 5, high: 35}, {from: 40, low: 30, high: 50}, {from: 60, low: 45, high: 70}}, []int{0, 1, 0}},
		"too many for the rows":  {[]span{{from: 10, low: 5, high: 90}, {from: 20, low: 5, high: 90}, {from: 30, low: 5, high: 90}, {from: 40, low: 5, high: 90}}, []int{0, 1, 2, 2}},
		"off its own interval":   {[]span{{from: 100, low: 5, high: 20}, {from: 110, low: 101, high: 120}}, []int{0, 1}},
		"one without in between": {[]span{{from: 10, low: 5, high: 20}, {from: 25}, {from: 40, low: 30, high: 50}}, []int{0, 0}},
	} {
		if got := rows(c.spans...); !slices.Equal(got, c.want) {
			t.Errorf("%s: rows %v, want %v", name, got, c.want)
		}
	}
}

// The worth of a choice is the next best one's time divided by its own, at measured sizes only.
func TestWorths(t *testing.T) {
	h, runs := exact()
	c := &h.Cases[0]
	summary := thresholds.Summarise(samplesOf(runs)...)
	worths := worthsOf(spansOf(c), &summary)
	want := [][]worth{{{1, 8}, {2, 4}, {4, 2}}, {{8, 1}, {16, 2}, {32, 4}, {64, 8}}}
	for n := range want {
		if len(worths[n]) != len(want[n]) {
			t.Fatalf("worths %v, want %v", worths, want)
		}
		for k, w := range worths[n] {
			if w.size != want[n][k].size || math.Abs(w.ratio-want[n][k].ratio) > 1e-6 {
				t.Errorf("worth %v, want %v", w, want[n][k])
			}
		}
	}
	// A choice that loses has a worth below 1. A choice without a time, or without another implementation beside it, has
	// none.
	c.Segments = []calibration.Segment{{From: 1, To: 64, Implementation: "b"}}
	without(runs[0].Samples, "b", func(size int) bool { return size == 2 })
	for _, name := range []string{"a", "c"} {
		without(runs[0].Samples, name, func(size int) bool { return size == 64 })
	}
	got := ""
	summary = thresholds.Summarise(samplesOf(runs)...)
	for _, w := range worthsOf(spansOf(c), &summary)[0] {
		got += fmt.Sprintf("{%v %.3g} ", w.size, w.ratio)
	}
	if got != "{1 0.125} {4 0.5} {8 1} {16 2} {32 4} " {
		t.Errorf("worths %v", got)
	}
}

// The strip has worths in the middle and at the ends of a span, at the right coordinates.
func TestWorthsAreInPlace(t *testing.T) {
	h, runs := exact()
	d := list(CaseChart(h, &h.Cases[0], runs))
	at := d.scale(t, "1", "64", 1, 64)
	f := newCaseFigure(h, &h.Cases[0], runs)
	for size, want := range map[float64]string{1: "8.0×", 2: "4.0×", 4: "2.0×", 8: "1.00×", 32: "4.0×", 64: "8.0×", 16: ""} {
		var got []string
		for _, label := range f.strip.worths {
			if math.Abs(float64(label.x-at(size))) < 14 {
				got = append(got, label.text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %v the strip has %q, want %q", size, got, want)
		}
	}
	d.find(t, worthTitle)
	for _, label := range f.strip.worths {
		for _, drawn := range d.texts {
			if drawn.text == label.text && near((drawn.box.Min.X+drawn.box.Max.X)/2, label.x) &&
				drawn.box.Min.Y > f.strip.bottom && drawn.box.Max.Y < f.strip.top-nameHeight/2 {
				goto found
			}
		}
		t.Errorf("%s is not drawn in the strip", label.text)
	found:
	}
	if n := list(CaseChart(h, &h.Cases[0], nil)).counts()[worthTitle]; n != 0 {
		t.Error("a chart without samples has a title of worths")
	}
}

func TestTimes(t *testing.T) {
	for ratio, want := range map[float64]string{
		0.8: "0.80×", 0.996: "1.00×", 1: "1.00×", 1.04: "1.04×", 1.094: "1.09×", 1.096: "1.1×", 3.24: "3.2×", 9.94: "9.9×", 9.96: "10×",
		41.4: "41×", 9999.4: "9999×", 12345: ">9999×", 0.001: "0.00×",
	} {
		if got := times(ratio); got != want {
			t.Errorf("times(%v) = %q, want %q", ratio, got, want)
		}
	}
}

// Sizes at which an implementation was not timed are marked.
func TestAbsence(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(size int) bool
		words string
		want  absence
	}{
		"nowhere":      {func(size int) bool { return false }, "", absence{make([]bool, 7), false, false}},
		"above":        {func(size int) bool { return size > 8 }, "up to 8", absence{make([]bool, 4), false, true}},
		"below":        {func(size int) bool { return size < 8 }, "from 8", absence{make([]bool, 4), true, false}},
		"on each side": {func(size int) bool { return size < 4 || size > 16 }, "4 to 16", absence{make([]bool, 3), true, true}},
		"but one":      {func(size int) bool { return size != 4 }, "at 4", absence{make([]bool, 1), true, true}},
		"in between": {func(size int) bool { return size == 4 || size == 8 }, "",
			absence{[]bool{false, false, true, false, false}, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			h, runs := exact()
			without(runs[0].Samples, "c", c.leave)
			f := newCaseFigure(h, &h.Cases[0], runs)
			d := list(CaseChart(h, &h.Cases[0], runs))
			for _, curve := range f.curves {
				want, words := c.want, c.words
				if curve.name != "c" {
					want, words = absence{make([]bool, 7), false, false}, ""
				}
				if curve.below != want.below || curve.above != want.above || !slices.Equal(curve.gaps, want.gaps) || curve.timedFrom() != words {
					t.Errorf("%s: %+v, %q", curve.name, curve.absence, curve.timedFrom())
				}
			}
			if c.words != "" {
				d.find(t, c.words)
			}
			// The bar at an end of the line, counted in the upper panel only: the lower panel ends far below.
			bars := d.count(func(s drawnShape) bool {
				return s.stroke && s.color == f.styles["c"].color && s.box.Min.X == s.box.Max.X && near(s.box.Max.Y-s.box.Min.Y, 10)
			})
			if want := strings.Count(fmt.Sprint(c.want.below, c.want.above), "true"); bars != want {
				t.Errorf("%d bars, want %d", bars, want)
			}
		})
	}
}

// An implementation that was never timed has a label and no line.
func TestNeverTimed(t *testing.T) {
	h, runs := exact()
	c := &h.Cases[0]
	c.Implementations = append(c.Implementations,
		calibration.Implementation{Name: "wrong", Excluded: "computes NaN"},
		calibration.Implementation{Name: "lost", Excluded: "no device"},
		calibration.Implementation{Name: "missing", Excluded: "no device"})
	c.Implementations[0].Excluded = "wrong in this run, and timed in another"
	if got := strings.Join(newCaseFigure(h, c, runs).never, " "); got != "wrong lost missing" {
		t.Errorf("%q was never timed", got)
	}
	said := list(CaseChart(h, c, runs)).counts()
	for _, name := range []string{"wrong", "lost", "missing", "lost, missing excluded: no device"} {
		if said[name] != 1 {
			t.Errorf("%q is there %d times", name, said[name])
		}
	}
	if said["not timed"] != 3 {
		t.Errorf("%d labels say so, want 3", said["not timed"])
	}
}

// The thresholds of earlier runs are on the axis, and those of the newest run are not.
func TestEarlierThresholds(t *testing.T) {
	h, runs := exact()
	runs[0].Thresholds = []int{32}
	again := runs[0].Samples
	runs = append(runs, Run{again, []int{16, 2}}, Run{again, []int{16, 0, -5, math.MaxInt}}, Run{nil, nil})
	if got, want := earlierThresholds(runs), []float64{2, 16}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	d := list(CaseChart(h, &h.Cases[0], runs))
	at := d.scale(t, "1", "64", 1, 64)
	f := newCaseFigure(h, &h.Cases[0], runs)
	for size, want := range map[float64]int{2: 1, 16: 1, 32: 0, 8: 0} {
		if got := d.count(func(s drawnShape) bool {
			return !s.stroke && s.color == earlierInk && near((s.box.Min.X+s.box.Max.X)/2, at(size)) && near(s.box.Min.Y, f.lowerFrame.Min.Y)
		}); got != want {
			t.Errorf("%d marks at %v, want %d", got, size, want)
		}
	}
}

// Values of single runs are drawn as points. Those of earlier runs are fainter than those of the newest.
func TestEarlierRuns(t *testing.T) {
	h, runs := exact()
	slower := experiment{from: 1, to: 64, costs: []cost{{"a", 0, 2e-6, 1}, {"b", 16e-6, 0, 1}, {"c", 4e-3, 0, 1}}}
	runs = append(runs, Run{Samples: smooth(slower)})
	f := newCaseFigure(h, &h.Cases[0], runs)
	for _, c := range f.curves {
		if len(c.newest.blocks) != 7 || len(c.earlier.blocks) != 7 || len(c.newest.slowdown) != 7 || len(c.earlier.slowdown) != 7 {
			t.Fatalf("%s has the points %v and %v", c.name, c.newest, c.earlier)
		}
		for k := range c.times {
			if newest, earlier := c.newest.blocks[k].Y, c.earlier.blocks[k].Y; newest >= earlier {
				t.Errorf("%s at %v: %v of the newest, %v before", c.name, c.times[k].X, newest, earlier)
			}
		}
	}
	faint := func(runs []Run, glyph func(color.NRGBA) color.Color) int {
		return list(CaseChart(h, &h.Cases[0], runs)).count(func(s drawnShape) bool { return !s.stroke && s.color == glyph(f.styles["a"].color) })
	}
	newest := func(c color.NRGBA) color.Color { return newestGlyph(c).Color }
	earlier := func(c color.NRGBA) color.Color { return earlierGlyph(c).Color }
	if newest(ink).(color.NRGBA).R >= earlier(ink).(color.NRGBA).R {
		t.Error("earlier runs are not fainter")
	}
	// There are seven blocks above. Of the seven slowdowns below, those at 1 to 16 are inside the panel.
	if a, b := faint(runs, newest), faint(runs, earlier); a != 12 || b != 12 {
		t.Errorf("%d points of the newest run and %d of the one before, want 12 of each", a, b)
	}
	if a, b := faint(runs[:1], newest), faint(runs[:1], earlier); a != 7 || b != 0 {
		t.Errorf("%d points of a single run and %d of ones before, want 7 and 0", a, b)
	}
}

// Doubts lie below their part of the strip, in the colour of the implementation that may be faster.
func TestDoubtsAreInPlace(t *testing.T) {
	h, runs := exact()
	c := &h.Cases[0]
	c.Segments[0].Doubts = []calibration.Doubt{{From: 1, To: 4, Implementation: "b"}}
	c.Segments[1].Doubts = []calibration.Doubt{{From: 64, To: 64, Implementation: "c", Tie: true}, {From: 9, To: 3, Implementation: "a"}}
	f := newCaseFigure(h, c, runs)
	d := list(CaseChart(h, c, runs))
	at := d.scale(t, "1", "64", 1, 64)
	covered := func(clr color.Color, low, high vg.Length) (boxes []vg.Rectangle) {
		for _, s := range d.shapes {
			if !s.stroke && s.color == clr && s.box.Min.Y > low-0.01 && s.box.Max.Y < high+0.01 {
				boxes = append(boxes, s.box)
			}
		}
		return boxes
	}
	low, high := f.doubtBar, f.doubtBar+doubtHeight
	if low <= f.upperFrame.Max.Y || high >= f.strip.bottom {
		t.Errorf("the bar is from %v to %v, the panel ends at %v and the strip begins at %v", low, high, f.upperFrame.Max.Y, f.strip.bottom)
	}
	ground := covered(onWhite(f.styles["b"].color, 0.25), low, high)
	if len(ground) != 1 || !near(ground[0].Min.X, at(1)) || !near(ground[0].Max.X, at(4)) {
		t.Errorf("the hatched part is %v, want it from %v to %v", ground, at(1), at(4))
	}
	hatches := covered(f.styles["b"].color, low, high)
	for _, box := range hatches {
		if box.Min.X < at(1)-0.01 || box.Max.X > at(4)+0.01 {
			t.Errorf("a hatch from %v to %v", box.Min.X, box.Max.X)
		}
	}
	if len(hatches) < 10 {
		t.Errorf("%d hatches", len(hatches))
	}
	// A tie at one size at the end of the axis is two lines. They are wide enough to be visible and do not go beyond the
	// strip.
	lines := covered(f.styles["c"].color, low, high)
	if len(lines) != 2 || !near(lines[0].Max.X, at(64)) || !near(lines[0].Max.X-lines[0].Min.X, doubtLeast) {
		t.Errorf("the tie is %v, want two lines up to %v", lines, at(64))
	}
	if got := covered(f.styles["a"].color, low, high); len(got) != 0 {
		t.Errorf("a doubt that is upside down is drawn: %v", got)
	}
	for _, want := range []string{"b may be faster there: it depends on the state of the machine", "c is as fast there: a tie"} {
		d.find(t, want)
	}
	// The overview has the doubts around the marks of the sizes.
	o := newOverviewFigure(h, page{cases: h.Cases}, map[string][]Run{c.Name: runs})
	if n := list(Overview(h, nil)).count(func(s drawnShape) bool {
		return !s.stroke && s.color == onWhite(o.styles["b"].color, 0.25) && s.box.Max.Y-s.box.Min.Y == laneDoubt
	}); n != 1 {
		t.Errorf("the overview has %d hatched parts, want 1", n)
	}
}

// Equal runs give equal images.
func TestMarksAreDeterministic(t *testing.T) {
	var images []string
	for range 2 {
		h, runs := everything()
		var b strings.Builder
		for _, chart := range []*Chart{CaseChart(h, &h.Cases[0], runs), Overview(h, map[string][]Run{h.Cases[0].Name: runs})} {
			if _, err := chart.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
		}
		images = append(images, b.String())
	}
	if images[0] != images[1] {
		t.Error("two charts of the same runs differ")
	}
}

// On a chart with all marks, none is cut, and none lies on a text of another.
func TestMarksAreApart(t *testing.T) {
	for _, fault := range list(markedChart()).check() {
		t.Error(fault)
	}
}
