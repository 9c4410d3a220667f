package songs

import (
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// onEmulator is the route with all stages on the emulated GPU.
func onEmulator(b *kernels.Backends, g *Graph) (r Route) {
	for i := range g.Stages {
		step, _ := g.Stages[i].step(0)
		all := step.Implementations(b)
		r = append(r, all[slices.IndexFunc(all, func(m kernels.Implementation) bool { return m.Processor == kernels.GPU })].Name)
	}
	return r
}

// graphs are small ones of each kind, with two calls.
func graphs(t *testing.T) map[*Graph][][][]float32 {
	t.Helper()
	music := kernels.GeneratedInput().Samples
	analysis, err := AnalysisGraph(AnalysisParams{SampleRate: 8000, NFFT: 64, Hop: 32, Bands: 8, Coefficients: 5, Window: 32})
	if err != nil {
		t.Fatal(err)
	}
	separator, err := SeparatorGraph(testSeparator())
	if err != nil {
		t.Fatal(err)
	}
	voices := testSynthesiser(t, 48)
	voices.Response = voices.Response[:100]
	synthesiser, err := SynthesiserGraph(voices)
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := DecoderGraph(testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	segment := testSeparator().segment()
	return map[*Graph][][][]float32{
		analysis:    {{music[:600]}, {music[:400]}, {music[:400]}},
		separator:   {{music[:segment]}, {music[9 : 9+segment]}},
		synthesiser: {{kernels.Uint32Words([]uint32{0, 0})}, {kernels.Uint32Words([]uint32{48, 0})}},
		decoder:     {{noise(1, 24, 1), {0.3}}, {noise(2, 24, 1), {0.9}}, {noise(3, 24, 1), {0.1}}},
	}
}

// Every route computes the same: all on the GPU, and the GPU here and there.
func TestRoutesAgainstReferences(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b := kerneltest.Backends(t, emulator.Unified(unified))
		for g, calls := range graphs(t) {
			for _, every := range []int{0, 2, 3} { // which stages are on the processor; 0 for none
				if unified && every > 0 {
					continue
				}
				route := onEmulator(b, g)
				for i := range route {
					if every > 0 && i%every == 1 {
						route[i] = []string{"go", ""}[i/every%2]
					}
				}
				p, err := NewOn(b, nil, g)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Follow(route); err != nil {
					t.Fatalf("%s: %v", g.Name, err)
				}
				compareWithReference(t, p, g, 2e-4, calls...)
				if slices.Contains(p.broken, true) {
					t.Errorf("%s: a stage of %v has failed", g.Name, route)
				}
				p.Close()
			}
		}
	}
}

// The lists of a route are as long as they can be.
func TestGroups(t *testing.T) {
	for _, test := range []struct {
		graph *Graph
		want  string
	}{
		{must(AnalysisGraph(AnalysisParams{SampleRate: 22050})), "stft power mel chroma decibels mfcc onset tempogram tempo|beats"},
		{must(SeparatorGraph(testSeparator())), "spectra|encoder gelu glu norm|attention lstm decoder y"},
		{must(DecoderGraph(testDecoder())), "norm query key value attention logits best"},
		{must(SynthesiserGraph(testSynthesiser(t, 48))), "voices mix filter compressor reverb"},
	} {
		w, err := test.graph.wire()
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, g := range w.group(slices.Repeat([]bool{true}, len(test.graph.Stages))) {
			var names []string
			for _, i := range w.order[g.first:g.end] {
				names = append(names, test.graph.Stages[i].Name)
			}
			if n := len(g.list.hosted()); n > gpu.MostHosted {
				t.Errorf("%v: %d inputs and outputs", names, n)
			}
			parts = append(parts, strings.Join(names, " "))
		}
		if got := strings.Join(parts, "|"); got != test.want {
			t.Errorf("%s: %s, want %s", test.graph.Name, got, test.want)
		}
	}
}

func must(g *Graph, err error) *Graph {
	if err != nil {
		panic(err)
	}
	return g
}

func TestFollowRefuses(t *testing.T) {
	p, err := New(nil, chain())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for want, route := range map[string]Route{
		"a route of 2 stages (want 3)":                     {"go", "go"},
		`stage b: kernels: no such implementation: "fftw"`: {"go", "fftw", "go"},
	} {
		if err := p.Follow(route); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// If a GPU fails in the middle of a signal, the processor goes on, and the state is not lost.
func TestLostGPU(t *testing.T) {
	b := kerneltest.Backends(t, emulator.LoseAfter(5))
	params := testSynthesiser(t, 48)
	g := must(SynthesiserGraph(params))
	p, err := NewOn(b, nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Follow(onEmulator(b, g)); err != nil {
		t.Fatal(err)
	}
	var calls [][][]float32
	for at := range uint32(5) {
		calls = append(calls, [][]float32{kernels.Uint32Words([]uint32{48 * at, 0})})
	}
	compareWithReference(t, p, g, 2e-4, calls...)
	if !slices.Contains(p.broken, true) {
		t.Error("the GPU did not fail")
	}
}
