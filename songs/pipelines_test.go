package songs

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/convlayer"
	"crossover/kernels/lora"
	"crossover/kernels/norm"
	"crossover/kernels/oscillator"
	"crossover/kernels/recurrence"
	"crossover/kernels/recurrent"
	"crossover/kernels/sampling"
)

// noise returns seeded noise in [−by, by).
func noise(seed uint64, n int, by float32) []float32 {
	x := make([]float32, n)
	kernels.Noise(x, seed)
	for i := range x {
		x[i] *= by
	}
	return x
}

// against computes calls by a pipeline and by the references, and compares all outputs.
func against(t *testing.T, g *Graph, allowed float64, calls ...[][]float32) {
	t.Helper()
	p, err := New(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	compareWithReference(t, p, g, allowed, calls...)
}

func compareWithReference(t *testing.T, p *Pipeline, g *Graph, allowed float64, calls ...[][]float32) {
	t.Helper()
	reference, err := NewReference(g)
	if err != nil {
		t.Fatal(err)
	}
	for call, inputs := range calls {
		if err := p.Run(inputs...); err != nil {
			t.Fatalf("call %d: %v", call, err)
		}
		if err := reference.Run(inputs...); err != nil {
			t.Fatalf("the reference, call %d: %v", call, err)
		}
		for i, name := range g.Outputs {
			got, want := p.Floats(name), reference.Floats(name)
			if p.w.tensors[p.w.outputs[i]].element == kernels.Uint32 {
				if !slices.Equal(kernels.Uint32s(got), kernels.Uint32s(want)) {
					t.Errorf("call %d: %s is %v, want %v", call, name, kernels.Uint32s(got), kernels.Uint32s(want))
				}
				continue
			}
			if e := relative(got, want); len(got) != len(want) || len(got) == 0 || !(e <= allowed) {
				t.Errorf("call %d: %s has %d values (want %d) and a relative error of %.2g", call, name, len(got), len(want), e)
			}
		}
	}
}

func testAnalysisGraph(t *testing.T) *Graph {
	g, err := AnalysisGraph(AnalysisParams{SampleRate: 22050, NFFT: 512, Hop: 256, Bands: 40, Coefficients: 13, Window: 64})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAnalysisAgainstReferences(t *testing.T) {
	music := kernels.GeneratedInput().Samples
	against(t, testAnalysisGraph(t), 1e-4, [][]float32{music[:50000]}, [][]float32{music[20000:31234]}, [][]float32{music[:50000]})
}

// testSeparator has segments of 11 hops and 4 channels.
func testSeparator() SeparatorParams {
	const nFFT, channels = 64, 4
	layer := convlayer.Layer{In: nFFT + 2, Out: 2 * channels, Kernel: 8, Stride: 4, Padding: 2}
	layer.Weights, layer.Bias = noise(1, layer.In*layer.Out*layer.Kernel, 0.1), noise(2, layer.Out, 0.1)
	return SeparatorParams{
		NFFT: nFFT, Hop: 16, Frames: 12, Encoder: layer,
		Norm: norm.GroupParams{Groups: 2, Weights: noise(3, channels, 1), Bias: noise(4, channels, 1)},
		LSTM: recurrent.Params{In: channels, Hidden: channels, InputWeights: noise(5, 4*channels*channels, 0.5),
			HiddenWeights: noise(6, 4*channels*channels, 0.5)},
		Decoder: noise(7, 4*(nFFT+2)*channels, 1), Bias: noise(8, 4*(nFFT+2), 0.1),
	}
}

func TestSeparatorAgainstReferences(t *testing.T) {
	p := testSeparator()
	g, err := SeparatorGraph(p)
	if err != nil {
		t.Fatal(err)
	}
	music := kernels.GeneratedInput().Samples
	against(t, g, 1e-4, [][]float32{music[:p.segment()]}, [][]float32{music[500 : 500+p.segment()]})
}

// Each segment is separated as if it were the only one.
func TestSegmentsAreApart(t *testing.T) {
	p := testSeparator()
	s, err := NewSeparator(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if got := recover(); got != "songs: dst has 3 samples, want as many as src, 4" {
				t.Errorf("panic %v", got)
			}
		}()
		_ = s.Run(make([]float32, 3), make([]float32, 4))
	}()
	defer s.Close()
	music := kernels.GeneratedInput().Samples
	n, step := s.segment, s.segment-s.overlap
	whole, second := make([]float32, n+step), make([]float32, n)
	if err := s.Run(whole, music[:n+step]); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(second, music[step:step+n]); err != nil {
		t.Fatal(err)
	}
	if e := relative(whole[n:], second[s.overlap:]); !(e <= 1e-6) {
		t.Errorf("behind the overlap the second segment differs by %.2g", e)
	}
	first := make([]float32, n)
	if err := s.Run(first, music[:n]); err != nil {
		t.Fatal(err)
	}
	for i := range s.overlap {
		share := (float64(i) + 0.5) / float64(s.overlap)
		want := (1-share)*float64(first[step+i]) + share*float64(second[i])
		if got := float64(whole[step+i]); !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
			t.Fatalf("sample %d of the overlap is %v, want %v", i, got, want)
		}
	}
	if err := s.Run(nil, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("no samples: %v", err)
	}
}

// Where segments overlap, their weights add up to 1.
func TestOverlap(t *testing.T) {
	p, err := New(nil, chain())
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{1, 3, 99, 100, 101, 175, 176, 1000} {
		s := &Separator{pipeline: p, segment: 100, overlap: 25, padded: make([]float32, 100)}
		x, y := noise(9, length, 1), make([]float32, length)
		if err := s.run(y, x, "c"); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			if math.Abs(float64(y[i]-8*v)) > 1e-5 {
				t.Fatalf("%d samples: sample %d is %v, want %v", length, i, y[i], 8*v)
			}
		}
	}
}

func testSynthesiser(t *testing.T, block int) SynthesiserParams {
	t.Helper()
	filter, err := biquad.LowpassCascade(4000, 44100, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := SynthesiserParams{
		Voices: oscillator.Params{SampleRate: 44100},
		Level:  0.8, Filter: filter, Block: block,
		Compressor: recurrence.CompressorParams{Threshold: -20, Ratio: 4, Knee: 6, Attack: 0.001, Release: 0.05, SampleRate: 44100},
		Response:   noise(1, 300, 0.1),
	}
	for v := range 5 {
		p.Voices.Voices = append(p.Voices.Voices, oscillator.Voice{Frequency: 110 * float64(v+1), Detune: 7, Attack: 0.002, Decay: 0.01,
			Sustain: 0.6, Gate: 0.02, Release: 0.05})
	}
	return p
}

// Blocks of any length are one signal, and Reset begins it again.
func TestSynthesiserAgainstReferences(t *testing.T) {
	g, err := SynthesiserGraph(testSynthesiser(t, 240))
	if err != nil {
		t.Fatal(err)
	}
	var calls [][][]float32
	for at := range uint32(6) {
		calls = append(calls, [][]float32{kernels.Uint32Words([]uint32{240 * at, 0})})
	}
	against(t, g, 1e-4, calls...)
	var first []float32
	for _, block := range []int{48, 240, 720} {
		s, err := NewSynthesiser(nil, testSynthesiser(t, block))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			got := make([]float32, 1440)
			if err := s.Render(got); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			if e := relative(got, first); !(e <= 1e-4) || slices.Max(got) == 0 {
				t.Errorf("blocks of %d: the signal differs by %.2g", block, e)
			}
			s.Reset()
		}
	}
}

func testDecoder() DecoderParams {
	const width, vocabulary, rank = 24, 100, 4
	return DecoderParams{
		Width: width, Heads: 3, Norm: noise(1, width, 1), Query: noise(2, width*width, 1), Key: noise(3, width*width, 1),
		Value: noise(4, width*width, 1),
		Logits: lora.Params{In: width, Out: vocabulary, Rank: rank, A: noise(5, width*rank, 1), B: noise(6, rank*vocabulary, 1), Scale: 2,
			Weights: noise(7, vocabulary*width, 1), Bias: noise(8, vocabulary, 1)},
		TopK: sampling.TopKParams{Columns: vocabulary, K: 5, Temperature: 0.7},
	}
}

// Each step attends to all steps before.
func TestDecoderAgainstReferences(t *testing.T) {
	g, err := DecoderGraph(testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	var calls [][][]float32
	for step := range 9 {
		calls = append(calls, [][]float32{noise(uint64(10+step), 24, 1), {0.1 * float32(step)}})
	}
	against(t, g, 1e-4, calls...)
}

// A decoder allocates nothing in steps that are as many as it has computed before a Reset, though each has a longer cache than
// the one before.
func TestDecoderStepsDoNotAllocate(t *testing.T) {
	d, err := NewDecoder(nil, testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	x := noise(1, 24, 1)
	step := func() {
		if _, err := d.Step(x, 0.5); err != nil {
			t.Fatal(err)
		}
	}
	const steps = 40
	for range steps {
		step()
	}
	d.Reset()
	if n := testing.AllocsPerRun(steps-1, step); n > 0 { // and one run before
		t.Errorf("%v allocations a step", n)
	}
}

// A failed step did not happen, whichever stage fails.
func TestFailedStepDidNotHappen(t *testing.T) {
	d, err := NewDecoder(nil, testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	twin, err := NewDecoder(nil, testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	for step := range 6 {
		x := noise(uint64(20+step), 24, 1)
		if step > 0 {
			last := d.plans[len(d.plans)-1]
			d.plans[len(d.plans)-1] = failing{last}
			if _, err := d.Step(noise(99, 24, 1), 0.5); err == nil || !strings.Contains(err.Error(), "stage best: no luck") {
				t.Fatalf("got %v", err)
			}
			if got := d.Floats("best"); got != nil {
				t.Errorf("a failed call has outputs: %v", got)
			}
			d.plans[len(d.plans)-1] = last
		}
		if _, err := d.Step(x, 0.5); err != nil {
			t.Fatal(err)
		}
		if _, err := twin.Step(x, 0.5); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Floats("best"), twin.Floats("best")) {
			t.Errorf("step %d: %v, want %v", step, d.Floats("best"), twin.Floats("best"))
		}
	}
	if _, err := d.Step(make([]float32, 23), 0.5); err == nil || !strings.Contains(err.Error(), "stage norm") {
		t.Errorf("a vector of 23: %v", err)
	}
	if d.Calls() != twin.Calls() {
		t.Errorf("%d calls, want %d", d.Calls(), twin.Calls())
	}
}

// failing is a plan whose calls fail.
type failing struct{ kernels.StepPlan }

func (failing) Run(kernels.Shape, kernels.Args) error { return errors.New("no luck") }

// Parameters that do not fit together.
func TestGraphsRefuse(t *testing.T) {
	separator := func(change func(p *SeparatorParams)) error {
		p := testSeparator()
		change(&p)
		_, err := NewSeparator(nil, p)
		return err
	}
	decoder := func(change func(p *DecoderParams)) error {
		p := testDecoder()
		change(&p)
		_, err := NewDecoder(nil, p)
		return err
	}
	synthesiser := func(change func(p *SynthesiserParams)) error {
		p := testSynthesiser(t, 100)
		change(&p)
		_, err := NewSynthesiser(nil, p)
		return err
	}
	for want, err := range map[string]error{
		"Frames is 13":              separator(func(p *SeparatorParams) { p.Frames = 13 }),
		"an encoder of 66 inputs":   separator(func(p *SeparatorParams) { p.Encoder.Stride = 2 }),
		"the encoder makes 2":       separator(func(p *SeparatorParams) { p.Encoder.Padding = 0 }),
		"an LSTM from 4 to 5":       separator(func(p *SeparatorParams) { p.LSTM.Hidden = 5 }),
		"linear: ":                  separator(func(p *SeparatorParams) { p.Decoder = p.Decoder[1:] }),
		"the norm has a batch":      separator(func(p *SeparatorParams) { p.Norm.Batch = 2 }),
		"a width of 24 and 5 heads": decoder(func(p *DecoderParams) { p.Heads = 5 }),
		"23 weights of the norm":    decoder(func(p *DecoderParams) { p.Norm = p.Norm[1:] }),
		"key: linear: ":             decoder(func(p *DecoderParams) { p.Key = p.Key[1:] }),
		"the best 0 of 100 tokens":  decoder(func(p *DecoderParams) { p.TopK.K = 0 }),
		"stage best":                decoder(func(p *DecoderParams) { p.TopK.Columns = 99 }),
		"Block is 0":                synthesiser(func(p *SynthesiserParams) { p.Block = 0 }),
		"no voices":                 synthesiser(func(p *SynthesiserParams) { p.Voices.Voices = nil }),
		"ratio":                     synthesiser(func(p *SynthesiserParams) { p.Compressor.Ratio = 0 }),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}
