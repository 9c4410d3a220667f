package songs_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/songs"
)

// pace says how long calls of a chain of stages take. They wait in the fake time of synctest, so the tests are exact and quick.
type pace struct {
	random sync.Mutex // guards Rand
	*rand.Rand
	within  atomic.Bool        // the pipeline computes, and not a duel
	scatter float64            // standard deviation of the logarithm of a time
	load    float64            // of the machine: all calls take so many times as long
	slower  map[string]float64 // by "stage implementation": so many times as long as when the calibration was made
}

const (
	pacedStages = 6
	pacedLength = 1000
)

// alone is how long the calibration says that a call takes alone.
var alone = map[string]time.Duration{"first": 2 * time.Millisecond, "second": 2200 * time.Microsecond}

// inPipeline is how many times as long a call takes in the pipeline. Stage d differs from the others, and second has no
// advantage in stage f.
func inPipeline(stage, implementation string) float64 {
	switch {
	case stage == "d":
		return 2
	case stage == "f" && implementation == "second":
		return 0.62
	}
	return 0.5
}

// noise returns how many times as long as usual a call takes.
func (p *pace) noise() float64 {
	p.random.Lock()
	defer p.random.Unlock()
	return p.load * math.Exp(p.scatter*p.NormFloat64())
}

func (p *pace) wait(stage, implementation string) {
	took := float64(alone[implementation]) * p.noise()
	if p.within.Load() {
		took *= inPipeline(stage, implementation)
	}
	if f := p.slower[stage+" "+implementation]; f > 0 {
		took *= f
	}
	time.Sleep(time.Duration(took))
}

// paced declares y = x + 1. The parameter is the stage. If it is judged, the shapes of an operation decide, and otherwise those of
// a case.
func paced(p *pace, judged bool) *kernels.Op[string] {
	by := func(name string) kernels.Makers[string] {
		return kernels.Named(name, func(_ *kernels.Backends, stage string) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
				p.wait(stage, name)
				for i, v := range a[1] {
					a[0][i] = v + 1
				}
				return nil
			}), nil
		})
	}
	axes := []kernels.Axis{{Name: "n", Unit: "elements", Min: 1, Max: 1 << 20}}
	op := &kernels.Op[string]{
		Name: "paced", Formula: "y = x + 1", Source: "arithmetic", Axes: axes, Lines: []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) string { return "" },
		IO: func(_ string, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[0]}},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[0]}}}
		},
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work:      func(s kernels.Shape, _ string) kernels.Work { return kernels.Work{Bytes: 8 * float64(s[0])} },
		By:        []kernels.Makers[string]{by("second"), by("first"), onPacedGPU},
	}
	if judged {
		op.Judged = func(_ string, s kernels.Shape) (line, size int) { return 0, s[0] }
	}
	return op
}

// pacedChain is a graph of stages a to f, each of which adds 1. If it remembers, the first one reads what the last one left in
// the call before.
func pacedChain(p *pace, judged, remembers bool) *songs.Graph {
	g := &songs.Graph{Name: "paced", Inputs: []songs.Input{{Name: "x", Type: kernels.Float32, Usual: pacedLength}}, Outputs: []string{"f"}}
	op, reads := paced(p, judged), "x"
	if remembers {
		reads = "before"
		g.Derived = []songs.Derived{{Name: reads, Of: "f", How: songs.Last}}
	}
	for i := range pacedStages {
		name := string(rune('a' + i))
		g.Stages = append(g.Stages, songs.Stage{Name: name, Step: kernels.StepOf(op, name), Reads: []string{reads},
			Shape: songs.Along("x", 1, func(n int) kernels.Shape { return kernels.Shape{n} })})
		reads = name
	}
	return g
}

// pacedFile is a calibration that measured a route of the chain, all by first.
func pacedFile(facts host.Facts, judged bool) *calibration.File {
	var all []calibration.Implementation
	for _, name := range []string{"first", "second"} {
		all = append(all, calibration.Implementation{Name: name, Processor: "cpu", Cost: &calibration.Cost{FixedSeconds: alone[name].Seconds(), Exponent: 1}})
	}
	h := calibration.Host{ID: facts.ID(), Facts: calibration.Facts(facts), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03}}
	axis := calibration.Axis{Name: "n", Unit: "elements", From: 1, To: 1 << 20}
	if judged {
		o := calibration.Operation{Name: "paced", Placement: "caller", Axes: []calibration.Axis{axis}, Implementations: all,
			Surface: surface.Surface{Axes: []string{"n"}, Features: []surface.Feature{{Kind: surface.Logarithm, Weights: []float64{1}}}}}
		for _, n := range []int{pacedLength, 2 * pacedLength} {
			o.Asked = append(o.Asked, calibration.Asked{Shape: []int{n}, Calls: 1, MedianSeconds: []float64{alone["first"].Seconds(), alone["second"].Seconds()}})
		}
		h.Operations = []calibration.Operation{o}
	} else {
		h.Cases = []calibration.Case{{Name: "paced", Operation: "paced", Parameters: map[string]int{}, Axis: axis, Verdict: calibration.Always,
			TieBand: 0.03, Implementations: all, Sizes: []int{1, 1 << 20}, Blocks: 50,
			Segments: []calibration.Segment{{From: 1, To: 1 << 20, Implementation: "first", Next: []calibration.Alternative{{Implementation: "second", Slowdown: 1.1}}}}}}
	}
	l := calibration.PipelineLength{Elements: []int{pacedLength, pacedLength}, Blocks: 5, Routes: []calibration.Route{
		{Name: "best-1", Implementations: slices.Repeat([]string{"first"}, pacedStages), MedianSeconds: 9e-3}}}
	song := calibration.Pipeline{Name: "paced", Created: h.Created}
	for i := range pacedStages {
		stage := string(rune('a' + i))
		song.Stages = append(song.Stages, stage)
		for _, name := range []string{"first", "second"} {
			s := alone[name].Seconds()
			l.Parts = append(l.Parts, calibration.Part{Name: stage, Implementation: name, PredictedSeconds: s, MedianSeconds: s * inPipeline(stage, name)})
		}
	}
	song.Lengths = []calibration.PipelineLength{l}
	h.Pipelines = []calibration.Pipeline{song}
	return &calibration.File{Hosts: []calibration.Host{h}}
}

// program is one that calls the chain.
type program struct {
	*testing.T
	*pace
	d     *dispatch.Dispatcher
	p     *songs.Pipeline
	graph *songs.Graph
	x     []float32
	b     *kernels.Backends // nil where there is no GPU
}

// newProgram returns a program whose pipeline has chosen its route.
func newProgram(t *testing.T, judged, remembers bool) *program {
	t.Helper()
	facts := host.Facts{Chip: "Made Up", Family: "made-up", Architecture: "amd64", Cores: 2, Vendor: "Nobody", CPUFamily: "1", CPUModel: "1", Stepping: "1"}
	d, err := dispatch.New(pacedFile(facts, judged), dispatch.WithHost(facts), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	s := &program{T: t, pace: &pace{Rand: rand.New(rand.NewPCG(7, 11)), scatter: 0.08, load: 1, slower: map[string]float64{}}, d: d, x: make([]float32, pacedLength)}
	s.graph = pacedChain(s.pace, judged, remembers)
	if s.p, err = songs.NewOn(&kernels.Backends{}, d, s.graph); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.p.Close)
	return s
}

func (s *program) watch() *dispatch.Watch {
	s.Helper()
	w, err := s.d.Watch(1)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(w.Close)
	return w
}

// calls runs the pipeline so often, and compares what it computes.
func (s *program) calls(n int) {
	s.Helper()
	for range n {
		s.within.Store(true)
		err := s.p.Run(s.x)
		s.within.Store(false)
		want := float32(pacedStages)
		if len(s.graph.Derived) > 0 {
			want *= float32(s.p.Calls())
		}
		if y := s.p.Floats("f"); err != nil || y[0] != want || y[len(y)-1] != want {
			s.Fatalf("%v, %v, want %v", err, y[:1], want)
		}
	}
}

// untilDoubt runs the pipeline until something is in doubt, and at most 64 times.
func (s *program) untilDoubt(w *dispatch.Watch) []dispatch.Doubt {
	s.Helper()
	for range 64 {
		s.calls(1)
		if doubts := w.Doubtful(); len(doubts) > 0 {
			return doubts
		}
	}
	s.Fatalf("nothing is in doubt after 64 timed calls: %+v", w.State())
	return nil
}

func (s *program) duel(w *dispatch.Watch) dispatch.Duel {
	s.Helper()
	results, err := w.Duel(context.Background(), 10*time.Second)
	if err != nil || len(results) != 1 {
		s.Fatalf("%v, %v, want the result of one duel", results, err)
	}
	return results[0]
}

// Calls of the stages of a measured route are timed, whether the watch begins before the first call or after it, and compared with
// what they take in the pipeline. While nothing changes, nothing is in doubt.
func TestARoutedPipelineIsWatched(t *testing.T) {
	for _, judged := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newProgram(t, judged, false)
				var w *dispatch.Watch
				if late {
					s.calls(10)
				}
				if w = s.watch(); !late {
					s.calls(1) // which makes the plans
				}
				const calls = 100
				s.calls(calls)
				if !strings.Contains(s.p.Explain(), "the fastest that was measured") {
					t.Fatalf("no measured route: %s", s.p.Explain())
				}
				if got := w.State(); got.Timed < calls*pacedStages-10 || got.Unpredicted > 0 || got.Series != pacedStages || got.Blind != "" {
					t.Errorf("judged %v, late %v: %+v, want some %d timed calls of %d series", judged, late, got, calls*pacedStages, pacedStages)
				}
				if doubts := w.Doubtful(); len(doubts) > 0 {
					t.Errorf("judged %v, late %v: nothing changed, and %v is in doubt", judged, late, doubts)
				}
			})
		}
	}
}

// One call in a thousand is timed unless the program asks for more.
func TestFewStagesAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newProgram(t, false, false)
		w, err := s.d.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		const calls = 20_000
		s.calls(calls)
		if got, want := w.State().Timed, int64(calls*pacedStages/1000); got < want*3/4 || got > want*5/4 {
			t.Errorf("%d of %d calls of stages were timed, want about %d", got, calls*pacedStages, want)
		}
	})
}

// A stage that became 1.3 times slower is in doubt within 64 timed calls. The duel swaps it in the pipeline, at about these
// lengths, in the middle of what calls leave to each other. When the cause is over, it comes back.
func TestAStageIsSwapped(t *testing.T) {
	for _, judged := range []bool{false, true} {
		for _, remembers := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { testAStageIsSwapped(t, judged, remembers) })
		}
	}
}

func testAStageIsSwapped(t *testing.T, judged, remembers bool) {
	s := newProgram(t, judged, remembers)
	w := s.watch()
	s.calls(50)
	s.slower["c first"] = 1.3
	doubts := s.untilDoubt(w)
	if d := doubts[0]; len(doubts) != 1 || d.Pipeline != "paced" || d.Stage != "c" || d.Case != "paced" || d.Implementation != "first" ||
		!slices.Equal(d.Against, []string{"second"}) || d.Predicted || d.Alone || math.Abs(d.Factor-1.3) > 0.1 {
		t.Fatalf("in doubt is %+v (want first of stage c, against second)", doubts)
	}
	if text := doubts[0].String(); !strings.HasPrefix(text, "stage c of paced, paced at ") {
		t.Errorf("the doubt says %s", text)
	}
	route := slices.Repeat(songs.Route{"first"}, pacedStages)
	if got := s.p.Chosen(); !slices.Equal(got, route) {
		t.Errorf("before a duel: %v", got)
	}
	if r := s.duel(w); r.Verdict != dispatch.Changed || r.Chosen != "second" || math.Abs(r.Ratio-1.3/1.1) > 0.1 || !strings.HasPrefix(r.String(), "stage c of paced, paced, first: changed to second") {
		t.Fatalf("the duel found %v (want a change to second)", r)
	}
	s.calls(20)
	route[2] = "second"
	if got := s.p.Chosen(); !slices.Equal(got, route) {
		t.Errorf("after the duel: %v, want %v", got, route)
	}
	for _, text := range []string{"swapped by the watch just now, because in ", "the calibration has first, as the route of paced says", "  d: first\n"} {
		if !strings.Contains(s.p.Explain(), text) {
			t.Errorf("%q is not in %s", text, s.p.Explain())
		}
	}
	if got := w.State().Series; got != pacedStages+1 {
		t.Errorf("%d series, want one for second, too", got)
	}
	if doubts := w.Doubtful(); len(doubts) > 0 {
		t.Errorf("in doubt just after the duel: %v", doubts)
	}
	if !remembers {
		s.x = make([]float32, 2*pacedLength)
		s.calls(1)
		if got := s.p.Chosen(); slices.Contains(got, "second") {
			t.Errorf("at another length: %v", got)
		}
		s.x = s.x[:pacedLength]
		s.calls(1)
		if got := s.p.Chosen(); !slices.Equal(got, route) {
			t.Errorf("at the length again: %v", got)
		}
	}

	delete(s.slower, "c first")
	if !remembers { // plans of other lengths come and go, and the swap stays
		s.p.Close()
		runtime.GC()
		runtime.GC()
	}
	s.calls(20)
	time.Sleep(61 * time.Second)
	if doubts := w.Doubtful(); len(doubts) != 1 || doubts[0].Stage != "c" || doubts[0].Implementation != "second" {
		t.Fatalf("a minute later %v is in doubt (want the swap)", doubts)
	}
	s.scatter = 0.04 // first is 10 % faster, and 176 blocks must show that it is more than 5 %
	if r := s.duel(w); r.Verdict != dispatch.Changed || r.Chosen != "first" {
		t.Fatalf("the second duel found %v (want a change to first)", r)
	}
	s.calls(1)
	if got := s.p.Chosen(); slices.Contains(got, "second") || strings.Contains(s.p.Explain(), "swapped") {
		t.Errorf("when the cause is over: %v, %s", got, s.p.Explain())
	}
}

// A slower machine changes no ranking, and so nothing is in doubt.
func TestASlowerMachineChangesNoRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newProgram(t, false, false)
		w := s.watch()
		s.calls(50)
		for _, stay := range []int{1, 5, 50} {
			for range 1000 / stay {
				s.load = 3 - s.load
				s.calls(stay)
				if doubts := w.Doubtful(); len(doubts) > 0 {
					t.Fatalf("the load is %v for %d calls, and %v is in doubt", s.load, stay, doubts)
				}
			}
		}
	})
}

// A duel times calls alone. Its result is what the implementations take in the pipeline.
func TestADuelKnowsThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newProgram(t, false, false)
		w := s.watch()
		s.calls(50)
		s.slower["f first"] = 1.3 // alone it now takes 1.18 times as long as second, and in the pipeline 0.95 times
		s.untilDoubt(w)
		if r := s.duel(w); r.Stage != "f" || r.Verdict != dispatch.Kept || math.Abs(r.Ratio-1.3*0.5/(1.1*0.62)) > 0.05 {
			t.Errorf("the duel found %v (want first kept, in 0.95 times as long)", r)
		}
	})
}

// Other pipelines of the dispatcher keep their implementations, and so do its plans.
func TestASwapIsOfOneStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newProgram(t, false, false)
		w := s.watch()
		s.calls(50)
		s.slower["c first"] = 1.5
		s.untilDoubt(w)
		if r := s.duel(w); r.Verdict != dispatch.Changed {
			t.Fatal(r)
		}
		if got := s.d.Case("paced").Choose(pacedLength); got != "first" {
			t.Errorf("a call outside of the pipeline is computed by %s", got)
		}
		same, err := songs.NewOn(&kernels.Backends{}, s.d, s.graph)
		if err != nil {
			t.Fatal(err)
		}
		defer same.Close()
		if err := same.Run(s.x); err != nil {
			t.Fatal(err)
		}
		if got := same.Chosen(); got[2] != "second" || got[3] != "first" {
			t.Errorf("another pipeline of the graph: %v", got)
		}
		if err := same.Follow(slices.Repeat(songs.Route{"first"}, pacedStages)); err != nil {
			t.Fatal(err)
		}
		before := w.State().Timed
		for range 50 {
			if err := same.Run(s.x); err != nil {
				t.Fatal(err)
			}
		}
		if got := same.Chosen(); slices.Contains(got, "second") || w.State().Timed != before {
			t.Errorf("a route that the program chose: %v, and %d calls were timed", got, w.State().Timed-before)
		}
	})
}

// Calls of a pipeline allocate nothing, without a watch, with one, and after a swap.
func TestAWatchedPipelineAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newProgram(t, false, false).allocatesNothing(t, pacedStages, "c first")
	})
}

// allocatesNothing checks calls in which a watch times so many stages and lists, before something becomes slower and after that.
func (s *program) allocatesNothing(t *testing.T, timed int, slower string) {
	t.Helper()
	check := func(when string) {
		t.Helper()
		s.calls(3)
		if n := testing.AllocsPerRun(50, func() { s.calls(1) }); n > 0 {
			t.Errorf("%s: %v allocations a call", when, n)
		}
	}
	check("without a watch")
	w := s.watch()
	s.calls(50)
	before := w.State().Timed
	check("with a watch")
	if n := w.State().Timed - before; n < int64(50*timed) {
		t.Errorf("%d calls were timed", n)
	}
	s.slower[slower] = 1.5
	s.untilDoubt(w)
	if r := s.duel(w); r.Verdict != dispatch.Changed {
		t.Fatal(r)
	}
	check("after a swap")
}
