package oscillator

import (
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestSin2Pi(t *testing.T) {
	worst := 0.0
	for i := -1 << 16; i <= 1<<16; i++ {
		p := float32(i) / (1 << 17)
		if e := math.Abs(float64(sin2Pi(p)) - math.Sin(2*math.Pi*float64(p))); e > worst {
			worst = e
		}
	}
	if worst > 3e-7 {
		t.Errorf("greatest error %.3g, want at most 3e-7", worst)
	}
	t.Logf("greatest error %.3g", worst)
	for _, p := range []float32{-0.5, 0, 0.5} {
		if sin2Pi(p) != 0 {
			t.Errorf("sin2Pi(%g) = %g, want 0", p, sin2Pi(p))
		}
	}
}

func TestReference(t *testing.T) {
	// At a quarter of the sample rate the sine is 0, 1, 0, −1, and the sawtooth in unison is 0, ½, −1, −½.
	p := Params{SampleRate: 8, Voices: []Voice{{Frequency: 2, Sustain: 1, Gate: 10}}}
	want := []float64{0, 0.75, -0.5, -0.75, 0, 0.75}
	for i, got := range Reference(p, len(want)) {
		if math.Abs(got-want[i]) > 1e-15 {
			t.Errorf("sample %d is %g, want %g", i, got, want[i])
		}
	}
	// Two more voices that are silent only change the gain of the mix.
	p.Voices = append(p.Voices, Voice{}, Voice{})
	for i, got := range Reference(p, len(want)) {
		if math.Abs(got-want[i]/3) > 1e-15 {
			t.Errorf("sample %d of three voices is %g, want %g", i, got, want[i]/3)
		}
	}
}

func TestLevel(t *testing.T) {
	full := Voice{Attack: 1, Decay: 2, Sustain: 0.5, Gate: 5, Release: 4}
	early := full
	early.Gate = 0.5
	abrupt := Voice{Sustain: 0.5, Gate: 1}
	for _, test := range []struct {
		name    string
		voice   Voice
		t, want float64
	}{
		{"beginning", full, 0, 0},
		{"attack", full, 0.25, 0.25},
		{"peak", full, 1, 1},
		{"decay", full, 2, 0.75},
		{"sustain", full, 4, 0.5},
		{"gate", full, 5, 0.5},
		{"release", full, 7, 0.25},
		{"end", full, 9, 0},
		{"after the end", full, 100, 0},
		{"gate during attack", early, 0.5, 0.5},
		{"release from there", early, 2.5, 0.25},
		{"no attack, no decay", abrupt, 0, 0.5},
		{"no release", abrupt, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.voice.level(test.t); math.Abs(got-test.want) > 1e-15 {
				t.Errorf("level(%g) = %g, want %g", test.t, got, test.want)
			}
		})
	}
}

// oddVoices returns voices whose gates close in every stage, and voices with stages that take no time.
func oddVoices() map[string]Voice {
	base := Voice{Frequency: 441.3, Detune: 7, Attack: 0.0021, Decay: 0.0033, Sustain: 0.4, Gate: 0.0087, Release: 0.0012}
	voices := map[string]Voice{"every stage": base}
	change := func(name string, f func(*Voice)) {
		v := base
		f(&v)
		voices[name] = v
	}
	change("gate during attack", func(v *Voice) { v.Gate = 0.0011 })
	change("gate during decay", func(v *Voice) { v.Gate = 0.0031 })
	change("gate beyond the block", func(v *Voice) { v.Gate = 1 })
	change("no attack", func(v *Voice) { v.Attack = 0 })
	change("no decay", func(v *Voice) { v.Decay = 0 })
	change("no release", func(v *Voice) { v.Release = 0 })
	change("stages shorter than a sample", func(v *Voice) { v.Attack, v.Decay, v.Release = 1e-6, 1e-6, 1e-6 })
	change("never opened", func(v *Voice) { v.Gate = 0 })
	change("all zeros", func(v *Voice) { *v = Voice{} })
	return voices
}

// strict is the operation with a tolerance just above the errors of the implementations.
func strict() *kernels.Op[Params] {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return 1e-5 }
	return &op
}

func TestOp(t *testing.T) {
	kerneltest.Run(t, strict(), kerneltest.Options{Sizes: []int{1, 2, 3, 17, 64}})
}

// usualBank sustains the voices of the last blocks, which are long.
func TestLengths(t *testing.T) {
	op := strict()
	op.Lines = []kernels.Line{kernels.Along(axes, "n", kernels.Param{Name: "voices", Value: 3}),
		kernels.Along(axes, "n", kernels.Param{Name: "voices", Value: 40})}
	kerneltest.Run(t, op, kerneltest.Options{Sizes: []int{1, 31, 33, 257, 600, 2500}, Emulated: 1000})
}

// The envelopes of the measured line end within the block. Longer blocks sound to their end.
func TestUsualBank(t *testing.T) {
	for _, test := range []struct {
		n           int
		first, last float64 // gates of the first and of the eighth voice, in seconds
	}{{1, 0.007, 0.00875}, {512, 0.007, 0.00875}, {513, 513. / 44100, 513. / 44100}, {441000, 10, 10}} {
		p := usualBank(kernels.Shape{voices: 8, samples: test.n})
		if got := [2]float64{p.Voices[0].Gate, p.Voices[7].Gate}; got != [2]float64{test.first, test.last} {
			t.Errorf("%d samples: gates %v, want %v and %v", test.n, got, test.first, test.last)
		}
		if err := p.check(); err != nil {
			t.Error(err)
		}
	}
}

// render renders n samples from a position on, into memory with other values, which must be overwritten.
func render(t *testing.T, p *kernels.Plan[Params], count, n int, position int64) []float32 {
	t.Helper()
	y, words := make([]float32, n), positionWords(position)
	for i := range y {
		y[i] = 9
	}
	if err := p.Run(kernels.Shape{voices: count, samples: n}, kernels.Args{y, kernels.Uint32Words(words[:])}); err != nil {
		t.Fatal(err)
	}
	return y
}

// Gates close in every stage, and some stages take no time.
func TestStages(t *testing.T) {
	for name, voice := range oddVoices() {
		p := Params{SampleRate: 44100, Voices: []Voice{voice}}
		want := Reference(p, 512)
		for implementation, plan := range kerneltest.Plans(t, &Op, p) {
			if e := kernels.RelativeError(render(t, plan, 1, 512, 0), want); !(e <= 1e-5) {
				t.Errorf("%s, %s: relative error %.2g, want below 1e-5", name, implementation, e)
			}
		}
	}
}

// TestGoesOn renders a bank in two blocks at late positions: when a phase in float32 would be too inexact, and after the low
// word of the position has wrapped. There the phases of the reference, in float64, are less exact than those of the
// implementations.
func TestGoesOn(t *testing.T) {
	p := usualBank(kernels.Shape{voices: 5})
	for v := range p.Voices {
		p.Voices[v].Gate = 2e5 + 0.1*float64(v)
		p.Voices[v].Release = 0.3
	}
	all := kerneltest.Plans(t, &Op, p)
	for _, position := range []int64{0, 44100 * 3, 1<<32 - 300, int64(44100*(2e5+0.2)) - 100} {
		once := render(t, all["go"], 5, 600, position)
		var want []float64
		for _, v := range once {
			want = append(want, float64(v))
		}
		if position < 1e6 {
			if e := kernels.RelativeError(once, referenceFrom(p, position, 600)); !(e <= 1e-5) {
				t.Errorf("from sample %d on: relative error %.2g, want below 1e-5", position, e)
			}
		}
		for name, plan := range all {
			got := append(render(t, plan, 5, 300, position), render(t, plan, 5, 300, position+300)...)
			if e := kernels.RelativeError(got, want); !(e <= 2e-6) {
				t.Errorf("%s from sample %d on: %.2g off the processor's in one block, want at most 2e-6", name, position, e)
			}
		}
	}
}

// TestPlan renders a bank in blocks of changing length, until a phase in float32 would be too inexact, and compares the last
// block with the reference.
func TestPlan(t *testing.T) {
	p := usualBank(kernels.Shape{voices: 5})
	for v := range p.Voices {
		p.Voices[v].Gate = 2.1 + 0.1*float64(v)
		p.Voices[v].Release = 0.3
	}
	const seconds = 3
	want := Reference(p, seconds*44100)
	plan, err := New(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if err := plan.Render(nil); err != nil {
		t.Errorf("no samples: %v", err)
	}
	if e := plan.Explain(100); e.Case != "oscillator-bank/n=512" || e.Size != 5 {
		t.Errorf("judged by %s at %d", e.Case, e.Size)
	}
	p.Voices[0].Frequency = 1 // the plan has a copy
	for pass := range 2 {
		var got []float32
		for block := 1; len(got) < len(want); block = block%700 + 1 {
			dst := make([]float32, min(block, len(want)-len(got)))
			if err := plan.Render(dst); err != nil {
				t.Fatal(err)
			}
			got = append(got, dst...)
		}
		tail := len(want) - 44100
		if e := kernels.RelativeError(got[tail:], want[tail:]); !(e <= 1e-5) {
			t.Errorf("pass %d: relative error of the last second %.2g, want below 1e-5", pass, e)
		}
		plan.Reset()
	}
	dst := make([]float32, 256)
	if allocations := testing.AllocsPerRun(10, func() { plan.Render(dst) }); allocations != 0 {
		t.Errorf("%g allocations a block, want 0", allocations)
	}
}

func TestErrors(t *testing.T) {
	good := usualBank(kernels.Shape{voices: 2})
	for _, test := range []struct {
		name   string
		change func(*Params)
		want   string
	}{
		{"no voices", func(p *Params) { p.Voices = nil }, "no voices"},
		{"no sample rate", func(p *Params) { p.SampleRate = 0 }, "sample rate 0 Hz"},
		{"NaN sample rate", func(p *Params) { p.SampleRate = math.NaN() }, "sample rate NaN Hz"},
		{"beyond Nyquist", func(p *Params) { p.Voices[1].Frequency = 22050 }, "voice 1: frequency 22050 Hz"},
		{"detuned beyond Nyquist", func(p *Params) { p.Voices[1].Frequency = 22000 }, "voice 1: 22000 Hz detuned by "},
		{"negative frequency", func(p *Params) { p.Voices[0].Frequency = -1 }, "voice 0: frequency -1 Hz"},
		{"NaN detune", func(p *Params) { p.Voices[0].Detune = math.NaN() }, "Hz detuned by NaN cents: want finite cents"},
		{"an infinite detune", func(p *Params) { p.Voices[0].Detune = math.Inf(-1) }, "Hz detuned by -Inf cents: want finite cents"},
		{"loud sustain", func(p *Params) { p.Voices[0].Sustain = 1.5 }, "voice 0: sustain 1.5"},
		{"negative attack", func(p *Params) { p.Voices[0].Attack = -1 }, "voice 0: envelope time -1 s"},
		{"endless release", func(p *Params) { p.Voices[0].Release = math.Inf(1) }, "voice 0: envelope time +Inf s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := good
			p.Voices = append([]Voice(nil), good.Voices...)
			test.change(&p)
			if _, err := New(nil, p); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
}

func BenchmarkOscillator(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 2, 4, 16, 64)
}
