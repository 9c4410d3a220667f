package oscillator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/kernels"
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
	// A sine at a quarter of the sample rate goes 0, 1, 0, −1, the sawtooth in unison 0, ½, −1, −½.
	p := Params{SampleRate: 8, Voices: []Voice{{Frequency: 2, Sustain: 1, Gate: 10}}}
	want := []float64{0, 0.75, -0.5, -0.75, 0, 0.75}
	for i, got := range Reference(p, len(want)) {
		if math.Abs(got-want[i]) > 1e-15 {
			t.Errorf("sample %d is %g, want %g", i, got, want[i])
		}
	}
	// Two silent voices more only change the gain of the mix.
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

// oddVoices returns voices whose gate closes in every stage, and such whose stages take no time.
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

func TestStages(t *testing.T) {
	for name, voice := range oddVoices() {
		t.Run(name, func(t *testing.T) {
			p := Params{SampleRate: 44100, Voices: []Voice{voice}}
			got := make([]float32, 512)
			if err := serial(newVoices(p)).render(got, 0); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, Reference(p, 512)); !(e <= 1e-5) {
				t.Errorf("relative error %.2g, want below 1e-5", e)
			}
		})
	}
}

func TestCase(t *testing.T) {
	c := Cases()[0]
	for _, voices := range []int{1, 2, 3, 17, 64, 256} {
		problem := c.Problem(voices, kernels.Input{})
		want := problem.Reference()
		for _, implementation := range c.Implementations {
			t.Run(fmt.Sprintf("%s/voices=%d", implementation.Name, voices), func(t *testing.T) {
				if err := implementation.Missing(); err != nil {
					t.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				for range 2 {
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(call.Output(), want); !(e <= c.Tolerance(voices)) {
						t.Errorf("relative error %.2g, tolerance %.2g", e, c.Tolerance(voices))
					}
				}
				if allocations := testing.AllocsPerRun(5, func() { call.Run() }); allocations != 0 {
					t.Errorf("%g allocations a call, want 0", allocations)
				}
			})
		}
	}
	if _, err := c.Problem(1, kernels.Input{}).Bind("abacus"); err == nil {
		t.Error("Bind accepted an unknown implementation")
	}
}

// TestPlan renders a bank in blocks of changing length, long past the point where a float32 phase would have lost its
// place, and holds the last of them against the reference.
func TestPlan(t *testing.T) {
	p := testBank(5)
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

// TestParallelReusesBuffers renders a long block, a short one and a long one again.
func TestParallelReusesBuffers(t *testing.T) {
	p := testBank(64)
	e := newParallel(p)
	want := Reference(p, 512)
	for _, n := range []int{512, 100, 512} {
		got := make([]float32, n)
		for i := range got {
			got[i] = 9 // must not be added to
		}
		if err := e.render(got, 0); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want[:n]); !(e <= 1e-5) {
			t.Errorf("%d samples: relative error %.2g, want below 1e-5", n, e)
		}
	}
}

func TestErrors(t *testing.T) {
	good := testBank(2)
	for _, test := range []struct {
		name   string
		change func(*Params)
		want   string
	}{
		{"no voices", func(p *Params) { p.Voices = nil }, "no voices"},
		{"no sample rate", func(p *Params) { p.SampleRate = 0 }, "sample rate 0 Hz"},
		{"NaN sample rate", func(p *Params) { p.SampleRate = math.NaN() }, "sample rate NaN Hz"},
		{"beyond Nyquist", func(p *Params) { p.Voices[1].Frequency = 22050 }, "voice 1: frequency 22050 Hz"},
		{"detuned beyond Nyquist", func(p *Params) { p.Voices[1].Frequency = 22000 }, "voice 1: frequency 220"},
		{"negative frequency", func(p *Params) { p.Voices[0].Frequency = -1 }, "voice 0: frequency -1 Hz"},
		{"NaN detune", func(p *Params) { p.Voices[0].Detune = math.NaN() }, "voice 0: frequency NaN Hz"},
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
	c := Cases()[0]
	for _, voices := range []int{1, 2, 4, 16, 64} {
		problem := c.Problem(voices, kernels.Input{})
		for _, implementation := range c.Implementations {
			b.Run(fmt.Sprintf("impl=%s/voices=%d", implementation.Name, voices), func(b *testing.B) {
				if err := implementation.Missing(); err != nil {
					b.Skip(err)
				}
				call, err := problem.Bind(implementation.Name)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					call.Run()
				}
			})
		}
	}
}
