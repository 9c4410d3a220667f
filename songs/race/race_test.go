package race

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
	"crossover/sweeps"
	"crossover/timings"
)

func analysis(t *testing.T) *songs.Graph {
	t.Helper()
	g, err := songs.AnalysisGraph(songs.AnalysisParams{SampleRate: 8000, NFFT: 256, Hop: 128, Bands: 20, Coefficients: 5, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// revised is a step whose implementation in Go has a revision.
type revised struct{ kernels.Step }

func (r revised) Implementations(b *kernels.Backends) []kernels.Implementation {
	all := r.Step.Implementations(b)
	for i := range all {
		if all[i].Name == "go" {
			all[i].Revision = 7
		}
	}
	return all
}

// Measured pipelines are valid in a calibration file, the fastest route is the first, and each length has the revisions.
func TestMeasure(t *testing.T) {
	music := kernels.GeneratedInput().Samples
	g := analysis(t)
	g.Stages[1].Step = revised{g.Stages[1].Step}
	var revisions []calibration.StageRevision
	decided := map[string]bool{} // stages whose step another stage's output decides
	for _, stage := range g.Stages {
		if stage.Step == nil {
			decided[stage.Name] = true
			continue
		}
		for _, i := range stage.Step.Implementations(kernels.Here()) {
			if i.Revision > 0 {
				revisions = append(revisions, calibration.StageRevision{Stage: stage.Name, Implementation: i.Name, Revision: i.Revision})
			}
		}
	}
	if !slices.Contains(revisions, calibration.StageRevision{Stage: g.Stages[1].Name, Implementation: "go", Revision: 7}) {
		t.Fatalf("the stages have the revisions %v", revisions)
	}
	all, err := Measure(t.Context(), kernels.Here(), nil, []Session{{g, "short", "", [][][]float32{{music[:2000]}}}, {g, "long", "", [][][]float32{{music[:4001]}}}},
		sweeps.Options{Budget: time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: func() {}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Pipelines(all, time.Now())[0]
	if p.Name != "analysis" || len(p.Lengths) != 2 || p.Stages[0] != "stft" {
		t.Fatalf("%+v", p)
	}
	for i, l := range p.Lengths {
		if l.Elements[0] != []int{2000, 4001}[i] || l.Routes[0].Name != "stages" || !(l.Routes[0].MedianSeconds > 0) || l.Blocks == 0 {
			t.Errorf("%+v", l)
		}
		of := slices.DeleteFunc(slices.Clone(l.Revisions), func(r calibration.StageRevision) bool { return decided[r.Stage] || r.Implementation == "in-parts" })
		if !slices.Equal(of, revisions) {
			t.Errorf("revisions %v, want %v", of, revisions)
		}
	}
}

// Each round but the last tells what it measured. The last one also has the parts of routes that only earlier ones measured.
func TestRounds(t *testing.T) {
	g := analysis(t)
	sessions := []Session{{g, "short", "", [][][]float32{{kernels.GeneratedInput().Samples[:2000]}}}}
	var known []int
	all, err := Measure(t.Context(), kernels.Here(), nil, sessions, sweeps.Options{Budget: 2 * time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: func() {}},
		func(p []calibration.Pipeline) (*dispatch.Dispatcher, error) {
			known = append(known, len(p))
			return nil, nil
		})
	if err != nil || len(all) != 1 || all[0].Why != "" || !slices.Equal(known, []int{1, 1}) {
		t.Errorf("%d sessions, pipelines known after the rounds %v, %v", len(all), known, err)
	}
	for name, test := range map[string]struct {
		now, earlier Measured
		want         string
	}{
		"another part":    {of("", "a"), of("", "b"), "a b"},
		"the same part":   {of("", "a"), of("", "a"), "a"},
		"nothing now":     {of(TooShort), of("", "b"), "b"},
		"nothing earlier": {of("", "a"), of(TooShort), "a"},
		"wrong values":    {of("lost"), of("", "b"), ""},
		"nothing":         {of(TooShort), of("lost"), ""},
	} {
		m := test.now
		m.remember(&test.earlier)
		var got []string
		for _, p := range m.Parts {
			got = append(got, p.Implementation)
		}
		if strings.Join(got, " ") != test.want || (m.Why == "") != (test.want != "") || m.Why != "" && m.Why != test.now.Why {
			t.Errorf("%s: parts %q, %q", name, got, m.Why)
		}
	}
}

// of returns a session that has parts of the stage s by implementations, or nothing, and why.
func of(why string, implementations ...string) (m Measured) {
	m.Why = why
	for _, name := range implementations {
		m.Parts = append(m.Parts, calibration.Part{Name: "s", Implementation: name})
	}
	return m
}

// A route whose values are wrong is not timed.
func TestWrongValues(t *testing.T) {
	r, err := newRace(kernels.Here(), nil, &Session{analysis(t), "short", "", [][][]float32{{kernels.GeneratedInput().Samples[:2000]}}}, (*songs.Pipeline).Entrants)
	if err != nil {
		t.Fatal(err)
	}
	call, err := r.Bind("stages")
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if err := call.Run(); err != nil {
		t.Fatal(err)
	}
	want := r.Reference()
	if e := call.ErrorAgainst(want); !(e <= tolerance) {
		t.Errorf("an error of %g", e)
	}
	for _, i := range []int{0, len(want) / 2, len(want) - 1} {
		wrong := slices.Clone(want)
		wrong[i] += 1e3
		if e := call.ErrorAgainst(wrong); !(e > tolerance) {
			t.Errorf("number %d is wrong, and the error is %g", i, e)
		}
	}
	if e := call.ErrorAgainst(nil); !math.IsInf(e, 1) {
		t.Errorf("without a reference the error is %g", e)
	}
	if _, err := r.Bind("another"); err == nil {
		t.Error("an entrant that is none")
	}
}

func TestResult(t *testing.T) {
	r := &race{Session: &Session{Graph: analysis(t), Length: "short", Calls: make([][][]float32, 2)}, elements: []int{7}, entrants: []songs.Entrant{{Name: "stages", Route: make(songs.Route, 10)},
		{Name: "best-1", Route: make(songs.Route, 10), Seconds: 3}, {Name: "gpu"}}}
	of := &sweeps.Result{Implementations: []sweeps.Status{{Name: "gpu", Excluded: "lost"}}, Warnings: []string{"too long"}}
	if m := r.result(of); m.Why != "too long; gpu: lost" || Pipelines([]Measured{m}, time.Now()) != nil {
		t.Errorf("%+v", m)
	}
	if m := r.result(&sweeps.Result{}); m.Why != TooShort || m.work != 6 {
		t.Errorf("%+v", m)
	}
	of.Samples.Implementations = []string{"stages", "best-1"}
	for _, seconds := range [][]float64{{6, 4}, {9, 6}, {6, math.NaN()}} {
		of.Samples.Blocks = append(of.Samples.Blocks, timingsBlock(seconds))
	}
	got := r.result(of) // of a call: there are two
	if got.Routes[0].Name != "best-1" || got.Routes[0].MedianSeconds != 2 || got.Routes[0].PredictedSeconds != 3 ||
		got.Routes[1].MedianSeconds != 3 || math.Abs(got.Margin-0.5) > 1e-12 || got.Blocks != 3 || len(got.Routes) != 2 {
		t.Errorf("%+v", got)
	}
}

// Routes are compared within blocks, because the machine's speed changes from block to block.
func TestRoutesAreComparedWithinBlocks(t *testing.T) {
	r := &race{Session: &Session{Graph: analysis(t), Length: "short", Calls: make([][][]float32, 1)}, elements: []int{7},
		entrants: []songs.Entrant{{Name: "stages"}, {Name: "best-1"}, {Name: "gpu"}}}
	of := &sweeps.Result{}
	of.Samples.Implementations = []string{"stages", "best-1", "gpu"}
	// best-1 takes 10 % less than stages in every block. Once it was not timed, when the machine was fast. Of the GPU's two times, one
	// is from a block that somebody disturbed.
	nan := math.NaN()
	for _, seconds := range [][]float64{{10, 9, nan}, {20, 18, 30}, {5, nan, nan}, {6, nan, nan}, {20, 18, nan}} {
		of.Samples.Blocks = append(of.Samples.Blocks, timingsBlock(seconds))
	}
	disturbed := timingsBlock([]float64{1, 10, 1})
	disturbed.Disturbed = true
	of.Samples.Blocks = append(of.Samples.Blocks, disturbed)
	got := r.result(of)
	for i, want := range []calibration.Route{{Name: "best-1", MedianSeconds: 9}, {Name: "stages", MedianSeconds: 10}, {Name: "gpu", MedianSeconds: 15}} {
		if g := got.Routes[i]; g.Name != want.Name || math.Abs(g.MedianSeconds-want.MedianSeconds) > 1e-12 {
			t.Errorf("%d: %s takes %g s, want %s and %g", i, g.Name, g.MedianSeconds, want.Name, want.MedianSeconds)
		}
	}
	if math.Abs(got.Margin-1./9) > 1e-12 {
		t.Errorf("a margin of %g, want 1/9", got.Margin)
	}
}

// A budget that is enough grows with what is left out, and is greater than the one that was not.
func TestEnough(t *testing.T) {
	of := func(why string, work float64) Measured { return Measured{Why: why, work: work} }
	for name, test := range map[string]struct {
		all  []Measured
		want time.Duration
	}{
		"a third is left out":      {[]Measured{of("", 1), of(TooShort, 0.5), of("lost", 100)}, 3*time.Minute + 30*time.Second},
		"hardly anything":          {[]Measured{of("", 1), of(TooShort, 1e-9)}, 2*time.Minute + 30*time.Second},
		"nothing was timed":        {[]Measured{of(TooShort, 1)}, 4*time.Minute + 30*time.Second},
		"nothing is forecast":      {[]Measured{of("", 0), of(TooShort, 0)}, 4*time.Minute + 30*time.Second},
		"a forecast out of bounds": {[]Measured{of("", 1e-9), of(TooShort, 1e9)}, 20*time.Minute + 30*time.Second},
	} {
		if got := Enough(test.all, 2*time.Minute); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func timingsBlock(seconds []float64) timings.Block {
	return timings.Block{Size: 7, Seconds: seconds, Twin: -1}
}

// A recording whose header names a strange rate is refused, and takes no memory.
func TestStrangeRecordings(t *testing.T) {
	for _, rate := range []float64{0, 0.5, math.NaN(), mostRate + 1, 6e7, math.Inf(1)} {
		for _, name := range Names {
			if all, err := Usual(name, kernels.Input{Samples: []float32{1}, SampleRate: rate}); err == nil {
				t.Errorf("%s at %g Hz: %d sessions", name, rate, len(all))
			}
		}
	}
}

func TestNoCalls(t *testing.T) {
	if _, err := newRace(kernels.Here(), nil, &Session{Graph: analysis(t), Length: "none"}, (*songs.Pipeline).Entrants); err == nil {
		t.Error("a session without calls is measured")
	}
}
