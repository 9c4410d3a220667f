package songs

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
)

// turned is a chain of two gains with a turned tensor between them.
func turned(name string) *Graph {
	g := &Graph{
		Name:    name,
		Inputs:  []Input{{"x", kernels.Float32, 100}},
		Stages:  []Stage{gain("a", "x"), gain("b", "columns")},
		Derived: []Derived{{"columns", "a", Turned, 10}},
		Outputs: []string{"b"},
	}
	return g.unrevised()
}

// partsOf returns a measured length: stage a took twice what go was predicted to take there, and columns 3 ns a byte, or other
// multiples.
func partsOf(n int, factor, perByte, between float64) calibration.PipelineLength {
	return calibration.PipelineLength{Elements: []int{n, n}, Blocks: 3, BetweenSeconds: between,
		Routes: []calibration.Route{{Name: "best-1", Implementations: []string{"go", "go"}, MedianSeconds: 1, PredictedSeconds: 1.25}},
		Parts: []calibration.Part{
			{Name: "a", Implementation: "go", MedianSeconds: factor * 1e-6, PredictedSeconds: 1e-6},
			{Name: "columns", MedianSeconds: perByte * 4 * float64(n), Bytes: 4 * n},
		}}
}

// known returns a dispatcher that knows gains of 1 ns a value in Go and 2 ns on all cores, powers of 1 fs times the square of their number,
// and what was measured of pipelines.
func known(t *testing.T, pipelines ...calibration.Pipeline) *dispatch.Dispatcher {
	t.Helper()
	facts := host.Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2}
	for i := range pipelines {
		pipelines[i].Created = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		if pipelines[i].Stages == nil {
			pipelines[i].Stages = []string{"a", "b"}
		}
	}
	d, err := dispatch.New(&calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: facts.ID(), Facts: calibration.Facts(facts), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03},
		Cases: []calibration.Case{{
			Name: "gain", Operation: "gain", Verdict: calibration.Unresolved, Reason: "made up",
			Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1 << 10, To: 1 << 24},
			Implementations: []calibration.Implementation{
				{Name: "go", Processor: "cpu", Cost: &calibration.Cost{SizeSeconds: 1e-9, Exponent: 1}},
				{Name: "go-parallel", Processor: "cpu", Cost: &calibration.Cost{SizeSeconds: 2e-9, Exponent: 1}},
			},
		}, {
			Name: "power", Operation: "power", Verdict: calibration.Unresolved, Reason: "made up",
			Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1 << 4, To: 1 << 24},
			Implementations: []calibration.Implementation{
				{Name: "go", Processor: "cpu", Cost: &calibration.Cost{SizeSeconds: 1e-15, Exponent: 2}},
				{Name: "go-parallel", Processor: "cpu", Cost: &calibration.Cost{SizeSeconds: 2e-15, Exponent: 2}},
			},
		}},
		Pipelines: pipelines,
	}}}, dispatch.WithHost(facts), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A forecast has what stages take within the pipeline, what derived tensors take, and what lies between.
func TestForecastByParts(t *testing.T) {
	song := calibration.Pipeline{Name: "turned", Lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 1e-6), partsOf(100_000, 8, 4e-9, 3e-6)}}
	for name, test := range map[string]struct {
		graph string
		n     int
		route Route
		want  float64
	}{
		"at a length": {"turned", 1000, Route{"go", "go"}, 1e-6*(2+1) + 4e-6 + 1e-6},
		// The factor of a is 4 there, and its time 4 µs. Those of columns agree.
		"between two": {"turned", 10_000, Route{"go", "go"}, math.Sqrt(4e-5*4e-6) + 1e-5 + 2e-9*40_000 + math.Sqrt(3)*1e-6},
		// Half a step beyond the lengths, factors go on with a quarter of their slope, and what lies between with all of it.
		"below":                  {"turned", 100, Route{"go", "go"}, (2e-7+4e-7)/math.Pow(4, 0.125) + 1e-7 + 1e-6/math.Sqrt(3)},
		"above":                  {"turned", 1_000_000, Route{"go", "go"}, (8e-3+16e-3)*math.Pow(4, 0.125) + 1e-3 + 3e-6*math.Sqrt(3)},
		"another implementation": {"turned", 1000, Route{"go-parallel", "go-parallel"}, 2e-6*(2+1) + 4e-6 + 1e-6},
		"another graph":          {"new", 1000, Route{"go", "go"}, 2e-6 + 4e-9*4000}, // by what moves take elsewhere
	} {
		p, err := NewOn(kernels.Here(), known(t, song), turned(test.graph))
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.costs([]int{test.n}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.seconds(test.route); math.Abs(got/test.want-1) > 1e-9 {
			t.Errorf("%s: %g s, want %g s", name, got, test.want)
		}
		if e, err := p.Entrants(0, test.n); err != nil || test.graph == "turned" && test.n == 1000 && math.Abs(e[1].Seconds/8e-6-1) > 1e-9 {
			t.Errorf("%s: entrants %+v, %v", name, e, err)
		}
	}
}

// What a stage takes by an implementation that was not measured is told by those on its side alone: a list of kernels and a stage
// on the processor have nothing in common.
func TestForecastBySide(t *testing.T) {
	m := measured{lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 0)}, at: math.Log(1000)}
	processor := []cost{{"go", 1, 0, 1}, {"go-parallel", 1, 0, 1}}
	if got := m.stage("a", processor, 1); math.Abs(got-2) > 1e-9 {
		t.Errorf("beside go on the processor: %g s, want 2", got)
	}
	if got := m.stage("a", []cost{{"cuda", 3, 0, 3}}, 0); got != 3 {
		t.Errorf("on a GPU: %g s, want 3 as predicted", got)
	}
}

// Lengths at one place, and one without anything between its parts, predict all the same.
func TestForecastOfOddLengths(t *testing.T) {
	m := measured{at: 5, lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 0), partsOf(1000, 8, 1e-9, 3e-6), partsOf(2000, 8, 1e-9, 0)}}
	if got, known := m.of(1e-6, func(p *calibration.Part) bool { return p.Name == "a" }); !known || !(got > 0) || math.IsInf(got, 0) {
		t.Errorf("%g s, %v, want a finite time", got, known)
	}
	if got := m.besides(); math.Abs(got/3e-6-1) > 1e-9 {
		t.Errorf("besides: %g s, want that of the only length that has one", got)
	}
}

// What a call takes besides its parts goes on beyond the measured lengths as it rises, and does not rise where calls get shorter.
func TestForecastOfWhatIsBesides(t *testing.T) {
	for _, c := range []struct{ short, long, before, after float64 }{{1e-6, 3e-6, 1e-6 / 3, 9e-6}, {3e-6, 1e-6, 3e-6, 1e-6}} {
		for at, want := range map[float64]float64{1000: c.short, 3000: c.long, 1000 / 3.0: c.before, 9000: c.after} {
			m := measured{at: math.Log(at), lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, c.short), partsOf(3000, 2, 1e-9, c.long)}}
			if got := m.besides(); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%g and %g s at 1000 and 3000: %g s at %g, want %g", c.short, c.long, got, at, want)
			}
		}
	}
}

// What a byte takes is the slope between tensors whose sizes are far apart, and each tensor takes something besides.
func TestMoves(t *testing.T) {
	const each, byByte = 5e-6, 2e-11
	of := func(tensors, bytes int) move {
		return move{tensors, bytes, each*float64(tensors) + byByte*float64(bytes)}
	}
	for name, test := range map[string]struct {
		all  []move
		want moves
	}{
		"none":      {nil, moves{}},
		"far apart": {[]move{of(2, 500), of(3, 4000), of(2, 1<<20), of(2, 40<<20)}, moves{each, byByte}},
		"one wrong": {[]move{of(2, 500), of(3, 4000), of(2, 1<<20), of(2, 40<<20), of(2, 20<<20), {2, 30 << 20, 1}}, moves{each, byByte}},
		// Times of short tensors differ by noise, which must not become seconds for a long one.
		"short alone": {[]move{of(2, 264), {2, 512, 2.4 * each}, of(2, 528)}, moves{perTensor: each}},
		"falling":     {[]move{{2, 1, 10e-6}, {2, 1 << 20, 1e-6}}, moves{perTensor: 2.75e-6}},
	} {
		got := newMoves(test.all)
		if math.Abs(got.perTensor-test.want.perTensor) > 0.01*each || math.Abs(got.perByte-test.want.perByte) > 0.01*byByte {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// A forecast that leaves a length out knows nothing of it.
func TestForecastByOthers(t *testing.T) {
	song := calibration.Pipeline{Name: "turned", Lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 1e-6), partsOf(100_000, 8, 4e-9, 3e-6)}}
	p, err := NewOn(kernels.Here(), known(t, song), turned("turned"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.ForecastBy(song.Lengths[1:], Route{"go", "go"}, 0, 1000)
	if want := 1e-6*(8+1) + 16e-6 + 3e-6; err != nil || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%g s, %v, want %g s", got, err, want)
	}
	if _, err := p.ForecastBy(nil, Route{"go", "go"}, 0, 1001); err == nil || !strings.Contains(err.Error(), "rows of 10") {
		t.Errorf("1001 values in rows of 10: %v", err)
	}
}

// Parts are those of a route whose spans are given. Their predictions are those of stages alone.
func TestParts(t *testing.T) {
	song := calibration.Pipeline{Name: "turned", Lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 1e-6)}}
	p, err := NewOn(kernels.Here(), known(t, song), turned("turned"))
	if err != nil {
		t.Fatal(err)
	}
	all, covered, err := p.Parts(Route{"go", "go-parallel"}, map[string]float64{"a": 5e-6, "b": 7e-6, "columns": 1e-6, "other": 1}, 0, 1000)
	want := []calibration.Part{
		{Name: "a", Implementation: "go", MedianSeconds: 5e-6, PredictedSeconds: 1e-6},
		{Name: "b", Implementation: "go-parallel", MedianSeconds: 7e-6, PredictedSeconds: 2e-6},
		{Name: "columns", MedianSeconds: 1e-6, Bytes: 4000},
	}
	if err != nil || len(all) != len(want) || math.Abs(covered-13e-6) > 1e-15 {
		t.Fatalf("%+v cover %g s, %v", all, covered, err)
	}
	for i, w := range want {
		got := all[i]
		if got.Name != w.Name || got.Implementation != w.Implementation || got.Bytes != w.Bytes || math.Abs(got.MedianSeconds-w.MedianSeconds) > 1e-15 ||
			math.Abs(got.PredictedSeconds-w.PredictedSeconds) > 1e-15 {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	// A stage without spans, or without a prediction, is no part.
	all, covered, err = p.Parts(Route{"go", "fftw"}, map[string]float64{"b": 7e-6}, 0, 1000)
	if err != nil || len(all) != 0 || covered != 0 {
		t.Errorf("%+v cover %g s, %v", all, covered, err)
	}
}

// A list of kernels was measured as a whole. Its stages share its time, and its launch is as much off as they are.
func TestForecastOfList(t *testing.T) {
	c := &costs{launch: 3}
	var err error
	if c.w, err = chain().wire(); err != nil {
		t.Fatal(err)
	}
	c.words, c.calls = make([]int, len(c.w.tensors)), []int{1, 1, 1}
	for range 3 {
		c.onCPU, c.onGPU = append(c.onCPU, nil), append(c.onGPU, []cost{{"cuda", 1, 4, 1}})
	}
	if got := c.seconds(Route{"cuda", "cuda", "cuda"}); got != 4*(3+3) {
		t.Errorf("%g s, want 24", got)
	}
	c.onCPU[1] = []cost{{"go", 1, 2, 1}}
	if got := c.seconds(Route{"cuda", "go", "cuda"}); got != 4*(3+1)+2+4*(3+1) {
		t.Errorf("with a stage between: %g s, want 34", got)
	}
}

// A part of a pipeline goes by what was measured of the whole, where that does as much, and by its own measurements if it has some.
func TestForecastWithin(t *testing.T) {
	song := calibration.Pipeline{Name: "turned", Lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 1e-6), partsOf(100_000, 8, 4e-9, 3e-6)}}
	own := calibration.Pipeline{Name: "measured", Lengths: []calibration.PipelineLength{partsOf(1000, 5, 1e-9, 1e-6)}}
	d := known(t, song, own)
	whole, err := NewOn(kernels.Here(), d, turned("turned"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	for name, want := range map[string]float64{"part": 8, "measured": 5} {
		p, err := NewOn(kernels.Here(), d, turned(name))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.within = &within{Pipeline: whole, inputs: func(elements []int) []int { return []int{100 * elements[0]} }}
		c, err := p.costs([]int{1000}, 0)
		if err != nil {
			t.Fatal(err)
		}
		// The stage takes 1 µs alone.
		factor := c.onCPU[0][slices.IndexFunc(c.onCPU[0], func(c cost) bool { return c.implementation == "go" })].seconds / 1e-6
		if math.Abs(factor-want) > 1e-9 {
			t.Errorf("%s: %g times what the stage takes alone, want %g", name, factor, want)
		}
	}
}

// The two parts of an analysis go by the whole of as many frames.
func TestAnalysisWithin(t *testing.T) {
	a, err := NewAnalysis(nil, AnalysisParams{SampleRate: 22050})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const frames = 500
	for _, test := range []struct {
		p       *Pipeline
		element int
	}{{a.pipeline.parts.frames, (frames-1)*512 + 2048}, {a.pipeline.parts.rest, frames * 128}} {
		if test.p.within == nil || test.p.within.Pipeline != a.pipeline {
			t.Fatalf("%s is within nothing", test.p.w.Name)
		}
		if samples := test.p.within.inputs([]int{test.element})[0]; a.Frames(samples) != frames {
			t.Errorf("%s of %d frames: %d samples, which are %d", test.p.w.Name, frames, samples, a.Frames(samples))
		}
		for _, name := range test.p.names {
			if !slices.Contains(a.pipeline.names, name) {
				t.Errorf("the whole has no stage %s", name)
			}
		}
	}
}
