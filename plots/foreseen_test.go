package plots

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"crossover/calibration"
)

// foreseenHost has a line of products with n of 64 in two placements. The shared one was measured at a single m, and its surface
// predicts go below an m of 16 and go-parallel from there.
func foreseenHost(change func(c *calibration.Case, o *calibration.Operation)) (*calibration.Host, map[string][]Run) {
	line := func(name string, from, to int) experiment {
		return experiment{
			name: name, axis: "m", unit: "rows", from: from, to: to,
			costs: []cost{{"go", 0.1e-6, 1.9e-6, 1}, {"go-parallel", 6e-6, 0.3e-6, 1}},
		}
	}
	h, runs := testHost(line("product/n=64", 1, 256), line("product/n=64,shared", 1, 1))
	o := crossing()
	o.Placement = "shared"
	shared := &h.Cases[1]
	shared.Sizes, shared.Reason = []int{1}, "only one size was measured"
	if change != nil {
		change(shared, o)
	}
	h.Operations = []calibration.Operation{*o}
	return h, runs
}

// A case that was measured at one size has the choices that are predicted at all others, in paler colours.
func TestForeseenChoices(t *testing.T) {
	h, runs := foreseenHost(nil)
	spans, _ := foreseen(h, &h.Cases[1], &h.Cases[0])
	edge := math.Sqrt(16 * 32) // between the powers of two beside 1030/64
	if want := []span{{from: 1, to: edge, implementation: "go"}, {from: edge, to: 256, implementation: "go-parallel"}}; !slices.EqualFunc(spans, want, func(a, b span) bool {
		return a.from == b.from && a.to == b.to && a.implementation == b.implementation && a.threshold == 0
	}) {
		t.Errorf("%+v, want %+v", spans, want)
	}

	for name, c := range map[string]struct {
		chart *Chart
		texts []string
	}{
		"overview": {Overview(h, runs), []string{"one size, else predicted", "predicted", "1.2 %"}},
		"case": {CaseChart(h, &h.Cases[0], runs["product/n=64"], Placed{&h.Cases[1], runs["product/n=64,shared"]}), []string{
			"go-parallel from about 23", "predicted from 64 shapes: one size was measured", "at held-out shapes: regret", "1.2 % (95 % below 2 %)",
		}},
	} {
		d := list(c.chart)
		for _, fault := range d.check() {
			t.Errorf("%s: %s", name, fault)
		}
		for _, want := range c.texts {
			if !slices.ContainsFunc(d.texts, func(drawn drawnText) bool { return plain(drawn.text) == want }) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		var widths []vg.Length
		for _, of := range []string{"go", "go-parallel"} {
			pale := onWhite(bases[of].color, foreseenOpacity)
			widest := vg.Length(0)
			for _, s := range d.shapes {
				if !s.stroke && s.color == pale {
					widest = max(widest, s.box.Max.X-s.box.Min.X)
				}
			}
			widths = append(widths, widest)
		}
		if got, want := float64(widths[0]/widths[1]), math.Log(edge)/math.Log(256/edge); !(math.Abs(got-want) < 0.02) {
			t.Errorf("%s: the pale boxes are as %.2f to 1, want %.2f to 1", name, got, want)
		}
	}
}

// Without a surface of its placement, or with more sizes, a case has its own choices.
func TestNothingForeseen(t *testing.T) {
	for name, change := range map[string]func(c *calibration.Case, o *calibration.Operation){
		"two sizes":             func(c *calibration.Case, _ *calibration.Operation) { c.Sizes = []int{1, 256} },
		"another placement":     func(_ *calibration.Case, o *calibration.Operation) { o.Placement = "caller" },
		"another operation":     func(_ *calibration.Case, o *calibration.Operation) { o.Name = "sum" },
		"no surface":            func(_ *calibration.Case, o *calibration.Operation) { o.Surface.Shapes = nil },
		"a surface of one axis": func(_ *calibration.Case, o *calibration.Operation) { o.Surface.Axes = o.Surface.Axes[:1] },
		"no numbers": func(_ *calibration.Case, o *calibration.Operation) {
			for i := range o.Surface.Implementations {
				o.Surface.Implementations[i].Linear[0] = math.NaN()
			}
		},
	} {
		h, runs := foreseenHost(change)
		if spans, _ := foreseen(h, &h.Cases[1], &h.Cases[0]); spans != nil {
			t.Errorf("%s: %+v", name, spans)
		}
		list(Overview(h, runs)) // and draws all the same
	}
}
