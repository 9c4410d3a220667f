package songs

import (
	"slices"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// Each plan computes the same, and every stage where the plan says.
func TestFollowPlan(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(true))
	g := must(AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32}))
	x := kernels.GeneratedInput().Samples[:600]
	p, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, name := range PlanNames {
		if err := p.FollowPlan(name, len(x)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compareWithReference(t, p, g, 2e-4, [][]float32{x})
		onGPU := 0
		for i := range g.Stages {
			step, _ := g.Stages[i].step(0)
			all := step.Implementations(b)
			if p.routed(i) && all[slices.IndexFunc(all, func(m kernels.Implementation) bool { return m.Name == p.route[i] })].Processor == kernels.GPU {
				onGPU++
			}
		}
		if want := map[string]int{GPU: len(g.Stages)}[name]; onGPU != want {
			t.Errorf("%s: %d stages on the GPU, want %d", name, onGPU, want)
		}
	}
	if err := p.FollowPlan("fastest", len(x)); err == nil || !strings.Contains(err.Error(), "best, stages, processor, gpu") {
		t.Errorf("an unknown plan: %v", err)
	}
	alone, err := NewOn(&kernels.Backends{Pool: b.Pool}, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.FollowPlan(GPU, len(x)); err == nil || !strings.Contains(err.Error(), "no stage can run on a GPU") {
		t.Errorf("a plan for a GPU without one: %v", err)
	}
}

// Without a GPU an analysis goes in parts that stay in caches, and with one in long ones. The features are the same.
func TestPartsOfAPlan(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(true))
	a, err := NewAnalysisOn(b, nil, AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	x := kernels.GeneratedInput().Samples[:32*520]
	p := a.pipeline
	var features []Features
	for _, test := range []struct {
		plan       string
		most, part int
	}{{Stages, partOnProcessor, 261}, {Processor, partOnProcessor, 261}, {GPU, partOnGPU, 521}, {Best, partOnProcessor, 261}} {
		if err := a.Follow(test.plan, len(x)); err != nil {
			t.Fatal(err)
		}
		if err := p.parts.plan(len(x)); err != nil {
			t.Fatal(err)
		}
		if got := partOf(a.Frames(len(x)), p.parts.most); p.parts.most != test.most || got != test.part {
			t.Errorf("%s: parts of %d frames, of at most %d; want %d and %d", test.plan, got, p.parts.most, test.part, test.most)
		}
		if test.plan == GPU {
			continue // the emulator is slow
		}
		f, err := a.Run(x)
		if err != nil {
			t.Fatal(err)
		}
		features = append(features, f)
		if how := a.Explain(); !strings.HasPrefix(how, "analysis: ") || strings.Count(how, "\n") != 11 {
			t.Errorf("%s: %s", test.plan, how)
		}
		if len(f.Chroma) != 521*12 || !slices.Equal(f.Chroma, features[0].Chroma) {
			t.Errorf("%s: another chroma of %d values", test.plan, len(f.Chroma))
		}
	}
}
