package decibels

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// lengths have every remainder modulo vectors and chunks, and need one threadgroup or several.
var lengths = []int{1, 2, 3, 7, 8, 9, 31, 33, 1000, 1 << 10, 4097, 16<<10 + 1, 32<<10 + 1, 100_003}

func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Sizes: lengths, Emulated: 80 << 10})
}

// decibelsBy returns what a plan makes of x.
func decibelsBy(t *testing.T, p *kernels.Plan[Params], x []float32) []float32 {
	t.Helper()
	y := make([]float32, len(x))
	if err := p.Run(kernels.Shape{elements: len(x)}, kernels.Args{y, x}); err != nil {
		t.Fatal(err)
	}
	return y
}

func near(got float32, want float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return float64(got) == want || got != got && want != want
	}
	return math.Abs(float64(got)-want) <= 1e-4 // dB
}

// TestLibrosa compares with librosa's decibels of a mel spectrogram, both in float32. The columns that are kept have the
// greatest power of the whole spectrogram.
func TestLibrosa(t *testing.T) {
	x, want := kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "mel"), kerneltest.ReadArchived[float32](t, "testdata/librosa.npz", "db")
	for i, v := range Reference(Params{}, x) {
		if !near(want[i], v) {
			t.Fatalf("the reference's value %d is %g, librosa has %g", i, v, want[i])
		}
	}
	for name, p := range kerneltest.Plans(t, &Op, Params{}) {
		for i, got := range decibelsBy(t, p, x) {
			if !near(got, float64(want[i])) {
				t.Fatalf("%s: value %d is %g, want %g", name, i, got, want[i])
			}
		}
	}
}

// TestParameters compares with Python's arithmetic. The floor is 80 dB or less below the greatest value, wherever that stands.
func TestParameters(t *testing.T) {
	x := []float32{0.25, 1e-3, 1e-7, 1e-8, 4, 1e-12, 0, -3, 1e-40}
	for _, test := range []struct {
		p    Params
		want [9]float64
	}{
		{Params{}, [9]float64{-6.02059991328, -29.999999793721, -69.999999949248, -73.97940008672, 6.02059991328, -73.97940008672,
			-73.97940008672, -73.97940008672, -73.97940008672}},
		{Params{RefMax: true}, [9]float64{-12.041199826559, -36.020599707001, -76.020599862528, -80, 0, -80, -80, -80, -80}},
		{Params{Ref: 0.02, Range: 30}, [9]float64{10.969100227153, -6.989699946288, -6.989699946288, -6.989699946288, 23.010300053712,
			-6.989699946288, -6.989699946288, -6.989699946288, -6.989699946288}},
		{Params{Range: float32(math.Inf(1))}, [9]float64{-6.02059991328, -29.999999793721, -69.999999949248, -80.000000026394,
			6.02059991328, -100, -100, -100, -100}},
	} {
		for i, v := range Reference(test.p, x) {
			if math.Abs(v-test.want[i]) > 1e-9 {
				t.Errorf("%+v: the reference's value %d is %.12g, want %.12g", test.p, i, v, test.want[i])
			}
		}
		for name, p := range kerneltest.Plans(t, &Op, test.p) {
			for i, got := range decibelsBy(t, p, x) {
				if !near(got, test.want[i]) {
					t.Errorf("%+v: %s: value %d is %g, want %g", test.p, name, i, got, test.want[i])
				}
			}
		}
	}
}

// One value sets the floor of all others, in whichever chunk or threadgroup it stands.
func TestGreatestPowerCountsEverywhere(t *testing.T) {
	for name, p := range kerneltest.Plans(t, &Op, Params{}) {
		for _, n := range []int{5, 70_001} {
			for _, at := range []int{0, n / 2, n - 1} {
				x := make([]float32, n)
				x[at] = 1e6
				for i, got := range decibelsBy(t, p, x) {
					if want := map[bool]float64{true: 60, false: -20}[i == at]; !near(got, want) {
						t.Fatalf("%s: value %d of %d is %g with the greatest at %d, want %g", name, i, n, got, at, want)
					}
				}
			}
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, x := range [][]float32{
		{0}, {nan}, {inf}, {-inf}, {-inf, 1, -1}, {1, nan, inf, 0}, {nan, nan, nan}, {1, 0.5, inf, 0}, {math.MaxFloat32, math.MaxFloat32, 1e-38},
		{math.SmallestNonzeroFloat32, 0, 1e-10}, {1, 2, 3, 4, 5, 6, 7, 8, nan},
	} {
		for _, p := range []Params{{}, {RefMax: true}, {Range: inf}, {Range: 500}, {Ref: 1e-20}, {Ref: math.MaxFloat32}, {RefMax: true, Range: inf}} {
			want := Reference(p, x)
			for name, plan := range kerneltest.Plans(t, &Op, p) {
				for i, got := range decibelsBy(t, plan, x) {
					if !near(got, want[i]) {
						t.Errorf("%v by %+v: %s: value %d is %g, want %g", x, p, name, i, got, want[i])
					}
				}
			}
		}
	}
}

// The loops in Go and in vector code agree on every length, and touch nothing beyond their slices.
func TestLoopsAgree(t *testing.T) {
	for n := 1; n <= 40; n++ {
		src, moreSrc := kerneltest.Guarded(t, n)
		dst, moreDst := kerneltest.Guarded(t, n)
		kernels.Noise(src, 1)
		copy(moreSrc, src)
		want := make([]float32, n)
		convertGo(want, src, 1e-3, 5)
		convert(dst, src, 1e-3, 5)
		convert(moreDst, moreSrc, 1e-3, 5)
		for i, w := range want {
			if !near(dst[i], float64(w)) || dst[i] != moreDst[i] {
				t.Fatalf("value %d of %d is %g and %g, in Go %g", i, n, dst[i], moreDst[i], w)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, p := range map[string]Params{
		"decibels: the reference power is -1, want a positive number, or 0 for 1":   {Ref: -1},
		"decibels: the reference power is +Inf, want a positive number, or 0 for 1": {Ref: float32(math.Inf(1))},
		"decibels: the reference power is 2 and RefMax is set, want one of them":    {Ref: 2, RefMax: true},
		"decibels: the range is NaN dB, want a positive number, or 0 for 80":        {Range: float32(math.NaN())},
	} {
		if _, err := New(nil, p); err == nil || err.Error() != want {
			t.Errorf("New(%+v) fails with %v, want %q", p, err, want)
		}
	}
}

func TestConvert(t *testing.T) {
	plan, err := New(nil, Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Convert(nil, nil); err != nil {
		t.Errorf("empty slice: %v", err)
	}
	x := make([]float32, 1000)
	if n := testing.AllocsPerRun(20, func() { _ = plan.Convert(x, x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	defer func() {
		if got := recover(); got != "decibels: dst has 1000 values, want as many as src, 999" {
			t.Errorf("panic(%v)", got)
		}
	}()
	_ = plan.Convert(x, x[1:])
}

func BenchmarkDecibels(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1<<10, 1<<13, 1<<16, 1<<20, 1<<24)
}
