package mel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/stft"
	"crossover/kernels/turn"
)

var librosaDefaults = Params{SampleRate: 22050, NFFT: 2048, Bands: 128}

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

// of returns librosa's defaults at a sample rate, for a number of points and a number of bands.
func of(sampleRate float64, nFFT, bands int) Params {
	return Params{SampleRate: sampleRate, NFFT: nFFT, Bands: bands}
}

// measured returns the operation with the parameters p on its line and the tolerance allowed.
func measured(p Params) *kernels.Op[Params] {
	op := Op
	op.Lines = []kernels.Line{kernels.Along(axes, "frames", kernels.Param{Name: "bands", Value: p.Bands}, kernels.Param{Name: "n_fft", Value: p.NFFT})}
	op.Params = func(kernels.Shape) Params { return p }
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	return &op
}

// Numbers of frames are above and below what is computed together, and there are bands without bins.
func TestOp(t *testing.T) {
	for _, p := range []Params{librosaDefaults, of(44100, 512, 128), {SampleRate: 16000, NFFT: 400, Bands: 80, MinHz: 125, MaxHz: 7500, Scale: HTK, Norm: Peak}} {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			kerneltest.Run(t, measured(p), kerneltest.Options{Sizes: []int{1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 250}, Emulated: 6 << 10})
		})
	}
}

// A lane must not sum bins that other threads have not copied yet.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, Op.Lines[0].At(4))
}

// A recording of one frame is repeated.
func TestShortRecording(t *testing.T) {
	s := Op.Lines[0].At(7)
	power := make([]float32, 7*1025)
	Op.Fill(librosaDefaults, s, kernels.Input{Samples: []float32{1, 0.5, 0.25}}, &kernels.Args{1: power})
	if !slices.Equal(power[:1025], power[6*1025:]) || power[0] == 0 {
		t.Error("the frame of a short recording is not repeated")
	}
}

// TestScale compares the scale with the values that define it.
func TestScale(t *testing.T) {
	for _, test := range []struct {
		scale   Scale
		hz, mel float64
	}{
		{Slaney, 0, 0}, {Slaney, 200, 3}, {Slaney, 1000, 15}, {Slaney, 6400, 42}, {Slaney, 40960, 69},
		{HTK, 0, 0}, {HTK, 6300, 2595}, {HTK, 69300, 5190},
	} {
		if got := test.scale.mel(test.hz); math.Abs(got-test.mel) > 1e-12 {
			t.Errorf("%v Hz are %v mel of scale %d, want %v", test.hz, got, test.scale, test.mel)
		}
		if got := test.scale.hz(test.mel); math.Abs(got-test.hz) > 1e-9 {
			t.Errorf("%v mel of scale %d are %v Hz, want %v", test.mel, test.scale, got, test.hz)
		}
	}
}

func TestFilterbankAgainstLibrosa(t *testing.T) {
	want := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "mel_filterbank_22050_2048_128")
	got := Filterbank(librosaDefaults)
	if len(got) != len(want) {
		t.Fatalf("%d weights, want %d", len(got), len(want))
	}
	for i := range want {
		// librosa rounds its triangles to float32 before it scales them; weights are at most 0.03.
		if math.Abs(float64(got[i]-want[i])) > 1e-8 {
			t.Fatalf("band %d bin %d: %v, want %v", i/1025, i%1025, got[i], want[i])
		}
	}
}

// TestFilterbankArea checks the norm. A triangle of base f(m+2)−f(m) and height 2/(f(m+2)−f(m)) has area 1. There is a
// weight every sampleRate/nFFT Hz, so the weights of a band with many bins sum up to nFFT/sampleRate.
func TestFilterbankArea(t *testing.T) {
	const nFFT, rate, bands = 1 << 16, 48000, 20
	weights := Filterbank(Params{SampleRate: rate, NFFT: nFFT, Bands: bands})
	for m := range bands {
		var sum float64
		for _, w := range weights[m*(nFFT/2+1) : (m+1)*(nFFT/2+1)] {
			sum += float64(w)
		}
		if area := sum * rate / nFFT; math.Abs(area-1) > 1e-4 {
			t.Errorf("band %d has area %v, want 1", m, area)
		}
	}
}

// TestFilterbankAgainstPlainTriangles compares filterbanks with triangles that are drawn bin by bin, with other frequencies,
// scales and norms than librosa's defaults.
func TestFilterbankAgainstPlainTriangles(t *testing.T) {
	for _, p := range launchParams {
		weights := Filterbank(p)
		top := p.MaxHz
		if top == 0 {
			top = p.SampleRate / 2
		}
		// The frequency u steps above the lower edge, of Bands+1 steps.
		at := func(u int) float64 {
			along := func(mel func(hz float64) float64, hz func(mel float64) float64) float64 {
				return hz(mel(p.MinHz) + (mel(top)-mel(p.MinHz))*float64(u)/float64(p.Bands+1))
			}
			if p.Scale == HTK {
				return along(func(hz float64) float64 { return 1127.01048 * math.Log1p(hz/700) },
					func(mel float64) float64 { return 700 * math.Expm1(mel/1127.01048) })
			}
			return along(Slaney.mel, Slaney.hz)
		}
		for m := range p.Bands {
			low, middle, high, height := at(m), at(m+1), at(m+2), 1.0
			if p.Norm == Area {
				height = 2 / (high - low)
			}
			for k := range p.bins() {
				hz, want := float64(k)*p.SampleRate/float64(p.NFFT), 0.0
				switch {
				case low < hz && hz <= middle:
					want = height * (hz - low) / (middle - low)
				case middle < hz && hz < high:
					want = height * (high - hz) / (high - middle)
				}
				if got := float64(weights[m*p.bins()+k]); math.Abs(got-want) > 1e-6*height {
					t.Fatalf("%+v: band %d bin %d: %v, want %v", p, m, k, got, want)
				}
			}
		}
	}
}

// librosaPower returns the power spectrogram of librosa's test signal, and librosa.feature.melspectrogram of the signal.
// Both are stored frame by frame.
func librosaPower(t *testing.T) (power []float32, want []float64) {
	t.Helper()
	bands := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "mel_128") // bands×frames
	transform, err := stft.New(nil, stft.Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	spectrum, err := transform.Transform(nil, kerneltest.Signal(5*kerneltest.SignalRate))
	if err != nil {
		t.Fatal(err)
	}
	power = make([]float32, len(spectrum))
	for i, v := range spectrum {
		power[i] = real(v)*real(v) + imag(v)*imag(v)
	}
	frames := len(bands) / 128
	want = make([]float64, len(bands))
	for i, w := range bands {
		want[i%frames*128+i/frames] = float64(w)
	}
	return power, want
}

// TestLibrosa compares the chain from samples to bands, by every implementation of mel, with librosa.
func TestLibrosa(t *testing.T) {
	power, want := librosaPower(t)
	s := Op.Lines[0].At(len(want) / librosaDefaults.Bands)
	for name, plan := range kerneltest.Plans(t, &Op, librosaDefaults) {
		got := make([]float32, len(want))
		if err := plan.Run(s, kernels.Args{got, power}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= allowed) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
	var wide []float32
	for _, v := range Reference(librosaDefaults, power) {
		wide = append(wide, float32(v))
	}
	if e := kernels.RelativeError(wide, want); !(e <= allowed) {
		t.Errorf("reference: relative error %.2g", e)
	}
}

// TestReferenceAgainstPlainSum compares the reference with the sum over all bins, zeros included.
func TestReferenceAgainstPlainSum(t *testing.T) {
	p := Params{SampleRate: 8000, NFFT: 64, Bands: 9}
	power := make([]float32, 3*33)
	kernels.Noise(power, 1)
	weights := filterbank(p)
	for i, got := range Reference(p, power) {
		var want float64
		for k := range 33 {
			want += weights[i%9*33+k] * float64(power[i/9*33+k])
		}
		if math.Abs(got-want) > 1e-15 {
			t.Fatalf("frame %d band %d: %v, want %v", i/9, i%9, got, want)
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, librosaDefaults)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	power := make([]float32, 20*1025)
	Op.Fill(librosaDefaults, Op.Lines[0].At(20), kernels.GeneratedInput(), &kernels.Args{1: power})
	mels, err := plan.Transform(nil, power)
	if err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(mels, Reference(librosaDefaults, power)); !(e <= allowed) {
		t.Errorf("relative error %.2g", e)
	}
	kept := &mels[0]
	if mels, err = plan.Transform(mels, power[:3*plan.Bins()]); err != nil || len(mels) != 3*128 || &mels[0] != kept {
		t.Errorf("a large enough dst was not used: %d values, %v", len(mels), err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		if mels, err = plan.Transform(mels, power); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
	if mels, err = plan.Transform(mels, nil); err != nil || len(mels) != 0 {
		t.Errorf("no frames: %d values, %v", len(mels), err)
	}
	if e := plan.Explain(70); e.Case != "mel/bands=128,n_fft=2048" || e.Size != 70 {
		t.Errorf("chosen by %s at %d", e.Case, e.Size)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a part of a frame")
		}
	}()
	plan.Transform(mels, power[:1024])
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{of(0, 2048, 128), "SampleRate is 0"},
		{of(math.NaN(), 2048, 128), "SampleRate is NaN"},
		{of(math.Inf(1), 2048, 128), "SampleRate is +Inf"},
		{of(22050, 7, 128), "NFFT is 7"},
		{of(22050, 0, 128), "NFFT is 0"},
		{of(22050, 2048, 0), "Bands is 0"},
		{of(22050, 2048, 1<<40), "Bands is 1099511627776: want 1 to 65536"},
		{of(22050, 1<<40, 128), "NFFT is 1099511627776: want an even number, 2 to 16777216"},
		{of(22050, 1<<24, 128), "Bands is 128 of 8388609 bins: want at most 268435456 weights"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, MaxHz: 11025.5}, "MaxHz is 11025.5"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, MaxHz: math.NaN()}, "MaxHz is NaN"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, MinHz: 11025}, "MinHz is 11025"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, MinHz: 500, MaxHz: 500}, "MinHz is 500"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, MinHz: -1}, "MinHz is -1"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, Scale: 2}, "Scale is 2"},
		{Params{SampleRate: 22050, NFFT: 8, Bands: 1, Norm: -1}, "Norm is -1"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

func BenchmarkTransform(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 2, 7, 8, 64, 1024)
}

// Fewer than eight frames are computed as eight, and nothing is read or written beyond them.
func TestFewFrames(t *testing.T) {
	for _, p := range launchParams {
		b := newBanded(p)
		loop, err := newBands(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		for count := 1; count < turn.Rows; count++ {
			power, got := make([]float32, count*b.bins), make([]float32, (count+1)*p.Bands)
			kernels.Noise(power, uint64(count))
			kernels.Noise(got, 1)
			behind := slices.Clone(got[count*p.Bands:])
			loop.Do(0, nil, &kernels.Args{got, power}, 0, count)
			want := make([]float32, p.Bands)
			for f := range count {
				b.frame(want, power[f*b.bins:][:b.bins])
				for m, v := range want {
					if got := got[f*p.Bands+m]; !(math.Abs(float64(got-v)) <= 1e-6*math.Abs(float64(v))+1e-6) {
						t.Fatalf("%+v, %d frames: band %d of frame %d is %g, want %g", p, count, m, f, got, v)
					}
				}
			}
			if !slices.Equal(got[count*p.Bands:], behind) {
				t.Errorf("%+v, %d frames: values behind them are written", p, count)
			}
		}
	}
}

// Vector code and Go compute the same bands of eight frames.
func TestVectorCode(t *testing.T) {
	for _, p := range launchParams {
		b := newBanded(p)
		power := make([]float32, turn.Rows*b.bins)
		kernels.Noise(power, 1)
		got, want := make([]float32, turn.Rows*p.Bands), make([]float32, turn.Rows*p.Bands)
		b.eight(got, power)
		b.eightGo(want, power)
		for i, v := range want {
			if !(math.Abs(float64(got[i]-v)) <= 1e-6*math.Abs(float64(v))+1e-7) {
				t.Fatalf("%+v: value %d is %g, in Go %g", p, i, got[i], v)
			}
		}
	}
}
