package mfcc

import (
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 2e-6

func TestOp(t *testing.T) {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	odd := kernels.Along(axes, "frames", kernels.Param{Name: "coefficients", Value: 41}, kernels.Param{Name: "bands", Value: 63})
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 3, 33, 300}, Emulated: 8 << 10, Lines: []kernels.Line{odd}})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, Op.Lines[0].At(4))
}

// TestLibrosa computes librosa's coefficients from librosa's mel spectrogram, which is bands×frames in float32.
func TestLibrosa(t *testing.T) {
	turned := func(x []float32, frames int) []float32 {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i%frames*(len(x)/frames)+i/frames] = v
		}
		return y
	}
	const bands = 128
	mels := kerneltest.ReadArchived[float32](t, "../mel/testdata/librosa.npz", "mel_128")
	count := len(mels) / bands
	mels = turned(mels, count)
	for _, p := range []Params{{bands, 13}, {bands, 20}} {
		name := map[int]string{13: "mfcc_13", 20: "mfcc_20"}[p.Coefficients]
		var want []float64
		for _, v := range turned(kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", name), count) {
			want = append(want, float64(v))
		}
		reference := make([]float32, len(want))
		for i, v := range Reference(p, mels) {
			reference[i] = float32(v)
		}
		if e := kernels.RelativeError(reference, want); !(e <= allowed) {
			t.Errorf("%s: the reference has a relative error of %.2g", name, e)
		}
		got := make([]float32, len(want))
		for implementation, plan := range kerneltest.Plans(t, &Op, p) {
			if err := plan.Run(kernels.Shape{p.Coefficients, p.Bands, count}, kernels.Args{got, mels}); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(got, want); !(e <= allowed) {
				t.Errorf("%s, %s: relative error %.2g", name, implementation, e)
			}
		}
	}
}

// One loud frame raises the silence of all others to 80 dB below its peak, wherever it is.
func TestPeakIsGlobal(t *testing.T) {
	p := Params{Bands: 40, Coefficients: 1}
	const frames = 300
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		for _, loud := range []int{0, 150, frames - 1} {
			mel, got := make([]float32, frames*p.Bands), make([]float32, frames)
			mel[loud*p.Bands+p.Bands-1] = 1e6
			if err := plan.Run(kernels.Shape{1, p.Bands, frames}, kernels.Args{got, mel}); err != nil {
				t.Fatal(err)
			}
			silence := (60 - 80) * math.Sqrt(40)
			if v := float64(got[(loud+7)%frames]); math.Abs(v-silence) > 1e-3 {
				t.Errorf("%s, frame %d is loud: a silent frame has %v, want %v", name, loud, v, silence)
			}
		}
	}
}

// A NaN spoils its frame alone, and negative powers are silence.
func TestStrangePowers(t *testing.T) {
	p := Params{Bands: 40, Coefficients: 13}
	mel := make([]float32, 3*p.Bands)
	mel[3], mel[p.Bands+5], mel[2*p.Bands] = 1, float32(math.NaN()), float32(math.Inf(-1))
	mel[2*p.Bands+1] = -4
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		got := make([]float32, 3*p.Coefficients)
		if err := plan.Run(kernels.Shape{p.Coefficients, p.Bands, 3}, kernels.Args{got, mel}); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if spoilt := i/p.Coefficients == 1; math.IsNaN(float64(v)) != spoilt {
				t.Errorf("%s: frame %d has %v", name, i/p.Coefficients, v)
			}
		}
		if silence := -80 * math.Sqrt(40); math.Abs(float64(got[2*p.Coefficients])-silence) > 1e-3 {
			t.Errorf("%s: negative powers are %v, want %v", name, got[2*p.Coefficients], silence)
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Params{Bands: 40, Coefficients: 13})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	mel := make([]float32, 7*40)
	kernels.Noise(mel, 1)
	got, err := plan.Transform(nil, mel)
	if e := kernels.RelativeError(got, Reference(Params{40, 13}, mel)); err != nil || !(e <= allowed) {
		t.Errorf("relative error %.2g, %v", e, err)
	}
	if got, err = plan.Transform(got, nil); err != nil || len(got) != 0 {
		t.Errorf("no frames: %d values, %v", len(got), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a part of a frame")
		}
	}()
	plan.Transform(got, mel[:41])
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{{Params{0, 13}, "Bands is 0"}, {Params{1 << 40, 13}, "Bands is 1099511627776: want 1 to 16384"}, {Params{40, 0}, "Coefficients is 0"}, {Params{40, 41}, "Coefficients is 41"}} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

func BenchmarkTransform(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 216, 8192) }
