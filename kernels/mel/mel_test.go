package mel

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sbinet/npyio/npz"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/kernels/stft"
)

var librosaDefaults = Params{SampleRate: 22050, NFFT: 2048, Bands: 128}

func readArray(t *testing.T, path, name string) []float32 {
	t.Helper()
	f, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []float32
	if err := f.Read(name+".npy", &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// generated is made once: its sines take longer than most tests.
var generated = sync.OnceValue(kernels.GeneratedInput)

// eachContender runs a test on every implementation that can run here.
func eachContender(t *testing.T, test func(t *testing.T, name string)) {
	for _, c := range contenders {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Missing(); err != nil {
				t.Skip(err)
			}
			test(t, c.Name)
		})
	}
}

// TestScale holds the scale against the values that define it.
func TestScale(t *testing.T) {
	for _, test := range []struct{ hz, mel float64 }{{0, 0}, {200, 3}, {1000, 15}, {6400, 42}, {40960, 69}} {
		if got := hzToMel(test.hz); math.Abs(got-test.mel) > 1e-12 {
			t.Errorf("hzToMel(%v) = %v, want %v", test.hz, got, test.mel)
		}
		if got := melToHz(test.mel); math.Abs(got-test.hz) > 1e-9 {
			t.Errorf("melToHz(%v) = %v, want %v", test.mel, got, test.hz)
		}
	}
}

func TestFilterbankAgainstLibrosa(t *testing.T) {
	want := readArray(t, "testdata/librosa.npz", "mel_filterbank_22050_2048_128")
	got := Filterbank(22050, 2048, 128)
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

// TestFilterbankArea checks the norm: a triangle of base f(m+2)−f(m) and height 2/(f(m+2)−f(m)) has area 1, so its
// weights, one every sampleRate/nFFT Hz, sum up to nFFT/sampleRate where bins are dense.
func TestFilterbankArea(t *testing.T) {
	const nFFT, rate, bands = 1 << 16, 48000, 20
	weights := Filterbank(rate, nFFT, bands)
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

// librosaPower returns the power spectrogram of librosa's test signal, and librosa.feature.melspectrogram of the signal,
// both by frames.
func librosaPower(t *testing.T) (power []float32, want []float64) {
	t.Helper()
	bands := readArray(t, "testdata/librosa.npz", "mel_128") // bands×frames
	transform, err := stft.New(nil, stft.Params{NFFT: 2048, Hop: 512})
	if err != nil {
		t.Fatal(err)
	}
	spectrum, err := transform.Transform(nil, readArray(t, "../stft/testdata/librosa.npz", "signal"))
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

// TestLibrosa holds the chain from samples to bands, with every implementation at its end, against librosa.
func TestLibrosa(t *testing.T) {
	power, want := librosaPower(t)
	eachContender(t, func(t *testing.T, name string) {
		e, err := contenders.New(name, librosaDefaults)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := e.transform(got, power); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); e > 1e-6 {
			t.Errorf("relative error %.2g", e)
		}
	})
	var wide []float32
	for _, v := range Reference(librosaDefaults, power) {
		wide = append(wide, float32(v))
	}
	if e := kernels.RelativeError(wide, want); e > 1e-6 {
		t.Errorf("reference: relative error %.2g", e)
	}
}

// TestReferenceAgainstPlainSum holds the reference against the sum over all bins, zeros included.
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

// TestEnginesAgainstReference runs every implementation over numbers of frames on both sides of what is computed
// together, and over filterbanks with empty bands and with a single one.
func TestEnginesAgainstReference(t *testing.T) {
	for _, p := range []Params{librosaDefaults, {44100, 512, 128}, {16000, 400, 80}, {8000, 2, 1}} {
		for _, frames := range []int{1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 250} {
			problem := newProblem(p, frames, generated())
			want := problem.Reference()
			if len(want) != frames*p.Bands {
				t.Fatalf("%d values, want %d×%d", len(want), frames, p.Bands)
			}
			eachContender(t, func(t *testing.T, name string) {
				call, err := problem.Bind(name)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				for range 2 { // the second call meets what the first one left behind
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
				}
				if e := kernels.RelativeError(call.Output(), want); e > 1e-6 {
					t.Errorf("%v, %d frames: relative error %.2g", p, frames, e)
				}
			})
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, librosaDefaults)
	if err != nil {
		t.Fatal(err)
	}
	power := newProblem(librosaDefaults, 20, generated()).power
	mels, err := plan.Transform(nil, power)
	if err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(mels, Reference(librosaDefaults, power)); e > 1e-6 {
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
		{Params{0, 2048, 128}, "SampleRate is 0"},
		{Params{math.NaN(), 2048, 128}, "SampleRate is NaN"},
		{Params{math.Inf(1), 2048, 128}, "SampleRate is +Inf"},
		{Params{22050, 7, 128}, "NFFT is 7"},
		{Params{22050, 0, 128}, "NFFT is 0"},
		{Params{22050, 2048, 0}, "Bands is 0"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the calls
// into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestEnginesDoNotAllocate(t *testing.T) {
	power := newProblem(librosaDefaults, 40, generated()).power
	dst := make([]float32, 40*128)
	eachContender(t, func(t *testing.T, name string) {
		if underRace() && strings.HasPrefix(name, "openblas") {
			t.Skip("a library call allocates under the race detector")
		}
		e, err := contenders.New(name, librosaDefaults)
		if err != nil {
			t.Fatal(err)
		}
		if allocs := testing.AllocsPerRun(10, func() { _ = e.transform(dst, power) }); allocs != 0 {
			t.Errorf("%v allocations a call", allocs)
		}
	})
}

func TestCases(t *testing.T) {
	c := Cases()[0]
	if c.Name != "mel/bands=128,n_fft=2048" || !slices.Contains(calibration.Units, c.Axis.Unit) {
		t.Errorf("case %q over %q", c.Name, c.Axis.Unit)
	}
	if got, want := c.Bytes(10), 40.0*(1025+128); got != want {
		t.Errorf("Bytes(10) = %v, want %v", got, want)
	}
	// A recording of one frame is taken over and over.
	p := c.Problem(7, kernels.Input{Samples: []float32{1, 0.5, 0.25}}).(*problem)
	if !slices.Equal(p.power[:1025], p.power[6*1025:]) || p.power[0] == 0 {
		t.Error("the frame of a short recording is not repeated")
	}
	if _, err := p.Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
		t.Errorf("bound an unknown implementation: %v", err)
	}
}

func BenchmarkTransform(b *testing.B) {
	for _, frames := range []int{1, 8, 64, 1024} {
		p := newProblem(librosaDefaults, frames, generated())
		for _, c := range contenders {
			b.Run(fmt.Sprintf("impl=%s/frames=%d", c.Name, frames), func(b *testing.B) {
				if err := c.Missing(); err != nil {
					b.Skip(err)
				}
				call, err := p.Bind(c.Name)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := call.Run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(frames), "ns/frame")
			})
		}
	}
}
