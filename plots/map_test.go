package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// power is a predicted time: seconds times the product of the axes, each to the power of its weight.
type power struct {
	name    string
	seconds float64
	weights []float64
}

// operationOf returns an operation over axes from 1 to 1024 with a grid of fitted shapes. Its surface predicts exactly the
// times of powers.
func operationOf(axes []string, powers ...power) *calibration.Operation {
	const from, to = 1, 1024
	o := &calibration.Operation{Name: "product", Placement: "caller", Blocks: 210}
	o.Surface.Axes = axes
	for i, name := range axes {
		o.Axes = append(o.Axes, calibration.Axis{Name: name, Unit: name, From: from, To: to})
		weights := make([]float64, len(axes))
		weights[i] = 1
		o.Surface.Features = append(o.Surface.Features, surface.Feature{Kind: surface.Logarithm, Weights: weights})
		o.Surface.Scales = append(o.Surface.Scales, 1)
	}
	for k := range 64 {
		for i := range axes {
			o.Surface.Shapes = append(o.Surface.Shapes, 1<<(10*(k>>(3*i)%8)/7))
		}
	}
	for _, p := range powers {
		linear := []float64{math.Log(p.seconds)}
		for _, w := range p.weights {
			linear = append(linear, w*math.Ln2)
		}
		o.Implementations = append(o.Implementations, calibration.Implementation{Name: p.name, Processor: "cpu"})
		o.Surface.Implementations = append(o.Surface.Implementations, surface.Implementation{
			Name: p.name, Linear: linear, Weights: make([]float64, 64),
		})
	}
	return o
}

// holdOut adds held-out shapes to an operation, with the loss at each.
func holdOut(o *calibration.Operation, losses []float64, points ...int) *calibration.Operation {
	worst := 0
	for k := range losses {
		if losses[k] > losses[worst] {
			worst = k
		}
	}
	o.HeldOut = calibration.HeldOut{
		Shapes: len(losses), Regret: 0.012, RegretUpper: 0.02, Within: 0.914, WithinLower: 0.84, Worst: losses[worst],
		WorstShape: points[worst*len(o.Axes) : (worst+1)*len(o.Axes)], Points: points, Losses: losses,
	}
	return o
}

// crossing is an operation with four held-out shapes. go is faster than go-parallel if n·m is below 1030.
func crossing() *calibration.Operation {
	o := operationOf([]string{"m", "n"}, power{"go", 1e-6, []float64{1, 1}}, power{"go-parallel", 1030e-6, []float64{0, 0}})
	return holdOut(o, []float64{0, 0.004, 0.04, 0.23}, 3, 5, 700, 600, 90, 10, 8, 200)
}

// transform is an operation over a length whose prime factors matter.
func transform() *calibration.Operation {
	o := operationOf([]string{"n", "batch"}, power{"go", 1e-6, []float64{1, 1}}, power{"fftw", 3e-6, []float64{0.8, 1}}, power{"go-parallel", 30e-6, []float64{0.6, 0.6}})
	o.Name = "fft"
	o.Axes[0].From = 16
	o.Surface.Features = append(o.Surface.Features, surface.Feature{Kind: surface.Rough, Weights: []float64{1, 0}, Prime: 5})
	o.Surface.Scales = append(o.Surface.Scales, 1)
	for i, rough := range []float64{1.5, 0.1, 1.2} {
		p := &o.Surface.Implementations[i]
		p.Linear = append(p.Linear, rough)
	}
	return holdOut(o, []float64{0, 0.004, 0.04, 0.23}, 64, 5, 480, 64, 449, 10, 480, 4)
}

// cube is an operation over the axes k, m and n. k changes the choice most.
func cube() *calibration.Operation {
	return operationOf([]string{"k", "m", "n"}, power{"go", 1e-6, []float64{1, 0.1, 0.4}}, power{"go-parallel/wide", 50e-6, []float64{0, 0, 0}}, power{"go-parallel/deep", 20e-6, []float64{0.5, 0, 0.2}})
}

// mapOf returns the map of an operation that has one. The host's first case varies along running.
func mapOf(o *calibration.Operation, running string) (*mapFigure, *Chart) {
	h, _ := testHost(twoThresholds)
	h.Cases[0].Operation, h.Cases[0].Axis.Name = o.Name, running
	return newMapFigure(h, survey(o)), Map(h, o)
}

// imageOf renders a chart and decodes the image.
func imageOf(t *testing.T, c *Chart) image.Image {
	t.Helper()
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// colorAt returns the colour of an image at a place of its chart.
func colorAt(img image.Image, at vg.Point) color.NRGBA {
	x, y := int(at.X/pixel), img.Bounds().Dy()-1-int(at.Y/pixel)
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

func TestMapShowsWhoWins(t *testing.T) {
	f, chart := mapOf(crossing(), "n")
	img := imageOf(t, chart)
	const column = 34 // n is 12, and go-parallel is faster from m = 86 on
	for row, want := range map[int]color.NRGBA{
		20: skyBlue, 39: skyBlue, // m = 72: 19 % apart
		40: onWhite(skyBlue, narrowLeft), // 80: 7 %
		41: onWhite(blue, faded),         // 90: 5 %
		42: blue, 60: blue,               // 100: 17 %
	} {
		at := markAt{u: (column + 0.5) / mapColumns, v: (float64(row) + 0.5) / mapRows}
		if got := colorAt(img, at.on(f.frames[0])); got != want {
			t.Errorf("in row %d: %v, want %v", row, got, want)
		}
	}
}

// White lines cross the colour where nothing was measured near on the panel. The title says how few shapes there are.
func TestMapShowsWhereNothingWasMeasured(t *testing.T) {
	o := crossing()
	single(o)
	o.HeldOut = calibration.HeldOut{}
	f, chart := mapOf(o, "n")
	img := imageOf(t, chart)
	list(chart).find(t, "product, one shape")
	y := edges(f.frames[0].Min.Y, f.frames[0].Max.Y, mapRows)
	for row, want := range map[int]color.NRGBA{2: skyBlue, 12: white} { // 0.04 and 0.2 of the axis from the shape
		at := markAt{u: 1.5 / mapColumns}.on(f.frames[0])
		at.Y = y[row] + afarLine/2
		if got := colorAt(img, at); got != want {
			t.Errorf("at the lower edge of row %d: %v, want %v", row, got, want)
		}
		at.Y = y[row+1] - pixel
		if got := colorAt(img, at); got != skyBlue {
			t.Errorf("at the upper edge of row %d: %v, want %v", row, got, skyBlue)
		}
	}
}

// Shapes on another panel are not near.
func TestMapIsAfarByPanels(t *testing.T) {
	o := transform()
	o.HeldOut = calibration.HeldOut{}
	f, _ := mapOf(o, "n")
	for k := range f.panels {
		near := 0
		for _, row := range f.panels[k].cells {
			for _, c := range row {
				if c.winner >= 0 && !c.afar {
					near++
				}
			}
		}
		if dots := len(f.panels[k].dots); (near > 0) != (dots > 0) {
			t.Errorf("%s: %d measured shapes, and %d cells near them", f.panels[k].title, dots, near)
		}
	}
}

// A held-out shape is red if the choice loses more than 5 %, and white otherwise.
func TestMapMarksLosses(t *testing.T) {
	f, chart := mapOf(crossing(), "n")
	img := imageOf(t, chart)
	rings := f.panels[0].rings
	if len(rings) != 4 {
		t.Fatalf("%d shapes held out on the map, want 4", len(rings))
	}
	for _, m := range rings {
		want := white
		if m.loss == 0.23 {
			want = alarm
		}
		if got := colorAt(img, m.on(f.frames[0])); got != want {
			t.Errorf("the mark of a loss of %v is %v, want %v", m.loss, got, want)
		}
	}
	inner := f.regrets.frame
	red := 0
	for x := 2 * inner.Min.X; x <= 2*inner.Max.X; x++ {
		if colorAt(img, vg.Point{X: x / 2, Y: inner.Max.Y}) == alarm {
			red++
		}
	}
	if red == 0 {
		t.Error("the greatest loss has no red mark at the top of the distribution")
	}
}

func TestMapWords(t *testing.T) {
	for name, c := range map[string]struct {
		o    *calibration.Operation
		want string
	}{
		"some": {crossing(), "4 shapes held out: regret 1.2 % (at most 2 %), within 5 % at 91 % (at least 84 %), worst 23 % at m=8 n=200"},
		"one":  {holdOut(cube(), []float64{0.5}, 1, 2, 3), "1 shape held out: regret 1.2 % (at most 2 %), within 5 % at 91 % (at least 84 %), worst 50 % at k=1 m=2 n=3"},
		"none": {cube(), "No shape was held out: what the choices cost is not known."},
	} {
		if got := plain(heldOutWords(c.o)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	f, chart := mapOf(crossing(), "n")
	list(chart).find(t, plain(strings.Join(f.words, " ")))
}

// The axis of the first case goes to the right, and the one that changes the choice most goes up.
func TestMapDirections(t *testing.T) {
	for name, c := range map[string]struct {
		o       *calibration.Operation
		running string
		want    directions
	}{
		"two axes":           {crossing(), "n", directions{x: 1, y: 0, third: -1, classed: -1}},
		"the other one runs": {crossing(), "m", directions{x: 0, y: 1, third: -1, classed: -1}},
		"no case":            {crossing(), "", directions{x: 0, y: 1, third: -1, classed: -1}},
		"three axes":         {cube(), "n", directions{x: 2, y: 0, third: 1, classed: -1}},
		"three, no case":     {cube(), "", directions{x: 0, y: 2, third: 1, classed: -1}},
		"a length":           {transform(), "n", directions{x: 0, y: 1, third: -1, classed: 0}},
		"a length upwards":   {transform(), "batch", directions{x: 1, y: 0, third: -1, classed: 0}},
	} {
		h := &calibration.Host{Cases: []calibration.Case{{Operation: c.o.Name, Axis: calibration.Axis{Name: c.running}}}}
		if got := directionsOf(h, survey(c.o)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	o := cube() // k is a length, so it is no direction although it changes the choice most
	o.Surface.Features[0].Kind, o.Surface.Features[0].Prime = surface.Exponent, 3
	if got := directionsOf(&calibration.Host{}, survey(o)); got.third != 0 {
		t.Errorf("a length among three axes: %+v, want it as the third", got)
	}
}

// Each panel has only lengths of its class.
func TestMapClasses(t *testing.T) {
	f, _ := mapOf(transform(), "n")
	if len(f.panels) != len(classes) {
		t.Fatalf("%d panels, want %d", len(f.panels), len(classes))
	}
	for k, want := range []int{1, 2, 1} {
		if got := len(f.panels[k].rings); got != want {
			t.Errorf("%s: %d shapes held out, want %d", classes[k].name, got, want)
		}
	}
	for k, class := range classes {
		for value := 64.0; value < 1<<30; value *= 1.17 {
			lengths := class.near(value, 64, 1<<30)
			if want := min(k, 1)*(neighbours-1) + 1; len(lengths) != want && k < 2 {
				t.Errorf("%s: %d lengths near %v, want %d", class.name, len(lengths), value, want)
			}
			for _, n := range lengths {
				if !class.has(n) || float64(n) < value/1.6 || float64(n) > 1.6*value || n < 64 {
					t.Errorf("%s: %d near %v", class.name, n, value)
				}
			}
		}
		for other := range classes {
			for _, n := range []int{1, 2, 64, 480, 449, 997, 1 << 40} {
				if other != k && class.has(n) && classes[other].has(n) {
					t.Errorf("%d is of two classes: %s and %s", n, class.name, classes[other].name)
				}
			}
		}
	}
	// fftw treats rough lengths like others, so it wins only the panel of rough lengths.
	var wins [3]int
	for k := range f.panels {
		for _, row := range f.panels[k].cells {
			for _, c := range row {
				if c.winner == 1 {
					wins[k]++
				}
			}
		}
	}
	if wins[2] <= wins[0] || wins[2] <= wins[1] {
		t.Errorf("fftw wins %v cells by class; want most on rough lengths", wins)
	}
}

// The panels of a third axis are at measured values, and every shape is on one of them.
func TestMapMultiples(t *testing.T) {
	o := holdOut(cube(), []float64{0, 0, 0}, 1, 1, 1, 1, 30, 1, 1, 1024, 1)
	f, chart := mapOf(o, "n")
	if len(f.panels) != multiples {
		t.Fatalf("%d panels, want %d", len(f.panels), multiples)
	}
	dots := 0
	for k := range f.panels {
		dots += len(f.panels[k].dots)
		if len(f.panels[k].rings) != 1 {
			t.Errorf("panel %d has %d shapes that were held out, want 1", k, len(f.panels[k].rings))
		}
		list(chart).find(t, plain(f.panels[k].title))
	}
	if dots != 64 {
		t.Errorf("%d fitted shapes are drawn, want 64", dots)
	}
}

func TestUsual(t *testing.T) {
	for _, c := range []struct {
		values []int
		parts  int
		want   []int
	}{
		{[]int{5}, 3, []int{5}},
		{[]int{5, 7}, 3, []int{5, 7}},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, []int{2, 5, 8}},
		{[]int{1, 2, 3, 3, 4, 5, 6, 6, 6, 7, 7, 8, 9}, 3, []int{3, 6, 7}},
		{[]int{1, 2, 3, 3, 9}, 1, []int{3}},
	} {
		s := &surveyed{Operation: &calibration.Operation{}}
		for _, v := range c.values {
			s.fitted = append(s.fitted, []int{v})
		}
		if got := s.usual(0, c.parts); !slices.Equal(got, c.want) {
			t.Errorf("%v in %d parts: %v, want %v", c.values, c.parts, got, c.want)
		}
	}
}

// Usual lengths have no large prime factor, because times at such lengths say nothing of others.
func TestUsualLengths(t *testing.T) {
	s := survey(transform())
	s.fitted = [][]int{{110, 1}, {110, 1}, {110, 1}, {120, 1}, {449, 1}, {640, 1}, {2048, 1}}
	if got, want := s.usual(0, 3), []int{120, 640, 2048}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s.fitted = [][]int{{110, 1}, {449, 1}}
	if got, want := s.usual(0, 3), []int{110, 449}; !slices.Equal(got, want) {
		t.Errorf("%v where all are rough, want %v", got, want)
	}
}

func TestNoMap(t *testing.T) {
	one := operationOf([]string{"m", "n"}, power{"go", 1e-6, []float64{1, 1}})
	line := operationOf([]string{"n"}, power{"go", 1e-6, []float64{1}}, power{"go-parallel", 1e-5, []float64{0.5}})
	unfitted := crossing()
	unfitted.Surface = surface.Surface{Axes: unfitted.Surface.Axes, Features: unfitted.Surface.Features}
	spoiled := crossing()
	spoiled.Surface.Scales[0] = math.NaN()
	h := &calibration.Host{Operations: []calibration.Operation{*one, *line, *unfitted, *spoiled, {}}}
	for i := range h.Operations {
		if Map(h, &h.Operations[i]) != nil {
			t.Errorf("operations[%d] has a map", i)
		}
	}
	if names := FileNames(h, noGroup); len(names) > 0 {
		t.Errorf("files %v, want none: there is no case either", names)
	}
}

// Whatever a file holds, the map stays inside the chart, and no text lies on another.
func TestOddMaps(t *testing.T) {
	change := func(o *calibration.Operation, change func(o *calibration.Operation)) *calibration.Operation {
		change(o)
		return o
	}
	wide := func(o *calibration.Operation) {
		for i := range o.Axes {
			o.Axes[i].To = 1_000_000_000
		}
	}
	for name, o := range map[string]*calibration.Operation{
		"two axes":            crossing(),
		"three axes":          cube(),
		"classes":             transform(),
		"not held out":        change(crossing(), func(o *calibration.Operation) { o.HeldOut = calibration.HeldOut{} }),
		"classes, none held":  change(transform(), func(o *calibration.Operation) { o.HeldOut = calibration.HeldOut{} }),
		"a thousand million":  change(crossing(), wide),
		"long lengths":        change(transform(), wide),
		"wide in three":       change(cube(), wide),
		"axes without end":    change(transform(), func(o *calibration.Operation) { o.Axes[0].To, o.Axes[1].To = math.MaxInt, math.MaxInt }),
		"axes of one value":   change(transform(), func(o *calibration.Operation) { o.Axes[0].To, o.Axes[1].To = o.Axes[0].From, 1 }),
		"axes of two values":  change(transform(), func(o *calibration.Operation) { o.Axes[0].From, o.Axes[0].To = 509, 510 }),
		"axes from 0":         change(crossing(), func(o *calibration.Operation) { o.Axes[0].From, o.Axes[0].To = 0, -3 }),
		"a single shape":      change(cube(), single),
		"a single length":     change(transform(), single),
		"huge shapes":         change(cube(), func(o *calibration.Operation) { o.Surface.Shapes[0] = math.MaxInt }),
		"losses of no shapes": change(crossing(), func(o *calibration.Operation) { o.HeldOut.Points = nil }),
		"half a shape":        change(crossing(), func(o *calibration.Operation) { o.HeldOut.Points = o.HeldOut.Points[:5] }),
		"shapes of 0":         change(crossing(), func(o *calibration.Operation) { o.HeldOut.Points[0], o.HeldOut.Points[1] = 0, -1 }),
		"no losses": change(crossing(), func(o *calibration.Operation) {
			o.HeldOut.Points, o.HeldOut.Losses = nil, nil
		}),
		"odd losses": change(crossing(), func(o *calibration.Operation) {
			o.HeldOut.Losses = []float64{math.NaN(), math.Inf(1), -1, 1e300}
			o.HeldOut.Regret, o.HeldOut.Within, o.HeldOut.Worst = math.NaN(), math.Inf(1), 1e300
		}),
		"predictions overflow": change(crossing(), func(o *calibration.Operation) {
			o.Surface.Implementations[0].Linear[1], o.Surface.Implementations[1].Linear[0] = 1e308, -1e308
		}),
		"times without end": change(crossing(), func(o *calibration.Operation) {
			for i := range o.Surface.Implementations {
				o.Surface.Implementations[i].Risk = 1e200
			}
		}),
		"four axes": operationOf([]string{"a", "b", "c", "d"}, power{"go", 1e-6, []float64{1, 0, 1, 0}}, power{"x", 1e-4, []float64{0, 0, 0, 0}}),
		"long names": change(cube(), func(o *calibration.Operation) {
			long := strings.Repeat("a very long name of a thing ", 20)
			o.Name, o.Placement = long, long
			for i := range o.Axes {
				o.Axes[i].Name += long
				o.Axes[i].Unit = long
				o.Surface.Axes[i] += long
			}
			for i := range o.Surface.Implementations {
				o.Surface.Implementations[i].Name += long
			}
			o.HeldOut.Shapes, o.HeldOut.WorstShape = 3, []int{1, 2, 3}
		}),
		"unprintable names": change(crossing(), func(o *calibration.Operation) {
			o.Name, o.Axes[0].Name, o.Surface.Implementations[0].Name = "\x00\n", "\xff", "\t"
		}),
		"as many as can be": operationOf([]string{"m", "n"}, manyPowers()...),
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(twoThresholds)
			h.Simulated = true
			h.Cases[0].Operation, h.Cases[0].Axis.Name = o.Name, "n"
			chart := Map(h, o)
			if chart == nil {
				t.Fatal("no map")
			}
			d := list(chart)
			for _, fault := range d.check() {
				t.Error(fault)
			}
			if d.watermark != "SIMULATED" {
				t.Errorf("%q is written across a simulation", d.watermark)
			}
		})
	}
}

// single leaves an operation with one fitted shape.
func single(o *calibration.Operation) {
	o.Surface.Shapes = o.Surface.Shapes[:len(o.Axes)]
	for i := range o.Surface.Implementations {
		o.Surface.Implementations[i].Weights = o.Surface.Implementations[i].Weights[:1]
	}
}

func manyPowers() []power {
	var all []power
	for k := range surface.MostImplementations {
		share := float64(k) / surface.MostImplementations
		all = append(all, power{fmt.Sprintf("go/tile-%02d", k), math.Pow(2, 20*(share*share-2)), []float64{1 - 2*share, 0}})
	}
	return all
}

// FuzzMap draws maps of arbitrary numbers.
func FuzzMap(f *testing.F) {
	f.Add(1, 1024, 64, 480, 1.0, 0.5, 0.2, true)
	f.Add(1<<60, math.MaxInt, -5, 0, 1e300, -1e300, math.Inf(1), false)
	f.Fuzz(func(t *testing.T, from, to, a, b int, linear, weight, loss float64, classed bool) {
		o := crossing()
		if classed {
			o = transform()
		}
		o.Axes[0].From, o.Axes[1].To = from, to
		o.Surface.Shapes[0], o.HeldOut.Points[0], o.HeldOut.Losses[0] = max(a, 1), b, loss
		o.Surface.Implementations[0].Linear[1], o.Surface.Implementations[1].Weights[0] = linear, weight
		if chart := Map(&calibration.Host{}, o); chart != nil {
			for _, fault := range list(chart).check() {
				t.Error(fault)
			}
		}
	})
}

// A map says at which values of the axes without a direction it is drawn.
func TestFixedAxes(t *testing.T) {
	s := &surveyed{Operation: &calibration.Operation{}}
	for _, name := range []string{"heads", "width", "steps", "keys", "batch"} {
		s.Axes = append(s.Axes, calibration.Axis{Name: name})
	}
	if got := s.fixedWords(directions{x: 2, y: 0, third: 3, classed: -1}, []int{1, 64, 2, 225, 1024}); got != "width = 64, batch = 1\u202f024" {
		t.Errorf("%q", got)
	}
	got := subtitleOf(directions{third: 3, classed: -1}, nil, "width = 64")
	if want := "the fastest implementation, predicted from these shapes, each marked on the panel nearest to it; drawn at width = 64"; got != want {
		t.Errorf("%q", got)
	}
	s.Axes = s.Axes[:3]
	if got := s.fixedWords(directions{x: 2, y: 0, third: 1, classed: -1}, []int{1, 64, 2}); got != "" {
		t.Errorf("three axes have directions, and %q is fixed", got)
	}
}

// A map says of which other operations some of its shapes are.
func TestRelatives(t *testing.T) {
	h := &calibration.Host{Operations: []calibration.Operation{
		{Name: "fft", Family: "fft", Placement: "caller"}, {Name: "ifft", Family: "fft", Placement: "caller"},
		{Name: "ifft", Family: "fft", Placement: "shared"}, {Name: "stft", Family: "stft", Placement: "caller"},
		{Name: "log", Placement: "caller"}, {Name: "exp", Placement: "caller"},
	}}
	for k, want := range []string{
		"predicted from these shapes (some of ifft)", "predicted from these shapes (some of fft)",
		"predicted from these shapes", "predicted from these shapes", "predicted from these shapes", "predicted from these shapes",
	} {
		if got := subtitleOf(directions{third: -1, classed: -1}, relatives(h, &h.Operations[k]), ""); got != "the fastest implementation, "+want {
			t.Errorf("%s: %q, want %q", h.Operations[k].Name, got, want)
		}
	}
}
