package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/recorder"

	"crossover/calibration"
)

// drawing lists everything that a chart draws.
type drawing struct {
	width, height vg.Length
	texts         []drawnText
	shapes        []drawnShape
	watermark     string
}

// drawnText is one line of text and its box.
type drawnText struct {
	text string
	box  vg.Rectangle
}

// drawnShape is a path that was filled or stroked.
type drawnShape struct {
	stroke bool
	color  color.Color
	width  vg.Length
	box    vg.Rectangle
}

// list runs a chart's drawing and lists it.
func list(c *Chart) drawing {
	var canvas recorder.Canvas
	c.Draw(&canvas)
	d := drawing{width: c.width, height: c.height}
	var clr color.Color
	var width vg.Length
	turned := 0
	for _, action := range canvas.Actions {
		switch a := action.(type) {
		case *recorder.SetColor:
			clr = a.Color
		case *recorder.SetLineWidth:
			width = a.Width
		case *recorder.Push:
			turned++
		case *recorder.Pop:
			turned--
		case *recorder.FillString:
			if turned > 0 { // only the watermark is turned
				d.watermark += a.String
				continue
			}
			face := plot.DefaultTextHandler.Cache().Lookup(a.Font, a.Size)
			// The box holds capitals and descenders, without the room for accents above.
			d.texts = append(d.texts, drawnText{a.String, vg.Rectangle{
				Min: vg.Point{X: a.Point.X, Y: a.Point.Y - 0.2*a.Size},
				Max: vg.Point{X: a.Point.X + face.Width(a.String), Y: a.Point.Y + 0.73*a.Size},
			}})
		case *recorder.Stroke:
			d.shapes = append(d.shapes, drawnShape{true, clr, width, bounds(a.Path)})
		case *recorder.Fill:
			d.shapes = append(d.shapes, drawnShape{false, clr, 0, bounds(a.Path)})
		}
	}
	return d
}

func bounds(path vg.Path) vg.Rectangle {
	inf := vg.Length(math.Inf(1))
	box := vg.Rectangle{Min: vg.Point{X: inf, Y: inf}, Max: vg.Point{X: -inf, Y: -inf}}
	for _, part := range path {
		if part.Type == vg.CloseComp {
			continue
		}
		box.Min.X, box.Min.Y = min(box.Min.X, part.Pos.X-part.Radius), min(box.Min.Y, part.Pos.Y-part.Radius)
		box.Max.X, box.Max.Y = max(box.Max.X, part.Pos.X+part.Radius), max(box.Max.Y, part.Pos.Y+part.Radius)
	}
	return box
}

// find returns the box of a text. The test fails unless the text is drawn exactly once.
func (d drawing) find(t *testing.T, text string) vg.Rectangle {
	t.Helper()
	var found []vg.Rectangle
	for _, drawn := range d.texts {
		if plain(drawn.text) == text {
			found = append(found, drawn.box)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q is drawn %d times, want once", text, len(found))
	}
	return found[0]
}

// plain replaces the spaces that do not break.
func plain(s string) string { return strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(s) }

// check returns which texts are cut by the edge of the chart, or overlap each other.
func (d drawing) check() (faults []string) {
	const edge = 4
	for i, a := range d.texts {
		if !(a.box.Min.X >= edge && a.box.Min.Y >= edge && a.box.Max.X <= d.width-edge && a.box.Max.Y <= d.height-edge) {
			faults = append(faults, fmt.Sprintf("%.60q reaches out of the chart: %v", a.text, a.box))
		}
		for _, b := range d.texts[:i] {
			if a.box.Min.X < b.box.Max.X && b.box.Min.X < a.box.Max.X && a.box.Min.Y < b.box.Max.Y && b.box.Min.Y < a.box.Max.Y {
				faults = append(faults, fmt.Sprintf("%.60q at %v lies on %.60q at %v", a.text, a.box, b.text, b.box))
			}
		}
	}
	for _, s := range d.shapes {
		for _, v := range []vg.Length{s.box.Min.X, s.box.Min.Y, d.width - s.box.Max.X, d.height - s.box.Max.Y} {
			if !(v >= 0) {
				faults = append(faults, fmt.Sprintf("a shape reaches out of the chart: %v", s.box))
				break
			}
		}
	}
	return faults
}

// hostileHost holds texts and numbers that the file format allows and that no calibration writes.
func hostileHost() (*calibration.Host, map[string][]Run) {
	h, runs := testHost(twoThresholds)
	long := strings.Repeat("a very long name of a thing ", 20)
	h.Facts.Chip, h.Environment.Driver, h.Environment.ToolCommit = long, long, long
	h.Simulated = true
	c := &h.Cases[0]
	c.Name, c.Reason, c.Axis.Name = long+"\nwith a second line", long, long
	c.Degraded = true
	c.ExpectedRegret, c.TieBand = math.NaN(), math.Inf(1)
	for i := range 30 {
		c.Warnings = append(c.Warnings, fmt.Sprint(i, long))
		c.Implementations = append(c.Implementations, calibration.Implementation{Name: long, Version: fmt.Sprint(i, long)})
	}
	for i := range c.Segments {
		c.Segments[i].Implementation = fmt.Sprint(i, long)
		for k := range 30 {
			c.Segments[i].Doubts = append(c.Segments[i].Doubts, calibration.Doubt{
				From: 1 << k, To: 2 << k, Implementation: fmt.Sprint(k, long), Tie: k%2 == 0})
		}
	}
	set := runs[twoThresholds.name][0].Samples
	for i := range set.Implementations {
		set.Implementations[i] = fmt.Sprint(i, long)
		without(set, set.Implementations[i], func(size int) bool { return size>>(6+i)%3 == 0 })
	}
	var earlier []int
	for size := range 1000 {
		earlier = append(earlier, 100*size-500)
	}
	return h, map[string][]Run{c.Name: {{Samples: set}, {Samples: set, Thresholds: earlier}}}
}

func TestTextIsWholeAndApart(t *testing.T) {
	charts := map[string]*Chart{
		"overview":            overviewChart(catalogue()...),
		"overview, simulated": nil,
		"overview, empty":     overviewChart(),
		"overview, one case":  overviewChart(oneSize),
		"simulated":           simulated(degraded),
		"no samples":          nil,
		"hostile":             nil,
		"hostile overview":    nil,
	}
	h, runs := testHost(catalogue()...)
	h.Simulated = true
	charts["overview, simulated"] = Overview(h, runs)
	charts["no samples"] = CaseChart(h, &h.Cases[0], nil)
	hostile, hostileSets := hostileHost()
	charts["hostile"] = CaseChart(hostile, &hostile.Cases[0], hostileSets[hostile.Cases[0].Name])
	charts["hostile overview"] = Overview(hostile, hostileSets)
	for _, e := range append(catalogue(), manyImplementations, oneSize) {
		charts[e.name] = caseChart(e)
	}
	for name, chart := range charts {
		t.Run(name, func(t *testing.T) {
			d := list(chart)
			for _, fault := range d.check() {
				t.Error(fault)
			}
			if len(d.texts) < 5 {
				t.Errorf("only %d texts", len(d.texts))
			}
		})
	}
}

// slow returns the chart of an experiment that was measured in low-power mode and in the background.
func slow(e experiment) *Chart {
	h, runs := testHost(e)
	h.Environment.PowerMode, h.Environment.Priority = "low", "background"
	return CaseChart(h, &h.Cases[0], runs[e.name])
}

func TestCaseChartSaysWhatItShows(t *testing.T) {
	for name, c := range map[string]struct {
		chart *Chart
		want  []string
	}{
		"two thresholds": {caseChart(twoThresholds), []string{
			"fft/batch=1", "fftw from 64", "go-parallel from 5 413 (95 % 4 709–6 171)",
			"fftw-parallel from 8 222 (95 % 7 153–9 374)", "5 413", "8 222", "go", "n [samples]", "time per call",
			"slowdown against the best", "tie band 3 %", "of the choices 0.8 %", "64", "1Mi", "10 µs", "1×", "3×",
			"AMD EPYC 9654 · 16 cores · 128 GiB · Debian GNU/Linux 12 (bookworm) · go1.26.0 · on mains · FFTW 3.3.10",
			"crossover 1.0.0 (0123456789ab) · 2026-11-21 12:00 UTC · warm · latency · seed 42 · 180 blocks",
		}},
		"no crossover": {caseChart(noCrossover), []string{"go is taken at every measured size, 64 to 1 048 576: each sample waits for the one before it"}},
		"tie": {caseChart(tie), []string{
			"a tie at every measured size, 1 024 to 16 777 216 (openblas is taken): both are bound by memory", "1.05×",
		}},
		"unresolved": {caseChart(unresolved), []string{
			"unresolved: the interval of the threshold spans the whole axis", "nothing is chosen",
		}},
		"degraded": {caseChart(degraded), []string{
			"DEGRADED: machine was not quiet", "warning: other programs or virtual machines took 62 % of a processor meanwhile",
			"fftw/fft excluded: relative error 3e-04 is above the tolerance of 1e-06",
		}},
		"many":      {caseChart(manyImplementations), []string{"25 others", "columns"}},
		"one size":  {caseChart(oneSize), []string{"go-parallel is taken at 512: only one size was measured", "512"}},
		"two sizes": {caseChart(twoSizes), []string{"only two sizes were measured"}},
		"tiny axis": {caseChart(tinyAxis), []string{"1", "2", "8", "16", "32", "64", "voices"}},
		"simulated": {simulated(tinyAxis), []string{"SIMULATED"}},
		"slow": {slow(twoThresholds), []string{
			"AMD EPYC 9654 · 16 cores · 128 GiB · Debian GNU/Linux 12 (bookworm) · go1.26.0 · on mains · low-power mode · priority background · FFTW 3.3.10",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := list(c.chart)
			for _, want := range c.want {
				if !slices.ContainsFunc(d.texts, func(drawn drawnText) bool { return plain(drawn.text) == want }) {
					t.Errorf("%q is missing", want)
				}
			}
			if marked := d.watermark == "SIMULATED"; marked != (name == "simulated") {
				t.Errorf("watermark %q", d.watermark)
			}
		})
	}
}

// scale returns a function from sizes to X coordinates. It reads the scale from the chart's own axis, by the labels of two
// sizes.
func (d drawing) scale(t *testing.T, low, high string, from, to float64) func(size float64) vg.Length {
	t.Helper()
	left, right := d.find(t, low), d.find(t, high)
	first, last := (left.Min.X+left.Max.X)/2, (right.Min.X+right.Max.X)/2
	return func(size float64) vg.Length {
		return first + (last-first)*vg.Length(math.Log(size/from)/math.Log(to/from))
	}
}

// near reports whether two coordinates are equal up to the rounding of centred labels.
func near(a, b vg.Length) bool { return math.Abs(float64(a-b)) < 0.05 }

// count returns the number of shapes that a test accepts.
func (d drawing) count(test func(s drawnShape) bool) int {
	n := 0
	for _, s := range d.shapes {
		if test(s) {
			n++
		}
	}
	return n
}

// TestThresholdsAreInPlace compares the thresholds of a chart and their intervals with its axis.
func TestThresholdsAreInPlace(t *testing.T) {
	d := list(caseChart(twoThresholds))
	at := d.scale(t, "256", "64Ki", 256, 65536)
	for _, c := range []struct {
		threshold, low, high float64
	}{{5413, 4709, 6171}, {8222, 7153, 9374}} {
		lines := d.count(func(s drawnShape) bool {
			return s.stroke && s.color == ink && near(s.box.Min.X, at(c.threshold)) && near(s.box.Max.X, at(c.threshold)) &&
				s.box.Max.Y-s.box.Min.Y >= lowerHeight
		})
		whiskers := d.count(func(s drawnShape) bool {
			return s.stroke && s.color == ink && near(s.box.Min.X, at(c.low)) && near(s.box.Max.X, at(c.high))
		})
		if lines != 2 || whiskers != 1 { // one line in each panel
			t.Errorf("threshold %v has %d lines and %d whiskers in its place, want 2 and 1", c.threshold, lines, whiskers)
		}
	}
	// The strip above changes its colour at the thresholds.
	for name, want := range map[string][2]float64{"fftw": {64, 5413}, "go-parallel": {5413, 8222}, "fftw-parallel": {8222, 1 << 20}} {
		found := 0
		for _, s := range d.shapes {
			if !s.stroke && s.color == bases[name].color && near(s.box.Min.X, at(want[0])) && near(s.box.Max.X, at(want[1])) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d boxes of %s from %v to %v, want 1", found, name, want[0], want[1])
		}
	}
}

// TestCurvesAreInPlace compares the markers of a curve with the axes.
func TestCurvesAreInPlace(t *testing.T) {
	e := tinyAxis
	e.noise = 1e-9
	e.costs = []cost{{"go", 0, 1e-6, 1}, {"go-parallel", 4e-6, 0.5e-6, 1}}
	d := list(caseChart(e))
	x1, x64 := d.find(t, "1"), d.find(t, "64")
	low, high := d.find(t, "2 µs"), d.find(t, "50 µs")
	center := func(a, b vg.Length) float64 { return float64(a+b) / 2 }
	const lift = 0.095 * 8.5 // from the middle of a label's box to the middle of its capitals
	for size := 1.0; size <= 64; size *= 2 {
		x := center(x1.Min.X, x1.Max.X) + (center(x64.Min.X, x64.Max.X)-center(x1.Min.X, x1.Max.X))*math.Log2(size)/6
		y := center(low.Min.Y, low.Max.Y) + (center(high.Min.Y, high.Max.Y)-center(low.Min.Y, low.Max.Y))*math.Log(size/2)/math.Log(25) + lift
		if !slices.ContainsFunc(d.shapes, func(s drawnShape) bool {
			return !s.stroke && s.color == skyBlue && math.Abs(center(s.box.Min.X, s.box.Max.X)-x) < 0.1 &&
				math.Abs(center(s.box.Min.Y, s.box.Max.Y)-y) < 0.2
		}) {
			t.Errorf("no marker of go at size %v, %.1f, %.1f", size, x, y)
		}
	}
}

func TestOverviewShowsEveryCase(t *testing.T) {
	d := list(overviewChart(catalogue()...))
	for _, e := range catalogue() {
		d.find(t, e.name)
	}
	for _, want := range []string{
		"always go", "tie", "unresolved", "degraded", "crossover at 688, 12 825", "crossover at 5 413, 8 222", "expected regret",
		"openblas, fftw", "go-parallel/direct", "threshold and its 95 % interval", "16Mi",
	} {
		if !slices.ContainsFunc(d.texts, func(drawn drawnText) bool { return plain(drawn.text) == want }) {
			t.Errorf("%q is missing", want)
		}
	}
}

// The overview says of each case that rests on few sizes that it does.
func TestOverviewTellsOfFewSizes(t *testing.T) {
	tied := oneSize
	tied.name, tied.change = "scale", func(c *calibration.Case) { c.Sizes, c.Verdict = []int{512}, calibration.Tie }
	d := list(overviewChart(oneSize, twoSizes, tied))
	for _, want := range []string{"one size: go-parallel", "two sizes: crossover at 4", "one size: tie"} {
		if !slices.ContainsFunc(d.texts, func(drawn drawnText) bool { return plain(drawn.text) == want }) {
			t.Errorf("%q is missing", want)
		}
	}
}

// The rows of a line of shapes stand together, ordinary slices first. The others have the placement for a name.
func TestOverviewTellsPlacementsApart(t *testing.T) {
	for name, c := range map[string]struct {
		base  string
		whole bool
	}{
		"short":              {"fft/n=1024", true},
		"the catalogue's":    {"stage-graph/block=512,cost=4", true},
		"too long for a row": {"an-operation-of-many-words/columns=1048576,rows=1048576,bands=1024", false},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(tinyAxis, tinyAxis, tinyAxis, tinyAxis)
			for i, name := range []string{c.base, "other/n=1", c.base + ",resident", c.base + ",shared"} {
				h.Cases[i].Name = name
			}
			f := newOverviewFigure(h, page{cases: h.Cases}, nil)
			var names []string
			for _, l := range f.lanes {
				names = append(names, l.name)
			}
			if want := []string{"shared", "resident", "other/n=1"}; !slices.Equal(names[1:], want) {
				t.Errorf("the rows below are named %q, want %q", names[1:], want)
			}
			if c.whole && names[0] != c.base {
				t.Errorf("the row of %s is named %q", c.base, names[0])
			}
			for i := 1; i < len(f.lanes); i++ {
				if below := f.lanes[i-1].y - f.lanes[i].y; below < placedLane {
					t.Errorf("row %d is %v below the one before", i, below)
				}
			}
			for _, fault := range list(Overview(h, nil)).check() {
				t.Error(fault)
			}
		})
	}
}

func TestOverviewCountsWhatItDoesNotDraw(t *testing.T) {
	h, _ := testHost(tinyAxis)
	for i := range lanesMost + 1234 {
		c := h.Cases[0]
		c.Name = fmt.Sprint("case", i)
		h.Cases = append(h.Cases, c)
	}
	d := list(Overview(h, nil))
	d.find(t, "and 1 235 more cases")
	if d.height > 10000 {
		t.Errorf("the chart is %v high", d.height)
	}
}

// Every chart of a simulation has the watermark, and no chart of a measurement does.
func TestSimulationsAreWatermarked(t *testing.T) {
	h, runs := hostileHost()
	for _, simulated := range []bool{false, true} {
		h.Simulated = simulated
		want := ""
		if simulated {
			want = "SIMULATED"
		}
		if d := list(Overview(h, runs)); d.watermark != want {
			t.Errorf("simulated %v: the overview's watermark is %q", simulated, d.watermark)
		}
		for i := range h.Cases {
			if d := list(CaseChart(h, &h.Cases[i], runs[h.Cases[i].Name])); d.watermark != want {
				t.Errorf("simulated %v: the watermark of %s is %q", simulated, h.Cases[i].Name, d.watermark)
			}
		}
	}
}

// Implementations that a GPU computes are marked.
func TestGPUsAreMarked(t *testing.T) {
	h, runs := testHost(catalogue()...)
	f := newOverviewFigure(h, page{cases: h.Cases}, runs)
	for _, l := range f.lanes {
		for _, s := range l.spans {
			if want := strings.HasPrefix(s.implementation, "cu"); s.onGPU != want {
				t.Errorf("%s: the segment of %s is on a GPU: %v", l.name, s.implementation, s.onGPU)
			}
		}
	}
	legend := func(f *overviewFigure) string {
		var texts []string
		for _, chip := range f.legend {
			texts = append(texts, chip.text)
		}
		return strings.Join(texts, "; ")
	}
	if got := legend(f); !f.gpu || !strings.Contains(got, "cuda (GPU)") || strings.Count(got, "(GPU)") != 3 {
		t.Errorf("the legend is %q", got)
	}
	h, runs = testHost(twoThresholds, tie)
	if f := newOverviewFigure(h, page{cases: h.Cases}, runs); f.gpu || strings.Contains(legend(f), "GPU") {
		t.Errorf("without a GPU the legend is %q", legend(f))
	}
}

func TestCaptionOfAGPU(t *testing.T) {
	h, runs := testHost(resident)
	h.Environment.Driver = "CUDA 13.0, driver 580.159.04"
	h.Method.Mode, h.Method.InFlight = "throughput", 64
	f := newCaseFigure(h, &h.Cases[0], runs[resident.name])
	caption := strings.Join(f.facts, "\n")
	for _, want := range []string{"GPU's share of a call by cuda: 3.1\u202f% at 1, 97\u202f% at 16\u202f384", "throughput with 64 in flight", "cuFFT 12.0.0"} {
		if !strings.Contains(caption, want) {
			t.Errorf("the caption lacks %q:\n%s", want, caption)
		}
	}
	if n := strings.Count(caption, "580.159.04"); n != 1 {
		t.Errorf("the caption names the driver %d times:\n%s", n, caption)
	}
}

// Every implementation has a colour in bases. Variants of an implementation share its hue, and no two looks are the same.
func TestEveryGPUImplementationHasALook(t *testing.T) {
	for _, name := range []string{"cuda", "metal", "cufft", "cublas", "mps", "mpsgraph", "accelerate"} {
		if _, ok := bases[name]; !ok {
			t.Errorf("%s has no colour of its own", name)
		}
	}
	styles := stylesOf([]string{"cuda", "cuda/direct", "cuda/fft", "cuda/partitioned", "cufft", "go", "go-parallel", "openblas"})
	seen := map[string]string{}
	for name, s := range styles {
		if root(name) == "cuda" && !isShade(s.color, bases["cuda"].color) {
			t.Errorf("%s has another hue than cuda", name)
		}
		look := fmt.Sprint(s.color, s.marker, s.dashes)
		if other := seen[look]; other != "" {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[look] = name
	}
}

// TestTheCommitInTheCaption tests that a caption says if a program was not built from its commit alone.
func TestTheCommitInTheCaption(t *testing.T) {
	for commit, want := range map[string]string{
		"": "crossover 1.0.0", "abc": "crossover 1.0.0 (abc)", "0123456789abcdef": "crossover 1.0.0 (0123456789ab)",
		"0123456789abcdef+dirty": "crossover 1.0.0 (0123456789ab+dirty)",
	} {
		h := &calibration.Host{Environment: calibration.Environment{ToolVersion: "1.0.0", ToolCommit: commit}}
		if got := provenance(h)[0]; got != want {
			t.Errorf("commit %q: %q, want %q", commit, got, want)
		}
	}
}
