package peaks

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Sizes: []int{1, 2, 5, 31, 33, 64, 257, 1000, 9000}, Emulated: 20 << 10})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{300}, kernels.Shape{9000})
}

// pick returns the peaks by each implementation.
func pick(t *testing.T, p Params, x []float32, check func(name string, found []int)) {
	t.Helper()
	check("the reference", Reference(p, x))
	for name, plan := range kerneltest.Plans(t, &Op, p) {
		var found []int
		a := kernels.Args{make([]float32, p.most(len(x))), make([]float32, 1), x}
		if err := plan.Run(kernels.Shape{len(x)}, a); err != nil {
			t.Fatal(err)
		}
		for _, n := range kernels.Uint32s(a[indices])[:kernels.Uint32s(a[count])[0]] {
			found = append(found, int(n))
		}
		check(name, found)
	}
}

// TestLibrosa compares with librosa.onset.onset_detect, which moves strengths to [0, 1] first.
func TestLibrosa(t *testing.T) {
	x := kerneltest.ReadArchived[float32](t, "../tempogram/testdata/librosa.npz", "onset_strength")
	var want []int
	for _, n := range kerneltest.ReadArchived[int64](t, "testdata/librosa.npz", "onset_frames") {
		want = append(want, int(n))
	}
	least, most := slices.Min(x), slices.Max(x)
	for i, v := range x {
		x[i] = (v - least) / (most - least)
	}
	pick(t, Onsets(22050, 512), x, func(name string, found []int) {
		if !slices.Equal(found, want) {
			t.Errorf("%s: %v, want %v", name, found, want)
		}
	})
}

func TestOnsets(t *testing.T) {
	for _, test := range []struct {
		rate float64
		hop  int
		want Params
	}{
		{22050, 512, Params{1, 1, 4, 5, 1, 0.07}},
		{44100, 512, Params{2, 1, 8, 9, 2, 0.07}},
		{48000, 128, Params{11, 1, 37, 38, 11, 0.07}},
	} {
		if got := Onsets(test.rate, test.hop); got != test.want {
			t.Errorf("%g Hz, hop %d: %+v, want %+v", test.rate, test.hop, got, test.want)
		}
	}
}

// Other windows, with many values that are equal, in which the first and the last frame are peaks too.
// TestNoOnsets gives rates and hops that are no such thing.
func TestNoOnsets(t *testing.T) {
	for _, test := range []struct {
		rate float64
		hop  int
	}{{0, 0}, {0, 512}, {22050, 0}, {22050, -512}, {-22050, -512}, {math.NaN(), 512}, {math.Inf(1), 512}, {1e300, 1}} {
		p := Onsets(test.rate, test.hop)
		for _, v := range []int{p.PreMax, p.PostMax, p.PreAvg, p.PostAvg, p.Wait} {
			if v < -1 || v > mostFrames+2 {
				t.Errorf("Onsets(%g, %d) has a window of %d frames", test.rate, test.hop, v)
			}
		}
		if _, err := New(nil, p); err == nil {
			t.Errorf("New takes Onsets(%g, %d), %+v", test.rate, test.hop, p)
		}
	}
}

func TestWindows(t *testing.T) {
	x := make([]float32, 700)
	kernels.Noise(x, 3)
	for i, v := range x {
		x[i] = float32(math.Floor(float64(v)*4)) / 4
	}
	x[0], x[len(x)-1] = 2, 2
	for _, p := range []Params{
		{0, 1, 0, 1, 0, 0}, {3, 2, 10, 1, 0, 0.25}, {5, 5, 30, 31, 40, 0}, {mostFrames, mostFrames, mostFrames, mostFrames, 5, 0.5},
		{0, 1, 3, 4, mostFrames, 0.5}, {1, 1, 4, 5, 31, 0.07}, {1, 1, 4, 5, 64, 0.07},
	} {
		var want []int
		pick(t, p, x, func(name string, found []int) {
			if want == nil {
				want = found
			}
			if len(found) == 0 || !slices.Equal(found, want) {
				t.Errorf("%+v, %s: %v, want %v", p, name, found, want)
			}
		})
	}
}

// A loop over all frames is divided only if few frames are skipped behind a peak.
func TestALongWaitIsNotDivided(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	x := make([]float32, 100_000)
	kernels.Noise(x, 1)
	for wait, want := range map[int]bool{1: true, 7: true, 8: false, 1000: false} {
		p := Params{PreMax: 1, PostMax: 1, PreAvg: 3, PostAvg: 3, Wait: wait}
		a := kernels.Args{make([]float32, p.most(len(x))), make([]float32, 1), x}
		before := workers.Divided()
		if err := newParallel(p, workers).Run(kernels.Shape{len(x)}, &a); err != nil {
			t.Fatal(err)
		}
		if got := workers.Divided() > before; got != want {
			t.Errorf("a wait of %d: divided is %v", wait, got)
		}
	}
}

// What has no magnitude, no number or no end.
func TestStrangeValues(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := Params{PreMax: 1, PostMax: 2, PreAvg: 1, PostAvg: 2, Wait: 0}
	for _, test := range []struct {
		x    []float32
		p    Params
		want []int
	}{
		{[]float32{0, 1, nan, 1, 0, 2, 0}, p, []int{5}},
		{[]float32{nan}, p, nil},
		{[]float32{0, nan, 1, nan, 2}, Params{1, 1, 0, 1, 0, 0}, []int{0}},         // no mean has a NaN
		{[]float32{-3, -1, -3, 0.05, -3}, Params{1, 2, 1, 2, 0, 0.5}, []int{1, 3}}, // peaks below Delta, between negative values
		{[]float32{0, 1, inf, 1, 0}, p, []int{2}},
		{[]float32{-inf, -inf, -inf}, p, []int{0, 1, 2}},
		{[]float32{-inf, inf, -inf}, p, nil},                                 // no mean of both
		{[]float32{1e-40, 1e-45, -1e-40, 1e-30}, p, []int{0, 1, 2, 3}},       // as good as 0
		{[]float32{0x1p-61, 0, 0, 0x1p-60, 0}, p, []int{0, 1, 3}},            // a value that counts, and one that does not
		{[]float32{3e38, 3e38, 3e38}, p, nil},                                // the sum overflows
		{[]float32{1, 1, 1}, Params{0, 1, 0, 1, 0, mostDelta}, nil},          // nothing is as high
		{[]float32{5, 5, 5, 5, 5}, Params{1, 1, 1, 1, 1, 0}, []int{0, 2, 4}}, // equal neighbours
	} {
		pick(t, test.p, test.x, func(name string, found []int) {
			if !slices.Equal(found, test.want) {
				t.Errorf("%v, %s: %v, want %v", test.x, name, found, test.want)
			}
		})
	}
}

// Tenths are no float32 numbers. Which of them are above the threshold depends on how sums are rounded, and all agree.
func TestRounding(t *testing.T) {
	p := Params{PreMax: 0, PostMax: 1, PreAvg: 3, PostAvg: 4, Wait: 0, Delta: 0.1}
	x := make([]float32, 4000)
	kernels.Noise(x, 5)
	for i, v := range x {
		x[i] = float32(math.Floor(float64(v)*5) / 10)
	}
	var want []int
	pick(t, p, x, func(name string, found []int) {
		if want == nil {
			want = found
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: %d peaks, want %d", name, len(found), len(want))
		}
	})
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Onsets(22050, 512))
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x := make([]float32, 300)
	kernels.Noise(x, 1)
	got, err := plan.Pick(nil, x)
	if want := Reference(Onsets(22050, 512), x); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	if got, err = plan.Pick(got, nil); err != nil || len(got) != 0 {
		t.Errorf("no frames: %d peaks, %v", len(got), err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{-1, 1, 0, 1, 0, 0}, "PreMax is -1"}, {Params{0, 0, 0, 1, 0, 0}, "PostMax is 0"}, {Params{0, 1, -1, 1, 0, 0}, "PreAvg is -1"},
		{Params{0, 1, 0, 0, 0, 0}, "PostAvg is 0"}, {Params{0, 1, 0, 1, -1, 0}, "Wait is -1"}, {Params{0, 1, 0, 1, mostFrames + 1, 0}, "Wait is"},
		{Params{0, 1, 0, 1, 0, -1}, "Delta is -1"}, {Params{0, 1, 0, 1, 0, 1e-30}, "Delta is 1e-30"},
		{Params{0, 1, 0, 1, 0, float32(math.NaN())}, "Delta is NaN"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestLaunchRefuses(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendPeaks(b, Onsets(22050, 512), kernels.Shape{math.MaxInt32}, nil)
	if err := b.Err(); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

func BenchmarkPick(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1024, 65536) }

// A chunk of frames has a floor only if no mean in it sees a negative value.
func TestFloor(t *testing.T) {
	p := Params{PreAvg: 2, PostAvg: 1, Delta: 0.5}
	for at, want := range map[int]bool{7: true, 8: false, 15: false, 20: false, 21: true} {
		x := make([]float32, 30)
		x[at] = -1
		if got := p.floor(x, 10, 20) == p.Delta; got != want {
			t.Errorf("a negative value at %d: a floor %v, want %v", at, got, want)
		}
	}
}
