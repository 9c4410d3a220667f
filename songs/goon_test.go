package songs

import (
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// Pipelines of two routes take turns at one signal, and nobody hears it. The last calls of a decoder have more keys than the first.
func TestGoOn(t *testing.T) {
	b := kerneltest.Backends(t)
	if len(b.GPUs) == 0 {
		t.Skip("there is no emulator")
	}
	for g, calls := range graphs(t) {
		reference, err := NewReference(g)
		if err != nil {
			t.Fatal(err)
		}
		var turns [2]*Pipeline
		for i := range turns {
			if turns[i], err = NewOn(b, nil, g); err != nil {
				t.Fatal(err)
			}
			defer turns[i].Close()
		}
		if err := turns[1].Follow(onEmulator(b, g)); err != nil {
			t.Fatal(err)
		}
		if g.Name == "analysis" {
			calls = slices.Repeat(calls[:1], 3)
		}
		for i, inputs := range calls {
			p := turns[i%2]
			if err := p.GoOn(turns[(i+1)%2]); err != nil {
				t.Fatal(err)
			}
			if p.Calls() != i {
				t.Errorf("%s: %d calls, want %d", g.Name, p.Calls(), i)
			}
			if p.Floats(g.Outputs[0]) != nil {
				t.Errorf("%s: there is an output before the call", g.Name)
			}
			if err := p.Run(inputs...); err != nil {
				t.Fatal(err)
			}
			if err := reference.Run(inputs...); err != nil {
				t.Fatal(err)
			}
			for k, name := range g.Outputs {
				if p.w.tensors[p.w.outputs[k]].element == kernels.Uint32 {
					continue
				}
				if e := relative(p.Floats(name), reference.Floats(name)); !(e <= 2e-4) {
					t.Errorf("%s, call %d: %s has a relative error of %.2g", g.Name, i, name, e)
				}
			}
		}
	}
}

// A pipeline that goes on where nothing was begins anew.
func TestGoOnFromTheBeginning(t *testing.T) {
	g := must(SynthesiserGraph(testSynthesiser(t, 48)))
	used, fresh := must2(New(nil, g)), must2(New(nil, g))
	at := kernels.Uint32Words([]uint32{0, 0})
	var first []float32
	for range 2 {
		if err := used.Run(at); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = slices.Clone(used.Floats("reverb"))
		}
		if err := used.GoOn(fresh); err != nil {
			t.Fatal(err)
		}
	}
	if err := used.Run(at); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(used.Floats("reverb"), first) {
		t.Error("something is left of the call before")
	}
	other := must2(New(nil, must(SynthesiserGraph(testSynthesiser(t, 48)))))
	if err := other.GoOn(used); err == nil || !strings.Contains(err.Error(), "want pipelines of one graph") {
		t.Errorf("two graphs: %v", err)
	}
	if err := used.GoOn(used); err != nil || used.Calls() != 1 {
		t.Errorf("itself: %v, %d calls", err, used.Calls())
	}
}

func must2(p *Pipeline, err error) *Pipeline {
	if err != nil {
		panic(err)
	}
	return p
}

// Going on, and a block, allocate nothing.
func TestTurnsDoNotAllocate(t *testing.T) {
	g := must(SynthesiserGraph(testSynthesiser(t, 48)))
	a, b := must2(New(nil, g)), must2(New(nil, g))
	inputs := [][]float32{kernels.Uint32Words([]uint32{0, 0})}
	turn := func() {
		for _, p := range []*Pipeline{a, b} {
			if err := p.Run(inputs...); err != nil {
				t.Fatal(err)
			}
			if a, b = b, a; a.GoOn(p) != nil {
				t.Fatal("it does not go on")
			}
		}
	}
	turn()
	turn()
	if n := testing.AllocsPerRun(20, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The effects are what a synthesiser has behind its mix.
func TestEffectsAgainstReferences(t *testing.T) {
	s := testSynthesiser(t, 240)
	g, err := EffectsGraph(EffectsParams{s.Filter, s.Compressor, s.Response, s.Block})
	if err != nil {
		t.Fatal(err)
	}
	music := kernels.GeneratedInput().Samples
	against(t, g, 1e-4, [][]float32{music[:240]}, [][]float32{music[240:480]}, [][]float32{music[480:720]})
	for want, change := range map[string]func(*EffectsParams){
		"Block is 0": func(p *EffectsParams) { p.Block = 0 },
		"sections":   func(p *EffectsParams) { p.Filter = nil },
		"taps":       func(p *EffectsParams) { p.Response = nil },
		"atio":       func(p *EffectsParams) { p.Compressor.Ratio = 0 },
	} {
		p := EffectsParams{s.Filter, s.Compressor, s.Response, s.Block}
		change(&p)
		if _, err := EffectsGraph(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Without predictions, each stage of a route takes the first implementation that is accepted.
func TestOnly(t *testing.T) {
	b := kerneltest.Backends(t)
	g := must(SynthesiserGraph(testSynthesiser(t, 48)))
	p := must2(NewOn(b, nil, g))
	for want, accepts := range map[string]func(kernels.Implementation) bool{
		"go":          func(m kernels.Implementation) bool { return m.Cores != kernels.AllCores && m.Processor == kernels.CPU },
		"go-parallel": func(m kernels.Implementation) bool { return m.Cores == kernels.AllCores },
		"emulator":    func(m kernels.Implementation) bool { return m.Processor == kernels.GPU },
	} {
		e, err := p.Only("x", accepts, 2)
		if err != nil || e.OnGPU != (want == "emulator") || e.Seconds != 0 || !slices.Equal(e.Route, slices.Repeat(Route{want}, 5)) {
			t.Errorf("%+v, %v; want %s", e, err, want)
		}
	}
	if _, err := p.Only("x", nil, 2, 3); err == nil || !strings.Contains(err.Error(), "2 lengths (want 1)") {
		t.Errorf("two lengths: %v", err)
	}
}
