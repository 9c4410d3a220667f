package chroma

import (
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/stft"
)

var librosaDefaults = Params{SampleRate: 22050, NFFT: 2048}

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

func TestOp(t *testing.T) {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	short := kernels.Along(axes, "frames", kernels.Param{Name: "n_fft", Value: 256})
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 2, 3, 13, 97, 130}, Emulated: 8 << 10, Lines: []kernels.Line{short}})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, Op.Lines[0].At(3))
}

func TestVendor(t *testing.T) {
	kerneltest.Shapes(t, &Op, kerneltest.WithGEMM(t), "mps", Op.Lines[0].At(1), Op.Lines[0].At(5))
}

func TestFilterbankAgainstLibrosa(t *testing.T) {
	want := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "chroma_filterbank_22050_2048")
	got := Filterbank(22050, 2048)
	if len(got) != len(want) {
		t.Fatalf("%d weights, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-7*float64(want[i]) {
			t.Fatalf("class %d bin %d: %v, want %v", i/1025, i%1025, got[i], want[i])
		}
	}
}

// Every weight is above 0, and the squares of the weights of a bin add up to the square of its octave's factor.
func TestWeights(t *testing.T) {
	for _, p := range []Params{{8000, 2}, {440, 4}, {44100, 16384}} {
		for k := range p.bins() {
			w, squares := p.weightsOf(k), 0.0
			for _, v := range w {
				if !(v > 0) {
					t.Fatalf("%+v bin %d: weight %v", p, k, v)
				}
				squares += v * v
			}
			octave := (p.semitones(k)/12 - 5) / 2
			if want := math.Exp(-octave * octave); math.Abs(squares/want-1) > 1e-12 {
				t.Fatalf("%+v bin %d: the sum of squares is %v, want %v", p, k, squares, want)
			}
		}
	}
	// 440 and 880 Hz are an A.
	for _, bin := range []int{44, 88} {
		if w := (Params{44000, 4400}).weightsOf(bin); w[9] < w[8] || w[9] < w[10] || math.Abs(w[8]-w[10]) > 1e-12 {
			t.Errorf("bin %d: %v", bin, w)
		}
	}
}

// TestLibrosa compares the chain from samples to classes, by every implementation of chroma, with librosa.
func TestLibrosa(t *testing.T) {
	transform, err := stft.New(nil, stft.Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	defer transform.Close()
	spectrum, err := transform.Transform(nil, kerneltest.Signal(5*kerneltest.SignalRate))
	if err != nil {
		t.Fatal(err)
	}
	power := make([]float32, len(spectrum))
	for i, v := range spectrum {
		power[i] = real(v)*real(v) + imag(v)*imag(v)
	}
	var want []float64
	for _, v := range kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "chroma_12") { // stored frame by frame
		want = append(want, float64(v))
	}
	got := make([]float32, len(want))
	for i, v := range Reference(librosaDefaults, power) {
		got[i] = float32(v)
	}
	if e := kernels.RelativeError(got, want); !(e <= allowed) {
		t.Errorf("the reference has a relative error of %.2g", e)
	}
	for name, plan := range kerneltest.Plans(t, &Op, librosaDefaults) {
		if err := plan.Run(kernels.Shape{2048, len(want) / Classes}, kernels.Args{got, power}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= allowed) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// Silence stays silence, and so does what is too quiet to be divided. A NaN or an infinity spoils its frame alone.
func TestStrangePowers(t *testing.T) {
	p := Params{SampleRate: 22050, NFFT: 256}
	power := make([]float32, 6*p.bins())
	frame := func(f int) []float32 { return power[f*p.bins():][:p.bins()] }
	frame(1)[5] = 1e-40
	frame(2)[7] = float32(math.NaN())
	frame(3)[7] = float32(math.Inf(1))
	frame(4)[7] = -1
	frame(5)[7] = 1
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		got := make([]float32, 6*Classes)
		if err := plan.Run(kernels.Shape{p.NFFT, 6}, kernels.Args{got, power}); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			switch f := i / Classes; {
			case f <= 1 && !(v >= 0 && v <= 1e-40), (f == 2 || f == 3) != math.IsNaN(float64(v)):
				t.Errorf("%s: frame %d has %v", name, f, v)
			case f == 5 && v != -got[i-Classes]:
				t.Errorf("%s: %v for a positive and %v for a negative power", name, v, got[i-Classes])
			}
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, librosaDefaults)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	power := make([]float32, 7*plan.Bins())
	kernels.Noise(power, 1)
	got, err := plan.Transform(nil, power)
	if e := kernels.RelativeError(got, Reference(librosaDefaults, power)); err != nil || !(e <= 1e-5) {
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
	plan.Transform(got, power[:1024])
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{0, 2048}, "SampleRate is 0"}, {Params{math.NaN(), 2048}, "SampleRate is NaN"},
		{Params{math.Inf(1), 2048}, "SampleRate is +Inf"}, {Params{22050, 7}, "NFFT is 7"}, {Params{22050, 0}, "NFFT is 0"}, {Params{22050, 1<<24 + 2}, "NFFT is 16777218: want an even number, 2 to 16777216"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

func BenchmarkTransform(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 216, 4096) }
