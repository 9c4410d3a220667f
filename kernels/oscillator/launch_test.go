package oscillator

import (
	"fmt"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// TestLaunch renders banks at the edges of simdgroups and of threadgroups' samples, by every strategy.
func TestLaunch(t *testing.T) {
	device := emulator.Open(t)
	for _, voices := range []int{1, 2, 3, 17, 33} {
		p := testBank(voices)
		want := Reference(p, 600)
		e := &launch{voices: newVoices(p), device: device}
		for _, n := range []int{1, 31, 33, 257, 512, 600} {
			for _, by := range []strategy{e.strategy(n, 132), {32, 32, 1, 1}, {64, 4, 1, 2}, {128, 8, 2, 1}, {256, 32, 8, 3}} {
				t.Run(fmt.Sprintf("voices=%d,n=%d,%+v", voices, n, by), func(t *testing.T) {
					p, err := e.planBy(by, n)
					if err != nil {
						t.Fatal(err)
					}
					defer p.Close()
					p.start(0)
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
					if e := kernels.RelativeError(p.y.Floats(), want[:n]); !(e <= 1e-5) {
						t.Errorf("relative error %.2g, want below 1e-5", e)
					}
				})
			}
		}
	}
}

func TestStrategy(t *testing.T) {
	for _, test := range []struct {
		voices, n, cores int
		want             strategy
	}{
		{1, 512, 132, strategy{32, 4, 1, 1}},
		{9, 512, 132, strategy{64, 4, 1, 1}},
		{256, 512, 132, strategy{1024, 4, 1, 1}},
		{1024, 512, 132, strategy{1024, 4, 1, 1}},
		{4096, 512, 132, strategy{256, 16, 16, 256}},
		{16384, 512, 132, strategy{256, 16, 16, 528}},
		{1024, 352800, 132, strategy{256, 16, 16, 1}},
		{1, 1 << 20, 132, strategy{32, 16, 16, 1}},
		{4096, 512, 0, strategy{256, 16, 16, 1}},
	} {
		if got := (&launch{voices: make([]voice, test.voices)}).strategy(test.n, test.cores); got != test.want {
			t.Errorf("%d voices, %d samples: %+v, want %+v", test.voices, test.n, got, test.want)
		}
	}
}

// TestLaunchStages renders envelopes whose gate closes in every stage, and stages that take no time.
func TestLaunchStages(t *testing.T) {
	device := emulator.Open(t)
	for name, voice := range oddVoices() {
		p := Params{SampleRate: 44100, Voices: []Voice{voice}}
		e, err := newLaunch(device, p)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 512)
		if err := e.render(got, 0); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, Reference(p, 512)); !(e <= 1e-5) {
			t.Errorf("%s: relative error %.2g, want below 1e-5", name, e)
		}
		e.(*launch).plans.Close()
	}
}

// TestLaunchContinues renders a bank in two blocks, long after a float32 phase would have lost its place, and after the
// lower half of the position has wrapped.
func TestLaunchContinues(t *testing.T) {
	device := emulator.Open(t)
	p := testBank(5)
	for v := range p.Voices {
		p.Voices[v].Gate = 2e5 + 0.1*float64(v)
		p.Voices[v].Release = 0.3
	}
	e, err := newLaunch(device, p)
	if err != nil {
		t.Fatal(err)
	}
	defer e.(*launch).plans.Close()
	for _, position := range []int64{0, 44100 * 3, 1<<32 - 300, int64(44100*(2e5+0.2)) - 100} {
		want := make([]float32, 600)
		if err := (serial(newVoices(p))).render(want, position); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 600)
		for from := 0; from < 600; from += 300 {
			if err := e.render(got[from:from+300], position+int64(from)); err != nil {
				t.Fatal(err)
			}
		}
		exact := make([]float64, len(want))
		for i, v := range want {
			exact[i] = float64(v)
		}
		if e := kernels.RelativeError(got, exact); !(e <= 2e-6) {
			t.Errorf("from sample %d on: %.2g off the processor's, want below 2e-6", position, e)
		}
	}
}

func TestLaunchWarm(t *testing.T) {
	device := emulator.Open(t)
	e, err := newLaunch(device, testBank(2))
	if err != nil {
		t.Fatal(err)
	}
	defer e.(*launch).plans.Close()
	if err := e.render(nil, 7); err != nil {
		t.Errorf("no samples: %v", err)
	}
	dst := make([]float32, 40)
	if err := e.render(dst, 0); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(5, func() { e.render(dst, 3) }); got != 0 && !emulator.Racing() {
		t.Errorf("%g allocations a call", got)
	}
	call, err := e.(*launch).bind(100)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	for range 2 {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(call.Output(), Reference(testBank(2), 100)); !(e <= 1e-5) {
			t.Errorf("relative error %.2g, want below 1e-5", e)
		}
	}
}

// TestLaunchNeedsBarriers removes each barrier from the text in turn; a run by several threadgroups must then fail.
func TestLaunchNeedsBarriers(t *testing.T) {
	device := emulator.Open(t)
	defer func(whole string) { text = whole }(text)
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	parts := strings.Split(text, barrier)
	for i := 1; i < len(parts); i++ {
		text = strings.Join(parts[:i], barrier) + strings.Join(parts[i:], barrier)
		e := &launch{voices: newVoices(testBank(40)), device: device}
		p, err := e.planBy(strategy{64, 4, 1, 2}, 40)
		if err != nil {
			t.Fatal(err)
		}
		p.start(0)
		if p.Run() == nil {
			t.Errorf("nothing fails without barrier %d of %d", i, len(parts)-1)
		}
		p.Close()
	}
}
