package songs

import (
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/elementwise"
	"crossover/kernels/stft"
	"crossover/kernels/tempogram"
)

// gain returns a stage that multiplies by 2.
func gain(name, reads string) Stage {
	return sized(name, elementwise.NewGain(nil, 2).SizedPlan, 1, reads)
}

// chain returns a graph of x → a → b → c.
func chain() *Graph {
	g := &Graph{
		Name:    "chain",
		Inputs:  []Input{{"x", kernels.Float32, 100}},
		Stages:  []Stage{gain("a", "x"), gain("b", "a"), gain("c", "b")},
		Outputs: []string{"c"},
	}
	return g.unrevised()
}

// A program that has no graph gets an error, which is one line.
func TestNoGraph(t *testing.T) {
	var g *Graph
	_, ofNew := New(nil, g)
	_, ofReference := NewReference(g)
	for _, err := range []error{ofNew, ofReference, g.Check()} {
		if err == nil || !strings.HasPrefix(err.Error(), "songs: there is no graph (want ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("no graph: %v", err)
		}
	}
}

func TestCheck(t *testing.T) {
	transform, err := stft.New(nil, stft.Params{NFFT: 64, Hop: 16})
	if err != nil {
		t.Fatal(err)
	}
	lags, err := tempogram.New(nil, tempogram.Params{Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	spectra := sized("s", transform.SizedPlan, 1, "x")
	for _, test := range []struct {
		name, want string // "" for no error
		change     func(g *Graph)
	}{
		{"as it is", "", func(*Graph) {}},
		{"in another order", "", func(g *Graph) { slices.Reverse(g.Stages) }},
		{"no stages", "there are no stages", func(g *Graph) { g.Stages = nil }},
		{"no outputs", "there are no outputs", func(g *Graph) { g.Outputs = nil }},
		{"a missing edge", `stage b: there is no tensor "missing" (there are x, a, b, c)`, func(g *Graph) { g.Stages[1].Reads[0] = "missing" }},
		{"an unknown output", `outputs: there is no tensor "d"`, func(g *Graph) { g.Outputs[0] = "d" }},
		{"an input as an output", "output x is an input or derived", func(g *Graph) { g.Outputs[0] = "x" }},
		{"a cycle", "the stages a → c → b → a are a cycle", func(g *Graph) {
			g.Stages[0] = gain("a", "c")
		}},
		{"a stage that reads itself", "the stages b → b are a cycle", func(g *Graph) {
			g.Stages[1] = gain("b", "b")
		}},
		{"a cycle through a turned tensor", "are a cycle", func(g *Graph) {
			g.Derived = []Derived{{Name: "back", Of: "c", How: Turned, Columns: 10}}
			g.Stages[0] = gain("a", "back")
		}},
		{"what the last call left", "", func(g *Graph) {
			g.Derived = []Derived{{Name: "back", Of: "c", How: Last}}
			g.Stages[0].Reads[0] = "back"
		}},
		{"a name twice", `the name "b" is there twice`, func(g *Graph) { g.Stages[2].Name = "b" }},
		{"a stage without a name", "a stage has no name", func(g *Graph) { g.Stages[2].Name = "" }},
		{"an input without a name", "a tensor has no name", func(g *Graph) { g.Inputs[0].Name = "" }},
		{"a stage that nothing needs", "nothing needs stage c", func(g *Graph) { g.Outputs[0] = "b" }},
		{"no length", "input x: Usual is 0", func(g *Graph) { g.Inputs[0].Usual = 0 }},
		{"no operation", "stage b has no operation", func(g *Graph) { g.Stages[1].Step = nil }},
		{"no shape", "stage b has no shape", func(g *Graph) { g.Stages[1].Shape = nil }},
		{"too many inputs", "stage b reads 2 tensors (want 1: x)", func(g *Graph) { g.Stages[1].Reads = []string{"a", "x"} }},
		{"too few inputs", "stage b reads 0 tensors (want 1: x)", func(g *Graph) { g.Stages[1].Reads = nil }},
		{"elements of another type", "stage b: x is float32, and s is complex64", func(g *Graph) {
			g.Stages = []Stage{spectra, gain("b", "s"), gain("c", "b")}
		}},
		{"words of another type", "stage b: x is [231] of float32, 231 words, and s has 462", func(g *Graph) {
			g.Stages = []Stage{spectra, gain("b", "s"), gain("c", "b")}
			g.Stages[1].Words = true
		}},
		{"a length that does not fit", "stage c: x is [50] of float32, 50 words, and b has 100", func(g *Graph) {
			g.Stages[2].Shape = Along("b", 2, func(n int) kernels.Shape { return kernels.Shape{n} })
		}},
		{"a length that is not known", `stage a: the length of "c" is not known before the stage`, func(g *Graph) {
			g.Stages[0].Shape = Along("c", 1, func(n int) kernels.Shape { return kernels.Shape{n} })
		}},
		{"a value that decides and is no integer", "stage b: a decides and is float32 (want uint32)", func(g *Graph) {
			g.Stages[1].Decides, g.Stages[1].Decided = "a", func(uint32) (kernels.Step, error) { return g.Stages[0].Step, nil }
		}},
		{"a value that decides and is derived", "stage c: d decides and is derived", func(g *Graph) {
			g.Derived = []Derived{{Name: "d", Of: "a", How: Last}}
			g.Stages[2].Decides, g.Stages[2].Decided = "d", func(uint32) (kernels.Step, error) { return g.Stages[0].Step, nil }
		}},
		{"a derivation of nothing", `tensor d: there is no tensor "nothing"`, func(g *Graph) {
			g.Derived = []Derived{{Name: "d", Of: "nothing"}}
		}},
		{"a derivation of another kind", "tensor d: How is 7", func(g *Graph) { g.Derived = []Derived{{Name: "d", Of: "a", How: 7}} }},
		{"a derivation without columns", "tensor d: Columns is 0", func(g *Graph) { g.Derived = []Derived{{Name: "d", Of: "a", How: All}} }},
		{"a derivation of a derivation", "tensor e is derived from d, which is derived", func(g *Graph) {
			g.Derived = []Derived{{Name: "d", Of: "a", How: All, Columns: 10}, {Name: "e", Of: "d", How: All, Columns: 10}}
		}},
		{"the last input", "tensor d: x is an input or kept already", func(g *Graph) { g.Derived = []Derived{{Name: "d", Of: "x"}} }},
		{"rows that do not fit", "stage b: a has 100 words (want rows of 33 for d)", func(g *Graph) {
			g.Derived = []Derived{{Name: "d", Of: "a", How: Turned, Columns: 33}}
			g.Stages[1].Reads[0] = "d"
		}},
		{"a part of a row", "stage b", func(g *Graph) {
			g.Stages[1] = sized("b", lags.SizedPlan, 33, "a")
		}},
	} {
		g := chain()
		test.change(g)
		err := g.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has several lines: %q", test.name, err)
		}
		if _, newErr := New(nil, g); (newErr == nil) != (err == nil) {
			t.Errorf("%s: Check says %v, and New %v", test.name, err, newErr)
		}
	}
}

// A filter in a graph keeps its state from call to call, as its typed plan does.
func TestStateGoesOn(t *testing.T) {
	lowpass, err := biquad.Lowpass(500, 22050)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := biquad.New(nil, lowpass, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	step, shape := kernels.StepOfPlan(plan.SizedPlan)
	p, err := New(nil, &Graph{
		Name:    "filter",
		Inputs:  []Input{{"x", kernels.Float32, 64}},
		Stages:  []Stage{gain("loud", "x"), {Name: "filtered", Step: step, Reads: []string{"loud", "state"}, Shape: Along("loud", 1, shape)}},
		Derived: []Derived{{Name: "state", Of: "filtered.after", How: Last}},
		Outputs: []string{"filtered", "filtered.after"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := make([]float32, 1000)
	kernels.Noise(x, 1)
	loud := slices.Clone(x)
	for i := range loud {
		loud[i] *= 2
	}
	want := biquad.Reference(lowpass, loud, 1)
	for range 2 {
		var got []float32
		for _, n := range []int{64, 64, 1, 500, 371} {
			if err := p.Run(x[len(got) : len(got)+n]); err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Floats("filtered")...)
			if len(p.Floats("filtered.after")) != 4 {
				t.Fatalf("a state of %d words", len(p.Floats("filtered.after")))
			}
		}
		if e := kernels.RelativeError(got, want); !(e <= 1e-6) {
			t.Errorf("relative error %.2g", e)
		}
		p.Reset()
	}
}

func TestRunRefuses(t *testing.T) {
	p, err := New(nil, chain())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want   string
		inputs [][]float32
	}{
		{"songs: chain: 0 inputs (want 1)", nil},
		{"songs: chain: x: the input is empty", [][]float32{{}}},
		{"songs: chain: 2 inputs (want 1)", [][]float32{{1}, {2}}},
	} {
		if err := p.Run(test.inputs...); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %q", err, test.want)
		}
		if got := p.Floats("c"); got != nil {
			t.Errorf("an output without a call: %v", got)
		}
	}
	if err := p.Run([]float32{1, 2}); err != nil || !slices.Equal(p.Floats("c"), []float32{8, 16}) {
		t.Errorf("got %v, %v", p.Floats("c"), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for an output that is none")
		}
	}()
	p.Floats("a")
}

// A warm call with the same lengths allocates nothing.
func TestAllocations(t *testing.T) {
	p, err := New(nil, chain())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := make([]float32, 100)
	call := func() {
		if err := p.Run(x); err != nil {
			t.Fatal(err)
		}
	}
	call()
	call()
	if n := testing.AllocsPerRun(20, call); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A layout forgets the lengths of a stage's tensors with its step: another one has others at the same shape.
func TestLayoutOfAnotherStep(t *testing.T) {
	w, err := chain().wire()
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(w)
	if _, err := l.arrange([]int{100}, nil, 0); err != nil {
		t.Fatal(err)
	}
	l.steps[1], _ = kernels.StepOfPlan(elementwise.NewPower(nil).SizedPlan) // reads complex values
	if _, err := l.arrange([]int{100}, nil, 0); err == nil || !strings.Contains(err.Error(), "200 words, and a has 100") {
		t.Errorf("%v, want that the stage reads 200 words", err)
	}
}

// TestWhatNobodyMade calls zero values, and a divisor of 0.
func TestWhatNobodyMade(t *testing.T) {
	const zero = "songs: used as a zero value (make it by a function of the package whose name begins with New)"
	x := make([]float32, 4)
	for name, test := range map[string]struct {
		call func()
		want string
	}{
		"pipeline":    {func() { new(Pipeline).Run(x) }, zero},
		"analysis":    {func() { new(Analysis).Run(x) }, zero},
		"decoder":     {func() { new(Decoder).Step(x, 0) }, zero},
		"separator":   {func() { new(Separator).Run(x, x) }, zero},
		"synthesiser": {func() { new(Synthesiser).Render(x) }, zero},
		"along":       {func() { Along("x", 0, nil) }, `songs: Along("x", 0): want at least 1 element for each`},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("%s panics with %v, want %q", name, got, test.want)
				}
			}()
			test.call()
		}()
	}
}
