package songs

import (
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// revised is a step whose implementations have other revisions. If concerns is not nil, it says which shapes, on which numbers of
// processors, the last one of each concerns.
type revised struct {
	kernels.Step
	revisions map[string]int
	concerns  func(s kernels.Shape, processors int) bool
}

func (r *revised) Implementations(b *kernels.Backends) []kernels.Implementation {
	all := r.Step.Implementations(b)
	for i := range all {
		revision := r.revisions[all[i].Name]
		if all[i].Revision = revision; r.concerns == nil || revision == 0 {
			continue
		}
		op := &kernels.Op[struct{}]{Lines: make([]kernels.Line, 1), By: []kernels.Makers[struct{}]{
			kernels.RevisedOn(revision, r.concerns, kernels.Revised(revision-1, kernels.Named[struct{}](all[i].Name, nil))),
		}}
		of := op.Cases(&kernels.Backends{})[0].Implementations[0]
		of.Probe, of.Processor = all[i].Probe, all[i].Processor
		all[i] = of
	}
	return all
}

// revise gives a stage's implementations revisions, 0 to those that are not named.
func (g *Graph) revise(stage int, revisions map[string]int) *Graph {
	g.Stages[stage].Step = &revised{g.Stages[stage].Step, revisions, nil} // a pointer, because steps are compared
	return g
}

// unrevised gives all implementations of all stages the revision 0.
func (g *Graph) unrevised() *Graph {
	for stage := range g.Stages {
		g.revise(stage, nil)
	}
	return g
}

// A measured route is believed as long as the implementations of its stages have the revisions with which it was measured. If the
// fastest is not, forecasts decide. What cannot run here, and what a route names no stage for, does not count.
func TestChangedRoutes(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(false))
	const forecast, second, stages = "the least predicted time", "the route forecast to be second", "as the dispatcher chooses, which took"
	on := kerneltest.GPUName
	for name, test := range map[string]struct {
		n        int // 1000, where a route with "" for stage b is the fastest that can run here, or 400 000, where all in go is
		stage    int
		now, was map[string]int
		want     string
		doubts   bool
	}{
		"nothing has changed":                  {1000, 0, nil, nil, second, false},
		"the same revision":                    {1000, 2, map[string]int{on: 3}, map[string]int{on: 3}, second, false},
		"a stage's implementation":             {1000, 2, map[string]int{on: 3}, nil, forecast, true},
		"one that was of a newer program":      {1000, 2, nil, map[string]int{on: 3}, forecast, true},
		"one of a stage that is chosen":        {1000, 1, map[string]int{"go": 1}, nil, forecast, true},
		"one that the route does not use":      {1000, 0, map[string]int{"go": 1}, nil, second, false},
		"one of another stage":                 {1000, 0, map[string]int{on: 1}, nil, second, false},
		"the dispatcher's choice, all as ever": {400_000, 0, nil, nil, stages, false},
		"the dispatcher's choice alone":        {400_000, 0, map[string]int{"go-parallel": 1}, nil, "the fastest that was measured", false},
		"the fastest where it hardly leads":    {400_000, 0, map[string]int{"go": 1}, nil, forecast, true},
	} {
		g := chain().revise(test.stage, test.now)
		g.Name = "measured"
		d := madeUp(t, 4e-9)
		of, _ := d.Pipeline(g.Name, g.names()) // shares the lengths with the dispatcher
		for i := range of.Lengths {
			for implementation, revision := range test.was {
				of.Lengths[i].Revisions = append(of.Lengths[i].Revisions,
					calibration.StageRevision{Stage: g.Stages[test.stage].Name, Implementation: implementation, Revision: revision})
			}
		}
		p, err := NewOn(b, d, g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(noise(1, test.n, 1)); err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(p.Explain(), "\n")
		if !strings.Contains(got, test.want) || strings.Contains(got, "does not count, because") != test.doubts {
			t.Errorf("%s: %s, want %q, and doubts %v", name, got, test.want, test.doubts)
		}
		p.Close()
	}
}

// A route is believed if a change of an implementation does not concern the shape that its stage had, or the machine that was measured. It
// had two processors. This program may have fewer workers, which tells nothing of what was measured.
func TestRoutesThatAChangeDoesNotConcern(t *testing.T) {
	one := pool.New(1)
	defer one.Close()
	const measured = 400_000
	for name, test := range map[string]struct {
		concerns func(s kernels.Shape, processors int) bool
		doubts   bool
	}{
		"fewer elements":  {func(s kernels.Shape, _ int) bool { return s[0] < measured }, false},
		"as many":         {func(s kernels.Shape, _ int) bool { return s[0] <= measured }, true},
		"two processors":  {func(_ kernels.Shape, processors int) bool { return processors >= 2 }, true},
		"more processors": {func(_ kernels.Shape, processors int) bool { return processors > 2 }, false},
	} {
		g := chain().revise(0, map[string]int{"go": 1})
		g.Stages[0].Step.(*revised).concerns = test.concerns
		g.Name = "measured"
		p, err := NewOn(&kernels.Backends{Pool: one}, madeUp(t, 4e-9), g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(noise(1, measured, 1)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(p.Explain(), "go of stage a has changed since"); got != test.doubts {
			t.Errorf("a change at %s: %v doubts, want %v: %s", name, got, test.doubts, p.Explain())
		}
		p.Close()
	}
}

// A forecast leaves out what a stage took by an implementation that has changed since. Tensors, and other implementations, stay.
func TestChangedParts(t *testing.T) {
	for _, test := range []struct {
		revisions map[string]int
		want      float64 // of 1000 values by go and go, of 1 µs each: stage a takes 2 µs in the pipeline, and 4 µs lie beside the stages
	}{
		{nil, 7e-6},
		{map[string]int{"go": 1}, 6e-6},
		{map[string]int{"go-parallel": 1}, 7e-6},
	} {
		song := calibration.Pipeline{Name: "turned", Lengths: []calibration.PipelineLength{partsOf(1000, 2, 1e-9, 0)}}
		p, err := NewOn(kernels.Here(), known(t, song), turned("turned").revise(0, test.revisions))
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Forecasts(9, 1000)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(all, func(f Forecast) bool { return slices.Equal(f.Route, Route{"go", "go"}) })
		if at < 0 || all[at].Seconds < 0.999*test.want || all[at].Seconds > 1.001*test.want {
			t.Errorf("%v: %v, want go, go in %g s", test.revisions, all, test.want)
		}
		p.Close()
	}
}

// Revisions of 0 are left out.
func TestRevisions(t *testing.T) {
	p, err := NewOn(kernels.Here(), nil, chain().revise(1, map[string]int{"go": 3, "go-parallel": 0}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Revisions(), []calibration.StageRevision{{Stage: "b", Implementation: "go", Revision: 3}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p, err = NewOn(kernels.Here(), nil, chain())
	if got := p.Revisions(); err != nil || got != nil {
		t.Errorf("%v, %v, want none", got, err)
	}
}
