package songs

import (
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// smallAnalysis has frames that are soon computed.
var smallAnalysis = AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}

// A call in parts follows the route of the pipeline, also after another one, and says so.
func TestPartsFollowTheRoute(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(true))
	p, err := NewOn(b, nil, must(AnalysisGraph(smallAnalysis)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.parts.onProcessor, p.parts.onGPU = 10, 20
	x := kernels.GeneratedInput().Samples[:32*40]
	onGPU := onEmulator(b, p.w.Graph)
	spectraOnGPU := append(slices.Clone(onGPU[:4]), "go", "go-parallel", "go", "go", "go", "go")
	for _, test := range []struct {
		route Route
		spans string
		parts int
	}{
		{slices.Repeat(Route{"go"}, 10), "stft|power|mel|chroma", 5},
		{append(Route{"go-parallel"}, slices.Repeat(Route{"go"}, 9)...), "stft|power|mel|chroma", 5},
		{spectraOnGPU, "stft + power + mel + chroma", 3},
		{append(slices.Clone(onGPU[:9]), "go"), "stft + power + mel + chroma", 3},
	} {
		if err := p.Follow(test.route); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			names := strings.NewReplacer("@processor", "", "@transfer", "", "@gpu", "").Replace(spanNames(spansOf(t, p, x)))
			if n := strings.Count(names, test.spans+"|"+joinName); n != test.parts {
				t.Errorf("%v: %d parts in %s, want %d", test.route, n, names, test.parts)
			}
			if got := p.Chosen(); !slices.Equal(got, test.route) {
				t.Errorf("chosen is %v, want %v", got, test.route)
			}
			how := p.Explain()
			if !strings.HasPrefix(how, "analysis: as the program says\n") || strings.Count(how, "\n") != 11 {
				t.Errorf("%v: %s", test.route, how)
			}
			for i, name := range test.route {
				if line := "  " + p.names[i] + ": " + name; !strings.Contains(how, line) {
					t.Errorf("%q is not in %s", line, how)
				}
			}
		}
	}
}

// What was measured of the whole decides how the parts are computed.
func TestPartsFollowWhatWasMeasured(t *testing.T) {
	g := must(AnalysisGraph(smallAnalysis))
	route := append(slices.Repeat(Route{"go-parallel"}, 4), slices.Repeat(Route{"go"}, 6)...)
	x := kernels.GeneratedInput().Samples[:32*40]
	p, err := New(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := p.Elements(len(x))
	if err != nil {
		t.Fatal(err)
	}
	of := calibration.Pipeline{Name: g.Name, Stages: p.names, Lengths: []calibration.PipelineLength{{Elements: elements, Blocks: 3, Margin: 0.5, Revisions: p.Revisions(),
		Routes: []calibration.Route{{Name: "best-1", Implementations: route, MedianSeconds: 1e-3, PredictedSeconds: 1e-3}}}}}
	if p, err = New(known(t, of), g); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.parts.onProcessor = 10
	for range 2 {
		if err := p.Run(x); err != nil {
			t.Fatal(err)
		}
		if got := p.Chosen(); !slices.Equal(got, route) || !strings.Contains(p.Explain(), "the fastest that was measured") {
			t.Errorf("chosen is %v, want %v: %s", got, route, p.Explain())
		}
	}
	if err := p.FollowPlan(Best, len(x)); err != nil {
		t.Fatal(err)
	}
	if how := p.Explain(); p.Chosen() != nil || strings.Contains(how, "stft") {
		t.Errorf("before a call by a new plan: %v, %s", p.Chosen(), how)
	}
	if err := p.FollowPlan(Stages, len(x)); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(x); err != nil {
		t.Fatal(err)
	}
	if got := p.Chosen(); slices.Equal(got, route) || slices.Contains(got, "") {
		t.Errorf("each stage as the dispatcher chooses: %v", got)
	}
}

// What was measured while all frames were timed at once does not count for long inputs.
func TestPartsAreARevision(t *testing.T) {
	p, err := New(nil, must(AnalysisGraph(smallAnalysis)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	route := &calibration.Route{Implementations: slices.Repeat([]string{"go"}, 10)}
	for _, test := range []struct {
		frames    int
		revisions []calibration.StageRevision
		want      bool
	}{{512, nil, true}, {513, nil, false}, {513, p.Revisions(), true}} {
		elements, err := p.Elements(32 * (test.frames - 1))
		if err != nil {
			t.Fatal(err)
		}
		l := &calibration.PipelineLength{Elements: elements, Revisions: p.Revisions(), Parts: []calibration.Part{{Name: "stft", Implementation: "go", MedianSeconds: 1, PredictedSeconds: 1}}}
		if test.revisions == nil {
			l.Revisions = slices.DeleteFunc(l.Revisions, func(r calibration.StageRevision) bool { return r.Implementation == inPartsName })
		}
		if doubt := p.doubt(l, route); (doubt == "") != test.want || (len(p.believed(l)) == 1) != test.want {
			t.Errorf("%d frames: %q, %d parts; want it to count: %v", test.frames, doubt, len(p.believed(l)), test.want)
		}
	}
}

// A call that fails in the middle of its parts did not happen. What failed is forgotten with the route, and calls go on in another
// pipeline.
func TestPartsThatFail(t *testing.T) {
	b, c := countedBackends(t, false)
	g := must(AnalysisGraph(smallAnalysis))
	p, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.parts.onProcessor, p.parts.onGPU = 10, 10
	x := kernels.GeneratedInput().Samples[:32*40]
	if err := p.Follow(append(onEmulator(b, g)[:4:4], "go", "go", "go", "go", "go", "go")); err != nil {
		t.Fatal(err)
	}
	run := func() {
		t.Helper()
		if err := p.Run(x); err != nil {
			t.Fatal(err)
		}
	}
	run()
	want := slices.Clone(p.Floats("chroma"))
	c.fails = true
	if run(); !p.Failed() {
		t.Error("a list fails in parts, and nobody knows")
	}
	if e := kernels.RelativeError(p.Floats("chroma"), widenedTo64(want)); !(e <= 1e-5) {
		t.Errorf("by the stages instead: an error of %g", e)
	}
	if err := p.Follow(slices.Repeat(Route{"go"}, 10)); err != nil {
		t.Fatal(err)
	}
	if p.Failed() {
		t.Error("the failure outlives the route")
	}
	run()
	other, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.GoOn(p); err != nil || other.Calls() != p.Calls() || p.Calls() == 0 {
		t.Errorf("%d calls go on as %d, %v", p.Calls(), other.Calls(), err)
	}
}

func widenedTo64(x []float32) (wide []float64) {
	for _, v := range x {
		wide = append(wide, float64(v))
	}
	return wide
}

// A forecast has as many calls of a stage as there are parts.
func TestForecastOfParts(t *testing.T) {
	p, err := New(known(t), must(AnalysisGraph(smallAnalysis)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const bins = 33
	p.parts.onProcessor = 10
	for frames, want := range map[int]float64{10: 10 * 10, 41: 5 * 9 * 9} { // 41 frames are 5 parts of 9
		c, err := p.costs([]int{32 * (frames - 1)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.onCPU[1][0].alone / (1e-15 * bins * bins); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%d frames: power takes %g units, want %g", frames, got, want)
		}
		// Beside a stage on the GPU, all frames are one part.
		c.onGPU[0] = []cost{{"gpu", 1, 1, 1}}
		beside := c.take(append(Route{"gpu"}, slices.Repeat(Route{"go"}, 9)...))
		if got, want := beside.alone[1]/(1e-15*bins*bins), float64(frames*frames); math.Abs(got-want) > 1e-6*want || beside.seconds[1] != beside.alone[1] {
			t.Errorf("%d frames: power takes %g units beside a GPU, want %g", frames, got, want)
		}
	}
	l, err := p.arranged([]int{32 * 40}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		stage, frames, calls int
		onGPU                bool
	}{{0, 9, 5, false}, {0, 41, 1, true}, {6, 41, 1, false}} {
		shape, calls := p.parts.calls(l, test.stage, test.onGPU)
		if _, size := l.steps[test.stage].Case(shape, kernels.Caller); calls != test.calls || test.stage == 0 && size != 32*(test.frames-1)+64*min(1, calls-1) {
			t.Errorf("%+v: %d calls of size %d", test, calls, size)
		}
	}
}

// The parts of a call by a route cover its lists, of which none goes from one of the two pipelines into the other.
func TestListsOfParts(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(true))
	p, err := NewOn(b, nil, must(AnalysisGraph(smallAnalysis)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.parts.onGPU = 20
	onGPU := slices.Repeat([]bool{true}, 10)
	onGPU[9] = false // the beats need the tempo
	name := func(samples int) (all []string) {
		for _, g := range p.parts.apart(p.w.group(onGPU), onGPU, samples) {
			var of []string
			for _, i := range p.w.order[g.first:g.end] {
				of = append(of, p.names[i])
			}
			if g.list != nil && len(g.list.stages) != len(of) {
				t.Errorf("a list of %d stages for %v", len(g.list.stages), of)
			}
			all = append(all, strings.Join(of, "+"))
		}
		return all
	}
	features := "decibels+mfcc+onset+tempogram+tempo"
	for samples, want := range map[int][]string{
		32 * 19: {"stft+power+mel+chroma+" + features, "beats"},
		32 * 20: {"stft+power+mel+chroma", features, "beats"},
	} {
		if got := name(samples); !slices.Equal(got, want) {
			t.Errorf("%d samples: lists %q, want %q", samples, got, want)
		}
	}
	onGPU[2], onGPU[3] = false, false
	if got, want := name(32*20), []string{"stft+power", "mel", "chroma", features, "beats"}; !slices.Equal(got, want) {
		t.Errorf("lists %q, want %q", got, want)
	}
}

// A warm call in parts allocates nothing, whether the route is followed or the dispatcher chooses. A call after Close begins anew.
func TestPartsAllocateNothing(t *testing.T) {
	p, err := New(nil, must(AnalysisGraph(smallAnalysis)))
	if err != nil {
		t.Fatal(err)
	}
	p.parts.onProcessor = 8
	x := kernels.GeneratedInput().Samples[:600]
	call := func() {
		if err := p.Run(x); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if n := testing.AllocsPerRun(10, call); n > 0 {
			t.Errorf("a warm call allocates %g times", n)
		}
		if p.Calls() != 11 {
			t.Errorf("%d calls, want 11", p.Calls())
		}
		p.Close()
		if p.Floats("chroma") != nil || p.Calls() != 0 {
			t.Error("a closed pipeline has outputs")
		}
	}
}

// A call that is computed at once, because parts may be as long on a GPU, is arranged once for its length. The parts' pipelines are
// others.
func TestWholeOnGPUIsArrangedOnce(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(true))
	g := must(AnalysisGraph(smallAnalysis))
	decided := 0
	last := &g.Stages[len(g.Stages)-1]
	of := last.Decided
	last.Decided = func(lag uint32) (kernels.Step, error) { decided++; return of(lag) }
	p, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.parts.onProcessor, p.parts.onGPU = 10, 60
	route := append(slices.Clone(onEmulator(b, p.w.Graph)[:4]), "go", "go", "go", "go", "go", "go")
	if err := p.Follow(route); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		frames, want int
		inParts      bool
	}{{40, 1, false}, {40, 0, false}, {41, 1, false}, {41, 0, false}, {80, 0, true}, {41, 1, false}, {41, 0, false}} {
		before := decided
		if err := p.Run(kernels.GeneratedInput().Samples[:32*(c.frames-1)]); err != nil {
			t.Fatal(err)
		}
		if n := decided - before; n != c.want || p.isInParts() != c.inParts {
			t.Errorf("%d frames: arranged %d times, in parts %t; want %d, %t", c.frames, n, p.isInParts(), c.want, c.inParts)
		}
	}
	if err := p.Follow(slices.Repeat(Route{"go"}, 10)); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(kernels.GeneratedInput().Samples[:32*40]); err != nil || !p.isInParts() {
		t.Errorf("on the processor: in parts %t (%v)", p.isInParts(), err)
	}
}
