package calibration

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration/surface"
)

// TestOperationsAreChecked plants one mistake at a time.
func TestOperationsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(h *Host, o *Operation)
		want   string
	}{
		"no name":            {func(h *Host, o *Operation) { o.Name = "" }, "operations[0]: name is missing"},
		"an unknown place":   {func(h *Host, o *Operation) { o.Placement = "resident" }, `operation "fft": placement is "resident" (want caller, shared)`},
		"twins":              {func(h *Host, o *Operation) { h.Operations = []Operation{*o, *o} }, `operation "fft", caller: is there twice`},
		"no axes":            {func(h *Host, o *Operation) { o.Axes = nil }, "op: has 0 axes (want 1 to 8)"},
		"an axis from 0":     {func(h *Host, o *Operation) { o.Axes[1].From = 0 }, "op: axes[1]: from is 0 (want at least 1)"},
		"twin axes":          {func(h *Host, o *Operation) { o.Axes[1].Name = "n" }, `op: axes[1]: "n" is axes[0] too`},
		"axes of another":    {func(h *Host, o *Operation) { o.Surface.Axes[0] = "m" }, "op: the axes of its surface are others than its own (want the same in the same order)"},
		"axes in disorder":   {func(h *Host, o *Operation) { o.Axes[0], o.Axes[1] = o.Axes[1], o.Axes[0] }, "op: the axes of its surface are others than its own (want the same in the same order)"},
		"no implementations": {func(h *Host, o *Operation) { o.Implementations = nil }, "op: has no implementations"},
		"twin implementations": {func(h *Host, o *Operation) { o.Implementations[1].Name = "go" },
			`op: implementation "go": is there twice`},
		"a stranger": {func(h *Host, o *Operation) { o.Surface.Implementations[1].Name = "cuda" },
			`op: surface names "cuda", which is not among the implementations`},
		"an excluded one": {func(h *Host, o *Operation) { o.Surface.Implementations[1].Name = "mps" },
			`op: surface names "mps", which is excluded`},
		"a twin": {func(h *Host, o *Operation) { o.Surface.Implementations[1].Name = "go" },
			`op: a surface that has implementation "go" twice or without a name`},
		"one that no case knows": {func(h *Host, o *Operation) {
			o.Implementations[1].Name, o.Surface.Implementations[1].Name = "cuda", "cuda"
		}, `op: surface names "cuda", which is in no case of the operation`},
		"another processor than in the cases": {func(h *Host, o *Operation) { o.Implementations[1].Processor = "cpu" },
			`op: implementation "metal" runs on the cpu, and in a case of the operation on the gpu`},
		"a weight too few": {func(h *Host, o *Operation) { o.Surface.Implementations[0].Weights = []float64{1, 2} },
			`op: a surface with 2 weights of "go": want 3`},
		"a linear term too many": {func(h *Host, o *Operation) { o.Surface.Implementations[0].Linear = make([]float64, 4) },
			`op: a surface with 4 linear terms of "go": want 3`},
		"a weight that is none": {func(h *Host, o *Operation) { o.Surface.Implementations[1].Weights[2] = math.NaN() },
			`op: a surface with a number of "metal" that is none`},
		"a negative risk": {func(h *Host, o *Operation) { o.Surface.Implementations[1].Risk = -1 },
			`op: a surface with a number of "metal" that is none`},
		"a scale that is none": {func(h *Host, o *Operation) { o.Surface.Scales[0] = math.Inf(1) },
			"op: a surface with a scale that is no number"},
		"a scale too few":   {func(h *Host, o *Operation) { o.Surface.Scales = nil }, "op: a surface with 0 scales of 2 features"},
		"half a shape":      {func(h *Host, o *Operation) { o.Surface.Shapes = []int{64, 1, 4410} }, "op: a surface with 3 numbers of shapes of 2 axes: want 1 to 4096 shapes"},
		"a shape of size 0": {func(h *Host, o *Operation) { o.Surface.Shapes[3] = 0 }, "op: a surface with a shape of size 0 or less"},
		"no features": {func(h *Host, o *Operation) { o.Surface.Features, o.Surface.Scales = nil, nil },
			"op: a surface of 0 features: want 1 to 24"},
		"an unknown feature": {func(h *Host, o *Operation) { o.Surface.Features[1].Kind = "colour" },
			`op: a surface whose feature 1 is wrong: kind "colour" is not known`},
		"a feature of other axes": {func(h *Host, o *Operation) { o.Surface.Features[0].Weights = []float64{1} },
			"op: a surface whose feature 0 is wrong: 1 weights of 2 axes"},
		"a prime that is none": {func(h *Host, o *Operation) { o.Surface.Features[1].Prime = 1 },
			"op: a surface whose feature 1 is wrong: prime 1: want 2 to 512"},
		"fewer than no shapes": {func(h *Host, o *Operation) { o.HeldOut.Shapes = -1 }, "op: held_out: shapes is -1 (want at least 0)"},
		"regret that is none":  {func(h *Host, o *Operation) { o.HeldOut.Regret = math.NaN() }, "op: held_out: regret is NaN (want a finite number above -1)"},
		"a bound below the regret": {func(h *Host, o *Operation) { o.HeldOut.RegretUpper = 0 },
			"op: held_out: regret_upper is 0 (want a finite number, at least the regret, 0.01)"},
		"a share above 1": {func(h *Host, o *Operation) { o.HeldOut.Within = 50 }, "op: held_out: within_5_percent is 50 (want 0 to 1)"},
		"a bound above the share": {func(h *Host, o *Operation) { o.HeldOut.WithinLower = 0.6 },
			"op: held_out: within_5_percent_lower is 0.6 (want 0 to within_5_percent, 0.5)"},
		"fewer than no crossed shapes": {func(h *Host, o *Operation) { o.HeldOut.Crossed = -1 }, "op: held_out: crossed is -1 (want at least 0)"},
		"endless regret at nine in ten": {func(h *Host, o *Operation) { o.HeldOut.NineInTenUpper = math.Inf(1) },
			"op: held_out: nine_in_ten_upper is +Inf (want a finite number above -1)"},
		"endless regret": {func(h *Host, o *Operation) { o.HeldOut.Worst = math.Inf(1) }, "op: held_out: worst is +Inf (want a finite number above -1)"},
		"a worst shape of other axes": {func(h *Host, o *Operation) { o.HeldOut.WorstShape = []int{1} },
			"op: held_out: worst_shape has 1 values (want 2, one for each axis)"},
		"points without losses": {func(h *Host, o *Operation) { o.HeldOut.Losses = nil },
			"op: held_out: points has 4 values and losses 0 (want 2 values of each shape)"},
		"losses of other shapes": {func(h *Host, o *Operation) { o.HeldOut.Shapes = 3 },
			"op: held_out: losses has 2 values (want none, or 3, the number of shapes)"},
		"a loss that is none":  {func(h *Host, o *Operation) { o.HeldOut.Losses[1] = -1 }, "op: held_out: losses[1] is -1 (want a finite number above -1)"},
		"fewer than no blocks": {func(h *Host, o *Operation) { o.Blocks = -1 }, "op: blocks is -1 (want a finite number, at least 0)"},
		"samples of no digest": {func(h *Host, o *Operation) { o.Samples = "sha256:" }, `op: samples is no digest (want "sha256:" and 64 hexadecimal digits)`},
		"a surface of nothing but scales": {func(h *Host, o *Operation) { o.Surface.Shapes, o.Surface.Implementations = nil, nil },
			"op: a surface with 0 numbers of shapes of 2 axes: want 1 to 4096 shapes"},
		"an asked shape of other axes": {func(h *Host, o *Operation) { o.Asked[0].Shape = []int{441} },
			"op: asked[0]: shape has 1 values (want 2, one for each axis)"},
		"an asked shape of size 0":  {func(h *Host, o *Operation) { o.Asked[0].Shape = []int{441, 0} }, "op: asked[0]: shape has a value below 1"},
		"an asked shape of no call": {func(h *Host, o *Operation) { o.Asked[1].Calls = 0 }, "op: asked[1]: calls is 0 (want at least 1)"},
		"an asked shape twice": {func(h *Host, o *Operation) { o.Asked[1].Shape = []int{441, 64} },
			"op: asked[1]: shape [441 64] is not behind the one before, [441 64] (want them sorted, each once)"},
		"a time too few": {func(h *Host, o *Operation) { o.Asked[0].MedianSeconds = []float64{1, 2} },
			"op: asked[0]: median_seconds has 2 values (want none, or 3, one for each implementation)"},
		"a time that is none": {func(h *Host, o *Operation) { o.Asked[0].MedianSeconds[1] = math.NaN() },
			`op: asked[0]: median_seconds of "metal" is NaN (want a finite number, at least 0)`},
		"a time below 0": {func(h *Host, o *Operation) { o.Asked[0].MedianSeconds[0] = -1 },
			`op: asked[0]: median_seconds of "go" is -1 (want a finite number, at least 0)`},
		"a time of an excluded one": {func(h *Host, o *Operation) { o.Asked[0].MedianSeconds[2] = 1 },
			`op: asked[0]: median_seconds of "mps" is 1, and that is excluded (want 0)`},
		"an asked regret below 0": {func(h *Host, o *Operation) { *o.Asked[0].Regret = -0.1 },
			"op: asked[0]: regret is -0.1 (want a finite number, at least 0)"},
		"too many asked shapes": {func(h *Host, o *Operation) { o.Asked = make([]Asked, MostAsked+1) }, "op: asked has 1025 shapes (want at most 1024)"},
		"a run at no time":      {func(h *Host, o *Operation) { o.Created = new(time.Time) }, "op: created is missing"},
		"a point of size 0":     {func(h *Host, o *Operation) { o.HeldOut.Points[1] = 0 }, "op: held_out: a shape has a value below 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := example()
			h := &f.Hosts[1]
			test.change(h, &h.Operations[0])
			want := `calibration: hosts[1] "apple-m3-max-40": ` + strings.Replace(test.want, "op: ", `operation "fft", caller: `, 1)
			if err := f.Validate(); err == nil || err.Error() != want {
				t.Errorf("error\n got %v\nwant %s", err, want)
			}
		})
	}

	for name, change := range map[string]func(h *Host, o *Operation){
		"not fitted": func(h *Host, o *Operation) {
			o.Surface = surface.Surface{Axes: o.Surface.Axes, Features: o.Surface.Features}
		},
		"of no known run":         func(h *Host, o *Operation) { o.Created = nil },
		"without cases":           func(h *Host, o *Operation) { h.Cases, h.Runs = nil, nil },
		"nothing asked":           func(h *Host, o *Operation) { o.Asked = nil },
		"nothing held out":        func(h *Host, o *Operation) { o.HeldOut = HeldOut{} },
		"bounds of before":        func(h *Host, o *Operation) { o.HeldOut.Crossed, o.HeldOut.NineInTenUpper = 0, 0 },
		"held out and not listed": func(h *Host, o *Operation) { o.HeldOut.Points, o.HeldOut.Losses = nil, nil },
		"in shared memory too": func(h *Host, o *Operation) {
			h.Operations = append(h.Operations, *o)
			h.Operations[1].Placement = "shared"
		},
		"a part of the implementations":    func(h *Host, o *Operation) { o.Surface.Implementations = o.Surface.Implementations[:1] },
		"an implementation of other cases": func(h *Host, o *Operation) { h.Cases[0].Name, h.Cases[0].Operation = "sum", "sum" },
	} {
		f := example()
		h := &f.Hosts[1]
		change(h, &h.Operations[0])
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// JSON has no NaN. One line refuses what other programs write instead.
func TestNumbersThatAreNone(t *testing.T) {
	valid := string(encoded(t, example()))
	for _, test := range []struct{ old, new, want string }{
		{`"scales": [0.25`, `"scales": [null`, "operations: line L: got null in a list (want a value)"},
		{`0.0012345,-0.25`, `0.0012345,null`, "operations: line L: got null in a list (want a value)"},
		{`"losses": [0.07`, `"losses": [1e999`, "line L: operations.held_out.losses: got number 1e999 (want a number)"},
		{`"risk": 0.03`, `"risk": 1e999`, "line L: operations.surface.implementations.risk: got number 1e999 (want a number)"},
		{`0.0012345,-0.25`, `0.0012345,NaN`, "line L: not JSON, invalid character 'N' looking for beginning of value (restore it, e.g. from git, or move it away and calibrate again)"},
		{`"weights": [0,0.125,-0.5]`, `"weights": null`, `operation "fft", caller: a surface with 0 weights of "metal": want 3`},
		{`"surface": {`, `"surface": null, "old": {`, `operation "fft", caller: the axes of its surface are others than its own (want the same in the same order)`},
	} {
		if !strings.Contains(valid, test.old) {
			t.Fatalf("the example lacks %q", test.old)
		}
		line := 1 + strings.Count(valid[:strings.Index(valid, test.old)], "\n")
		want := `hosts[1] "apple-m3-max-40": ` + strings.Replace(test.want, "line L", fmt.Sprintf("line %d", line), 1)
		x, err := ReadIndex(strings.NewReader(strings.Replace(valid, test.old, test.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Entries[1].Host(); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", test.new, err, want)
		}
	}
}

// A surface that is not fitted is written without null, and read back.
func TestSurfaceThatIsNotFitted(t *testing.T) {
	f := &File{Hosts: []Host{m3()}}
	s := &f.Hosts[0].Operations[0].Surface
	*s = surface.Surface{Axes: s.Axes, Features: s.Features}
	text := encoded(t, f)
	if err := validateText(t, compiledSchema(t), text); err != nil {
		t.Error(err)
	}
	read, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := &read.Hosts[0].Operations[0].Surface; got.Fitted() || len(got.Features) != 2 || len(s.Features) != 2 || s.Shapes != nil {
		t.Errorf("read %+v", got)
	}
}

// TestSurfacesAreLaidOut tests that the numbers of a surface fill their lines, and that an edited one is found out.
func TestSurfacesAreLaidOut(t *testing.T) {
	f := &File{Hosts: []Host{m3()}}
	without := strings.Count(string(encoded(t, f)), "\n")
	f.Hosts[0].Operations[0] = wideOperation("fft", 200, "go", "accelerate", "metal")
	text := string(encoded(t, f))
	if lines, most := strings.Count(text, "\n"), without+len(text)/(mostColumns*8/10); lines > most {
		t.Errorf("%d lines for %d bytes, want at most %d", lines, len(text), most)
	}
	read, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if read.Hosts[0].Edited {
		t.Error("what was laid out counts as edited")
	}
	edited := strings.Replace(text, `"risk": 0.03`, `"risk": 0.04`, 1)
	if read, err = Read(strings.NewReader(edited)); err != nil || !read.Hosts[0].Edited {
		t.Errorf("%v: an edited surface does not count as edited", err)
	}
}

// wideOperation returns an operation of two axes with a surface of a number of shapes.
func wideOperation(name string, shapes int, implementations ...string) Operation {
	o := fftOperation()
	o.Asked = nil
	o.Name = name
	random := rand.New(rand.NewPCG(1, uint64(shapes)))
	digits := func() float64 { return math.Round(random.NormFloat64()*1e5) / 1e5 } // as package harness rounds
	o.Surface.Features = []surface.Feature{
		{Kind: surface.Logarithm, Weights: []float64{1, 0}}, {Kind: surface.Logarithm, Weights: []float64{0, 1}},
		{Kind: surface.Logarithm, Weights: []float64{1, 1}}, {Kind: surface.Padding, Weights: []float64{1, 0}},
	}
	o.Surface.Scales = []float64{0.1, 0.2, 0.3, 0.4}
	o.Surface.Shapes, o.Surface.Implementations, o.Implementations = nil, nil, nil
	for range shapes {
		o.Surface.Shapes = append(o.Surface.Shapes, 64+random.IntN(65473), 1+random.IntN(1024))
	}
	for _, implementation := range implementations {
		processor := "cpu"
		if implementation == "metal" {
			processor = "gpu"
		}
		o.Implementations = append(o.Implementations, Implementation{Name: implementation, Processor: processor})
		i := surface.Implementation{Name: implementation, Linear: []float64{-20, digits(), digits(), digits(), digits()}, Risk: 0.03}
		for range shapes {
			i.Weights = append(i.Weights, digits())
		}
		o.Surface.Implementations = append(o.Surface.Implementations, i)
	}
	return o
}

// TestOthersAreNotDecoded loads one host of many. The others have mistakes that decoding would find.
func TestOthersAreNotDecoded(t *testing.T) {
	f := &File{}
	for i := range 8 {
		h := m3()
		h.ID = fmt.Sprintf("host-%d", i)
		h.Operations = nil
		for k := range 14 {
			h.Operations = append(h.Operations, wideOperation(fmt.Sprintf("operation-%02d", k), 200, "go", "go-parallel", "fftw", "fftw-parallel", "cuda", "cufft"))
		}
		f.Hosts = append(f.Hosts, h)
	}
	text := encoded(t, f)
	text = bytes.ReplaceAll(text, []byte(`"risk": 0.03`), []byte(`"risk": nope`))
	at := bytes.Index(text, []byte(`"id": "host-5"`))
	end := at + bytes.Index(text[at:], []byte(`"id": "host-6"`))
	text = append(text[:at:at], append(bytes.ReplaceAll(text[at:end], []byte("nope"), []byte("0.03")), text[end:]...)...)

	var h *Host
	var err error
	allocated := allocatedBy(func() {
		var x *Index
		if x, err = ReadIndex(bytes.NewReader(text)); err == nil {
			h, err = x.Entries[5].Host()
		}
	})
	if err != nil || len(h.Operations) != 14 {
		t.Fatalf("%v, %+v", err, h)
	}
	if most := uint64(3*len(text) + 8<<20); allocated > most { // the buffer of a reader without a length doubles
		t.Errorf("%d bytes allocated for a text of %d", allocated, len(text))
	}
	x, err := ReadIndex(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Entries[4].Host(); err == nil {
		t.Error("the mistakes are none: this test tests nothing")
	}
}

// TestOperationsAreSorted tests that operations are read back sorted, whatever their order in the file, and that an update
// of another host keeps their bytes.
func TestOperationsAreSorted(t *testing.T) {
	f := &File{SchemaVersion: SchemaVersion, Hosts: []Host{m3()}}
	shared, stft := fftOperation(), fftOperation()
	shared.Placement, stft.Name = "shared", "stft"
	f.Hosts[0].Operations = []Operation{stft, shared, fftOperation()}
	read, err := Read(strings.NewReader(encodedAsIs(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	h := &read.Hosts[0]
	if h.Operations[0].Placement != "caller" || h.Operations[1].Placement != "shared" || h.Operations[2].Name != "stft" {
		t.Errorf("operations in the order of the file: %+v", h.Operations)
	}
	if h.Operation("fft", "shared") != &h.Operations[1] || h.Operation("stft", "shared") != nil {
		t.Error("the wrong operation was found")
	}
	if of := h.For(&h.Cases[0]); of.Operations != nil {
		t.Error("the host of a case has operations")
	}
}

// TestNewestRun tests which run of an operation is the newest one, also where only its cases say.
func TestNewestRun(t *testing.T) {
	h := m3()
	o := &h.Operations[0]
	day := func(n int) time.Time { return h.Created.AddDate(0, 0, n) }
	o.Created = new(day(9))
	if got := h.NewestRun(o); !got.Equal(day(9)) {
		t.Errorf("%v, want that of the operation", got)
	}
	o.Created = nil
	if got := h.NewestRun(o); !got.Equal(day(0)) {
		t.Errorf("%v, want that of the only case", got)
	}
	h.Runs = []Run{{Created: day(3)}, {Created: day(5)}, {Created: day(7)}}
	other := h.Cases[0]
	h.Cases[0].Run, other.Run, other.Name = 2, 1, "fft/batch=2"
	h.Cases = append(h.Cases, other, Case{Name: "sum", Operation: "sum", Run: 3})
	if got := h.NewestRun(o); !got.Equal(day(5)) {
		t.Errorf("%v, want that of the newest case", got)
	}
	h.Cases = nil
	if got := h.NewestRun(o); !got.Equal(day(0)) {
		t.Errorf("%v, want that of the entry", got)
	}
}

// A size of a case is the value of all axes that the case does not fix.
func TestShapeOfASize(t *testing.T) {
	o := &Operation{Axes: []Axis{{Name: "m"}, {Name: "k"}, {Name: "n"}}}
	for _, test := range []struct {
		parameters map[string]int
		want       []int
	}{
		{map[string]int{"k": 64, "n": 16, "shared": 1}, []int{5, 64, 16}},
		{nil, []int{5, 5, 5}},
	} {
		if got := o.ShapeOf(&Case{Parameters: test.parameters}, 5); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.parameters, got, test.want)
		}
	}
}
