package onset

import (
	"math"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

func line(count int) kernels.Line {
	return kernels.Along(axes, "frames", kernels.Param{Name: "bands", Value: count})
}

// 1025 bands are no whole vectors. 2100 are more than a simdgroup keeps.
func TestOp(t *testing.T) {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 2, 3, 4, 5, 33, 257, 1000}, Emulated: 16 << 10,
		Lines: []kernels.Line{line(1025), line(33)}})
}

// Many frames make a simdgroup take several, and many bands make it read frames twice.
func TestLaunches(t *testing.T) {
	b := kerneltest.Backends(t)
	if len(b.GPUs) == 0 {
		t.Skip("no emulated GPU")
	}
	kerneltest.Shapes(t, &Op, b, kerneltest.GPUName, kernels.Shape{20, 2311}, kernels.Shape{2100, 7}, kernels.Shape{513, 5})
}

// TestLibrosa compares with librosa.onset.onset_strength of its spectrogram, which is bands×frames in float32.
func TestLibrosa(t *testing.T) {
	p := Params{Bands: 128, Shift: 2048 / (2 * 512)}
	turned := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "mel_db_128")
	count := len(turned) / p.Bands
	decibels := make([]float32, len(turned))
	for i, v := range turned {
		decibels[i%count*p.Bands+i/count] = v
	}
	var want []float64
	for _, v := range kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "onset_strength") {
		want = append(want, float64(v))
	}
	got := make([]float32, len(want))
	for i, v := range Reference(p, decibels) {
		got[i] = float32(v)
	}
	if e := kernels.RelativeError(got, want); !(e <= allowed) {
		t.Errorf("the reference has a relative error of %.2g", e)
	}
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		if err := plan.Run(kernels.Shape{p.Bands, count}, kernels.Args{got, decibels}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(got, want); !(e <= allowed) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// A shift moves the same strengths, and a shift past the end leaves zeros.
func TestShift(t *testing.T) {
	const bands, count = 5, 20
	decibels := make([]float32, bands*count)
	kernels.Noise(decibels, 1)
	decibels[(count-1)*bands] = float32(math.NaN()) // read without a shift only
	at := Reference(Params{Bands: bands}, decibels)
	for _, shift := range []int{0, 1, 7, count - 2, count - 1, count, math.MaxInt32 - 1} {
		for name, plan := range kerneltest.Plans(t, &Op, Params{bands, shift}) {
			got := make([]float32, count)
			if err := plan.Run(kernels.Shape{bands, count}, kernels.Args{got, decibels}); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				want := 0.0
				if i >= shift {
					want = at[i-shift]
				}
				if !(math.Abs(float64(v)-want) < 1e-6) && !(math.IsNaN(want) && math.IsNaN(float64(v))) {
					t.Errorf("%s, shift %d: frame %d has %v, want %v", name, shift, i, v, want)
				}
			}
		}
	}
}

// A rise to +Inf is infinite, the fall after it is none, and a NaN spoils two frames.
func TestStrangeDecibels(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	want := []float64{0, 0, inf, 0, 0, nan, nan, 0}
	for _, test := range []struct{ bands, infinite, none int }{{4, 1, 3}, {20, 1, 3}, {20, 17, 19}} {
		decibels := make([]float32, 8*test.bands)
		decibels[2*test.bands+test.infinite], decibels[5*test.bands+test.none] = float32(inf), float32(nan)
		for name, plan := range kerneltest.Plans(t, &Op, Params{Bands: test.bands}) {
			got := make([]float32, 8)
			if err := plan.Run(kernels.Shape{test.bands, 8}, kernels.Args{got, decibels}); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if float64(v) != want[i] && !(math.IsNaN(want[i]) && math.IsNaN(float64(v))) {
					t.Errorf("%s, %+v: frame %d has %v, want %v", name, test, i, v, want[i])
				}
			}
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Params{Bands: 40, Shift: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	decibels := make([]float32, 7*40)
	kernels.Noise(decibels, 1)
	got, err := plan.Transform(nil, decibels)
	if e := kernels.RelativeError(got, Reference(Params{40, 2}, decibels)); err != nil || !(e <= allowed) {
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
	plan.Transform(got, decibels[:41])
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{{Params{0, 2}, "Bands is 0"}, {Params{1 << 40, 2}, "Bands is 1099511627776: want 1 to 16777216"}, {Params{40, -1}, "Shift is -1"}} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

func BenchmarkTransform(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1, 216, 8192) }
