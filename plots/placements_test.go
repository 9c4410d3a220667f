package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"crossover/calibration"
)

// threePlacements returns a case, and the same line of shapes with the data elsewhere.
func threePlacements() (h *calibration.Host, c *calibration.Case, runs []Run, others []Placed) {
	in := func(placement string, transfer, doubt float64) experiment {
		return experiment{
			name: "fft/n=4096" + placement, axis: "batch", unit: "rows", from: 1, to: 1 << 14,
			costs: []cost{{"go", 0.1e-6, 4.5e-6, 1}, {"go-parallel", 6e-6, 0.6e-6, 1}, {"cuda", 18e-6, transfer, 1}},
			change: func(c *calibration.Case) {
				c.Regret = &calibration.Regret{Mean: doubt / 10, Upper: new(doubt)}
			},
		}
	}
	caller, shared, resident := in("", 2e-6, 0.011), in(",shared", 0.4e-6, 0.022), in(",resident", 0.02e-6, 0.033)
	h, all := testHost(caller, resident, shared)
	h.Facts.GPU = "NVIDIA H200"
	of := func(name string) *calibration.Case {
		return &h.Cases[slices.IndexFunc(h.Cases, func(c calibration.Case) bool { return c.Name == name })]
	}
	in2 := of(shared.name)
	in2.Segments[0].Doubts = []calibration.Doubt{{From: 1, To: 2, Implementation: "go-parallel", Tie: true}}
	far := of(resident.name)
	far.Degraded = true
	far.Warnings = []string{"running on battery"}
	all[resident.name] = resident.measuredRuns(2, nil, []int{4})
	all[resident.name][1].Thresholds = []int{4}
	for _, e := range []experiment{shared, resident} {
		others = append(others, Placed{of(e.name), all[e.name]})
	}
	return h, of(caller.name), all[caller.name], others
}

// A chart has every threshold of every placement, in words and in its place, with its interval.
func TestEveryPlacementIsOnTheChart(t *testing.T) {
	h, c, runs, others := threePlacements()
	f := newCaseFigure(h, c, runs, others...)
	d := list(CaseChart(h, c, runs, others...))
	for _, fault := range d.check() {
		t.Error(fault)
	}
	for _, want := range []string{
		"caller", "shared", "resident", "degraded: machine was not quiet", "time per call (caller)", "slowdown against the best (caller)",
		"regret 0.2 %", "(95 % below 2.2 %)", "regret 0.3 %", "(95 % below 3.3 %)", "resident: warning: running on battery",
		"threshold of an earlier run", "go-parallel is as fast there: a tie", "computed on the GPU",
	} {
		if !slices.ContainsFunc(d.texts, func(drawn drawnText) bool { return plain(drawn.text) == want }) {
			t.Errorf("%q is missing", want)
		}
	}
	x := f.across()
	bottom := f.lowerFrame.Min.Y
	for n, other := range others {
		p := f.others[n]
		if p.top >= bottom {
			t.Errorf("the part of %s begins at %v, above %v", other.Case.Name, p.top, bottom)
		}
		bottom = p.bottom
		if len(other.Case.Segments) < 2 {
			t.Fatalf("%s has no threshold", other.Case.Name)
		}
		for i, s := range other.Case.Segments {
			words := s.Implementation + " from " + grouped(s.From)
			if i > 0 {
				words += fmt.Sprintf(" (95 %% %s–%s)", grouped(s.Interval.Low), grouped(s.Interval.High))
			}
			if !slices.ContainsFunc(p.words, func(c chip) bool { return plain(c.text) == plain(words) }) {
				t.Errorf("%s: %q is missing: %v", other.Case.Name, words, p.words)
			}
			if i == 0 {
				continue
			}
			low, high := x(float64(s.Interval.Low)), x(float64(s.Interval.High))
			if d.count(func(s drawnShape) bool {
				return s.stroke && s.color == ink && near(s.box.Min.X, low) && near(s.box.Max.X, high) && s.box.Max.Y < p.strip.bottom && s.box.Min.Y >= p.bottom
			}) != 1 {
				t.Errorf("%s: no interval from %v to %v", other.Case.Name, low, high)
			}
			if box := p.strip.boxes[i]; !near(box.left, x(float64(s.From))) {
				t.Errorf("%s: %s begins at %v, want %v", other.Case.Name, s.Implementation, box.left, x(float64(s.From)))
			}
		}
	}
	if f.keyAt >= bottom {
		t.Errorf("the key at %v is above %v, the end of the last placement", f.keyAt, bottom)
	}
}

// Each degraded case on a chart has one mark, and only the first one says what it means. The warning has the cause alone.
func TestADegradedCaseHasOneMark(t *testing.T) {
	for name, c := range map[string]struct {
		first, last bool // whether the case of the panels is degraded, and that of the last placement
		want        []string
	}{
		"none":  {false, false, nil},
		"first": {true, false, []string{"DEGRADED: machine was not quiet"}},
		"last":  {false, true, []string{"degraded: machine was not quiet"}},
		"both":  {true, true, []string{"DEGRADED: machine was not quiet", "degraded"}},
	} {
		h, of, runs, others := threePlacements()
		of.Degraded, others[1].Case.Degraded = c.first, c.last
		of.Warnings, others[1].Case.Warnings = nil, nil
		if c.first {
			of.Warnings = []string{"degraded: other programs were there"}
		}
		var marks []string
		causes := 0
		for _, drawn := range list(CaseChart(h, of, runs, others...)).texts {
			if strings.Contains(strings.ToLower(drawn.text), "degraded") {
				marks = append(marks, plain(drawn.text))
			}
			if strings.HasSuffix(drawn.text, "warning: other programs were there") {
				causes++
			}
		}
		if !slices.Equal(marks, c.want) || (causes == 1) != c.first {
			t.Errorf("%s: %q with %d causes, want %q", name, marks, causes, c.want)
		}
	}
}

// A chart of ordinary slices alone does not speak of placements.
func TestOnePlacement(t *testing.T) {
	h, c, runs, _ := threePlacements()
	for _, drawn := range list(CaseChart(h, c, runs)).texts {
		if strings.Contains(drawn.text, "caller") || strings.Contains(drawn.text, "shared") {
			t.Errorf("%q", drawn.text)
		}
	}
}

// If a placement was measured by another run, the chart names the run.
func TestPlacementsOfOtherRuns(t *testing.T) {
	h, c, runs, others := threePlacements()
	h.Runs = []calibration.Run{{Created: time.Date(2026, 10, 1, 8, 30, 0, 0, time.UTC), Environment: h.Environment, Method: h.Method}}
	others[0].Case.Run = 1
	f := newCaseFigure(h, c, runs, others...)
	text := plain(strings.Join(f.facts, " · "))
	for want, times := range map[string]int{"on 2026-10-01 08:30 UTC": 1, "shared 180 blocks on 2026-10-01": 1, "2026-11-21 12:00 UTC": 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is there %d times, want %d: %s", want, got, times, text)
		}
	}
}

func TestLinesOf(t *testing.T) {
	var cases []calibration.Case
	for _, c := range [][3]string{
		{"fft", "fft/n=8,resident", "batch"}, {"sum", "sum", "n"}, {"fft", "fft/n=8", "batch"}, {"sum", "sum/shared", "n"},
		{"fft", "fft/n=8,shared", "batch"}, {"fft", "fft/n=8,shared", "batch"}, {"fft", "fft/n=8", "n"}, {"odd", "odd/shared,shared", "n"},
		{"shared", "shared", "n"},
	} {
		cases = append(cases, calibration.Case{Operation: c[0], Name: c[1], Axis: calibration.Axis{Name: c[2]}})
	}
	want := "[[2 4 0] [1 3] [5] [6] [7] [8]]"
	if got := fmt.Sprint(linesOf(cases)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// placedMap returns a map of two placements that differ.
func placedMap() *Chart {
	h, caller, shared := placedOperations()
	return Map(h, caller, shared)
}

func placedOperations() (h *calibration.Host, caller, shared *calibration.Operation) {
	h, _ = testHost(twoThresholds)
	caller, shared = crossing(), crossing()
	shared.Placement = "shared"
	shared.Surface.Implementations[1].Linear[0] -= 3
	shared.HeldOut.Regret = 0.456
	h.Operations = []calibration.Operation{*caller, *shared}
	return h, caller, shared
}

// The panels of another placement are drawn if they differ. Otherwise words say that they do not.
func TestMapOfPlacements(t *testing.T) {
	h, caller, shared := placedOperations()
	const same = "shared: the same choices as above"
	for name, c := range map[string]struct {
		other *calibration.Operation
		alike bool
	}{"different": {shared, false}, "the same": {func() *calibration.Operation { o := *caller; o.Placement = "shared"; return &o }(), true}} {
		t.Run(name, func(t *testing.T) {
			alone, chart := Map(h, caller), Map(h, caller, c.other)
			d := list(chart)
			for _, fault := range d.check() {
				t.Error(fault)
			}
			panels := d.height > alone.height+smallHeight
			if panels == c.alike {
				t.Errorf("panels %v, and the choices are alike: %v", panels, c.alike)
			}
			d.find(t, "caller")
			if c.alike {
				d.find(t, same)
			} else {
				d.find(t, "shared")
			}
			held := 0
			for _, drawn := range d.texts {
				if strings.Contains(drawn.text, "held out: regret") {
					held++
				}
			}
			if held != 2 {
				t.Errorf("%d placements say what was held out", held)
			}
		})
	}
}

// A map is of the newest run that measured the operation, which may not be the newest run of the host.
func TestMapNamesItsRun(t *testing.T) {
	h, caller, shared := placedOperations()
	before, then := time.Date(2026, 9, 1, 7, 0, 0, 0, time.UTC), time.Date(2026, 8, 1, 6, 0, 0, 0, time.UTC)
	run := calibration.Run{Created: before, Environment: h.Environment, Method: h.Method}
	run.Method.Seed = 777
	h.Runs = []calibration.Run{run}
	caller.Created, shared.Created = &before, &then
	text := ""
	for _, drawn := range list(Map(h, caller, shared)).texts {
		text += plain(drawn.text) + "\n"
	}
	for _, want := range []string{"2026-09-01 07:00 UTC", "seed 777", "on 2026-08-01 06:00 UTC"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "2026-11-21") {
		t.Error("the map names the newest run of the host")
	}
}

// The image has every colour that was drawn with, and what is grey stays grey.
func TestFewColours(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 100, 100))
	fill := func(y int, c color.NRGBA) {
		for x := range 100 {
			img.Set(x, y, c)
		}
	}
	for y := range 100 {
		fill(y, white)
	}
	drawn := map[color.RGBA]bool{{R: 255, G: 255, B: 255, A: 255}: true}
	exact := []color.NRGBA{ink, quiet, faint, blue, onWhite(blue, 0.45), onWhite(reddishPurple, 0.45), onWhite(bluishGreen, 0.22)}
	for i, c := range exact {
		fill(i, c)
		drawn[color.RGBAModel.Convert(c).(color.RGBA)] = true
	}
	between := color.NRGBA{R: 205, G: 205, B: 205, A: 255}
	fill(50, between)
	out := reduce(img, drawn)
	for i, c := range exact {
		if got := color.NRGBAModel.Convert(out.At(5, i)); got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
	if got := color.NRGBAModel.Convert(out.At(5, 50)).(color.NRGBA); got.R != got.G || got.G != got.B || got.R < 170 || got.R > 240 {
		t.Errorf("a grey became %v", got)
	}
	if len(out.Palette) != len(exact)+1 {
		t.Errorf("%d colours", len(out.Palette))
	}
}

// A chart has few colours, so that its file is small. Its background is white.
func TestPalette(t *testing.T) {
	for name, chart := range map[string]*Chart{"a case": placedChart(), "a map": placedMap()} {
		var b bytes.Buffer
		if _, err := chart.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		img := imageOf(t, chart)
		if p, ok := img.(*image.Paletted); !ok || len(p.Palette) > 64 {
			t.Errorf("%s is %T with more than 64 colours", name, img)
		}
		if got := colorAt(img, vg.Point{X: 2, Y: 2}); got != white {
			t.Errorf("%s has the background %v", name, got)
		}
	}
}
