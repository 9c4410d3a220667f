package tempogram

import (
	"errors"
	"math"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestTempo(t *testing.T) {
	kerneltest.Run(t, &Tempo, kerneltest.Options{Sizes: []int{1, 3, 17, 60}, Emulated: 20})
}

func TestTempoBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Tempo, kerneltest.GPUName, kernels.Shape{40})
}

// estimate returns the tempo by each implementation.
func estimate(t *testing.T, p TempoParams, x []float32, check func(name string, lag int)) {
	t.Helper()
	check("the reference", TempoReference(p, x))
	if lag := TempoReference(p, nil); lag != 0 {
		t.Errorf("no strengths have a tempo with a lag of %d", lag)
	}
	for name, plan := range kerneltest.Plans(t, &Tempo, p) {
		a := kernels.Args{make([]float32, 1), x}
		if err := plan.Run(kernels.Shape{len(x)}, a); err != nil {
			t.Fatal(err)
		}
		check(name, int(kernels.Uint32s(a[0])[0]))
	}
}

// TestTempoLibrosa compares with librosa.feature.tempo.
func TestTempoLibrosa(t *testing.T) {
	x := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "onset_strength")
	want := kerneltest.ReadArchived[float64](t, "testdata/librosa.npz", "tempo")[0]
	estimate(t, measured, x, func(name string, lag int) {
		if got := measured.bpm(lag); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %.6f beats a minute, want %.6f", name, got, want)
		}
	})
}

// Onsets at a period have its tempo, or that of a multiple that is nearer to the expected one.
func TestPeriods(t *testing.T) {
	for _, test := range []struct {
		p            TempoParams
		period, want int
	}{
		{measured, 9, 18},
		{TempoParams{22050, 512, 60}, 21, 42}, {TempoParams{22050, 512, 1000}, 3, 9}, {TempoParams{22050, 2048, 0}, 5, 5},
	} {
		x := make([]float32, 100)
		for i := 3; i < len(x); i += test.period {
			x[i] = 1
		}
		estimate(t, test.p, x, func(name string, lag int) {
			if lag != test.want {
				t.Errorf("%+v, %s: a period of %d frames has a lag of %d, want %d", test.p, name, test.period, lag, test.want)
			}
		})
	}
}

// Each frame counts alike, however loud it is.
func TestLoudPart(t *testing.T) {
	x := make([]float32, 400)
	for i := 60; i < len(x); i += 3 {
		x[i] = 1
	}
	for i := 0; i < 50; i += 2 {
		x[i] = 1000
	}
	estimate(t, TempoParams{22050, 4096, 0}, x, func(name string, lag int) {
		if lag != 3 {
			t.Errorf("%s: lag %d, want 3", name, lag)
		}
	})
}

// A frame with many onsets counts no more than one with few. Pairs of onsets, with more energy, repeat after 4 frames.
func TestDensePart(t *testing.T) {
	x := make([]float32, 290)
	for i := range 200 {
		x[i] = float32(1 - i/2%2)
	}
	for i := 200; i < len(x); i += 3 {
		x[i] = 1
	}
	estimate(t, TempoParams{22050, 4096, 0}, x, func(name string, lag int) {
		if lag != 3 {
			t.Errorf("%s: lag %d, want 3", name, lag)
		}
	})
}

// Silence, and a single onset, have the tempo nearest to the expected one. What is no number has none.
func TestStrangeTempos(t *testing.T) {
	alone := make([]float32, 30)
	alone[10] = 1
	spoilt := make([]float32, 30)
	spoilt[29] = float32(math.Inf(1))
	nan := make([]float32, 30)
	nan[0] = float32(math.NaN())
	for _, test := range []struct {
		name string
		x    []float32
		want int
	}{{"silence", make([]float32, 30), 22}, {"a single onset", alone, 22}, {"an infinity", spoilt, 0}, {"a NaN", nan, 0}} {
		estimate(t, measured, test.x, func(name string, lag int) {
			if lag != test.want {
				t.Errorf("%s, %s: lag %d, want %d", test.name, name, lag, test.want)
			}
		})
	}
}

func TestTempoPlan(t *testing.T) {
	plan, err := NewTempo(nil, measured)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if got, err := plan.Estimate(nil); got != 0 || err != nil {
		t.Errorf("no strengths: %v, %v", got, err)
	}
	if got, err := plan.Estimate([]float32{float32(math.NaN())}); got != 0 || err != nil {
		t.Errorf("a NaN: %v, %v", got, err)
	}
	if got, err := plan.Estimate(make([]float32, 100)); math.Abs(got-60*22050/(512*22.0)) > 1e-9 || err != nil {
		t.Errorf("silence: %v, %v", got, err)
	}
}

func TestNewTempoRefuses(t *testing.T) {
	for _, p := range []TempoParams{{22050, 0, 0}, {0, 512, 0}, {math.NaN(), 512, 0}, {1e9, 1, 0}, {22050, 1 << 20, 0}, {22050, 512, -1},
		{22050, 512, math.NaN()}} {
		if _, err := NewTempo(nil, p); err == nil || !strings.Contains(err.Error(), "tempo: ") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestTempoRefuses(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendTempo(b, measured, kernels.Shape{1 << 30}, nil)
	if err := b.Err(); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

func BenchmarkEstimate(b *testing.B) { kerneltest.Benchmark(b, &Tempo, Tempo.Lines[0], 216, 4096) }
