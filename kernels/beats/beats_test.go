package beats

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Sizes: []int{1, 2, 12, 33, 257, 1000, 5000}, Emulated: 2 << 10})
}

// track returns the beats by each implementation.
func track(t *testing.T, p Params, x []float32, check func(name string, found []int)) {
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

// TestLibrosa compares with librosa.beat.beat_track, at the tempo that librosa has found.
func TestLibrosa(t *testing.T) {
	x := kerneltest.ReadArchived[float32](t, "../tempogram/testdata/librosa.npz", "onset_strength")
	p := Params{SampleRate: 22050, Hop: 512, BPM: kerneltest.ReadArchived[float64](t, "testdata/librosa.npz", "beat_tempo")[0]}
	var want []int
	for _, n := range kerneltest.ReadArchived[int64](t, "testdata/librosa.npz", "beat_frames") {
		want = append(want, int(n))
	}
	track(t, p, x, func(name string, found []int) {
		if !slices.Equal(found, want) {
			t.Errorf("%s: %v, want %v", name, found, want)
		}
	})
}

// inFloat64 is the definition in float64, with the standard deviation in place of integers.
func inFloat64(p Params, x []float32) (beats []int) {
	n, period := len(x), float64(p.period())
	var mean, square float64
	for _, v := range x {
		mean += float64(v) / float64(n)
	}
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean)
	}
	deviation := math.Sqrt(square / float64(n-1))
	local, sums, links := make([]float64, n), make([]float64, n), make([]int, n)
	for i := range local {
		for j := max(1, i-p.period()); j <= min(n-1, i+p.period()); j++ {
			local[i] += float64(x[j]) / deviation * math.Exp(-0.5*math.Pow(32*float64(i-j)/period, 2))
		}
	}
	begun := false
	for i := range sums {
		best := math.Inf(-1)
		links[i] = -1
		for t := p.nearest(); t <= min(i, 2*p.period()); t++ {
			if score := sums[i-t] - p.Tightness*math.Pow(math.Log(float64(t)/period), 2); score > best {
				best, links[i] = score, i-t
			}
		}
		sums[i] = local[i] + max(best, -1e300)
		if links[i] < 0 {
			sums[i] = local[i]
		}
		if begun = begun || local[i] >= 0.01*slices.Max(local); !begun {
			links[i] = -1
		}
	}
	var peaks []float64
	last := 0
	for pass := range 2 {
		for i := 1; i < n; i++ {
			if sums[i] > sums[i-1] && (i == n-1 || sums[i] >= sums[i+1]) {
				if pass == 0 {
					peaks = append(peaks, sums[i])
				} else if sums[i] >= 0.25*(peaks[(len(peaks)-1)/2]+peaks[len(peaks)/2]) {
					last = i
				}
			}
		}
		slices.Sort(peaks)
	}
	for i := last; i >= 0; i = links[i] {
		beats = append([]int{i}, beats...)
	}
	smoothed := make([]float64, len(beats)+2)
	for k, i := range beats {
		smoothed[k] += local[i]
		smoothed[k+1] += local[i] / 2
		if k > 0 {
			smoothed[k-1] += local[i] / 2
		}
	}
	var power float64
	for _, v := range smoothed {
		power += v * v / float64(len(smoothed))
	}
	strong := func(i int) bool { return local[i] > 0.5*math.Sqrt(power) }
	first, end := 0, n-1
	for !strong(first) {
		first++
	}
	for !strong(end) {
		end--
	}
	return slices.DeleteFunc(beats, func(i int) bool { return i < first || i > end })
}

// The integers are fine enough: on noisy beats float64 finds the same ones.
func TestAgainstFloat64(t *testing.T) {
	for seed := range uint64(12) {
		x := make([]float32, 500)
		kernels.Noise(x, seed)
		for i, v := range x {
			x[i] = (v + 1) / 4 * float32(math.Pow(10, float64(seed)-6))
			if i%int(18+seed) == 7 && i > 60 && i < 430 {
				x[i] += float32(math.Pow(10, float64(seed)-6))
			}
		}
		for _, p := range []Params{{22050, 512, 140, 100, false}, {22050, 512, 112, 400, false}, {44100, 512, 80, 30, false}} {
			want, got := inFloat64(p, x), Reference(p, x)
			if len(want) < 5 || !slices.Equal(got, want) {
				t.Errorf("%d, %+v: %v, want %v", seed, p, got, want)
			}
		}
	}
}

// Other parameters, by every implementation.
func TestParameters(t *testing.T) {
	x := make([]float32, 900)
	kernels.Noise(x, 4)
	for i := range x {
		if i < 100 || i > 800 {
			x[i] *= 0.05
		}
	}
	for _, p := range []Params{
		{22050, 512, 120, 0, true}, {22050, 512, 1200, 1e4, false}, {22050, 512, 1292, 0.01, false}, {22050, 512, 6, 0, false},
		{22050, 512, 0.7, 3, false}, {22050, 512, 100, 0, false},
	} {
		var want []int
		track(t, p, x, func(name string, found []int) {
			if want == nil {
				want = found
			}
			if len(found) == 0 || !slices.Equal(found, want) {
				t.Errorf("%+v, %s: %v, want %v", p, name, found, want)
			}
		})
	}
}

// Silence, and what is no number, has no beats. Levels do not matter, down to denormals.
func TestStrangeStrengths(t *testing.T) {
	plain := make([]float32, 200)
	for i := 3; i < len(plain); i += 22 {
		plain[i] = 1 + float32(i%5)/8
	}
	want := Reference(measured, plain)
	if len(want) != 9 {
		t.Fatalf("%v are not nine beats", want)
	}
	for _, test := range []struct {
		name string
		by   float64
		at   float64
		want []int
	}{
		{"as it is", 1, 0, want}, {"loud", 0x1p126, 0, want}, {"small", 0x1p-126, 0, want}, {"among denormals", 0x1.6p-127, 0, want}, {"denormal", 0x1p-128, 0, nil},
		{"silence", 0, 0, nil}, {"a NaN", 1, math.NaN(), nil}, {"an infinity", 1, math.Inf(1), nil}, {"a negative infinity", 1, math.Inf(-1), nil},
	} {
		x := slices.Clone(plain)
		for i, v := range x {
			x[i] = float32(float64(v) * test.by)
		}
		x[199] = float32(test.at)
		track(t, measured, x, func(name string, found []int) {
			if !slices.Equal(found, test.want) {
				t.Errorf("%s, %s: %v, want %v", test.name, name, found, test.want)
			}
		})
	}
}

func TestRoot(t *testing.T) {
	for _, v := range []int64{0, 1, 2, 3, 4, 8, 9, 1<<52 - 1, 1 << 52, 94906265 * 94906265, 1<<62 - 1, (1<<31 - 1) * (1<<31 - 1), (1<<31-1)*(1<<31-1) - 1} {
		if r := root(v); r*r > v || (r+1)*(r+1) <= v {
			t.Errorf("the root of %d is %d", v, r)
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, measured)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if found, err := plan.Track(nil, nil); err != nil || len(found) != 0 {
		t.Errorf("no frames: %v, %v", found, err)
	}
	if found, err := plan.Track(nil, []float32{1}); err != nil || len(found) != 0 {
		t.Errorf("one frame: %v, %v", found, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for too many frames")
		}
	}()
	plan.Track(nil, make([]float32, mostFrames+1))
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   string
	}{
		{Params{22050, 512, 0, 0, false}, "0 beats a minute"}, {Params{22050, 512, -3, 0, false}, "-3 beats"}, {Params{22050, 512, 5000, 0, false}, "5000 beats"},
		{Params{22050, 512, 0.1, 0, false}, "0.1 beats"}, {Params{22050, 0, 120, 0, false}, "every 0 samples"},
		{Params{math.NaN(), 512, 120, 0, false}, "NaN Hz"}, {Params{22050, 512, 120, -1, false}, "Tightness is -1"},
		{Params{22050, 512, 120, 1e5, false}, "Tightness is 100000"}, {Params{22050, 512, 120, math.NaN(), false}, "Tightness is NaN"},
	} {
		if _, err := New(nil, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want an error that says %q", test.params, err, test.want)
		}
	}
}

// Kernels refuse a call that is too large for them.
func TestLaunchRefuses(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendBeats(b, measured, kernels.Shape{mostFrames + 1}, nil)
	if err := b.Err(); !errors.Is(err, kernels.ErrRefused) {
		t.Error(err)
	}
}

func BenchmarkTrack(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 1024, 65536) }

// Short calls of few and coarse strengths have ties, medians of few local maxima, and thresholds that just hold.
func TestCoarseStrengths(t *testing.T) {
	p := Params{SampleRate: 22050, Hop: 512, BPM: 280, Tightness: 5} // 9 frames from beat to beat
	plans := kerneltest.Plans(t, &Op, p)
	for seed := range uint64(400) {
		x := make([]float32, 20+seed%50)
		kernels.Noise(x, seed)
		for i, v := range x {
			x[i] = max(0, float32(math.Floor(float64(v)*3)))
			if seed%2 == 0 && i%3 > 0 {
				x[i] = 0
			}
		}
		want := Reference(p, x)
		for name, plan := range plans {
			a := kernels.Args{make([]float32, p.most(len(x))), make([]float32, 1), x}
			if kerneltest.Emulated(name) && seed%8 != 0 {
				continue
			}
			if err := plan.Run(kernels.Shape{len(x)}, a); err != nil {
				t.Fatal(err)
			}
			got := kernels.Uint32s(a[indices])[:kernels.Uint32s(a[count])[0]]
			if !slices.EqualFunc(got, want, func(a uint32, b int) bool { return int(a) == b }) {
				t.Fatalf("%d, %s: %v, want %v", seed, name, got, want)
			}
		}
	}
}

// Halves of periods are rounded to even numbers.
func TestPeriods(t *testing.T) {
	for frames, nearest := range map[int]int{2: 1, 3: 2, 5: 2, 21: 10, 22: 11, 23: 12} {
		p := Params{SampleRate: 60, Hop: 1, BPM: 3600 / float64(frames)}
		if p.period() != frames || p.nearest() != nearest {
			t.Errorf("%d frames a beat: %d, half of them %d; want %d", frames, p.period(), p.nearest(), nearest)
		}
	}
}

// The median of an even number of local maxima is between the middle ones: here it is 30, and 15 is half of it.
func TestMedian(t *testing.T) {
	for _, test := range []struct {
		sums []int64
		want int
	}{{[]int64{0, 100, 0, 40, 0, 20, 0, 15}, 7}, {[]int64{0, 100, 0, 40, 0, 20, 0, 14}, 5}, {[]int64{0, 100, 0, 40, 0, 20}, 5}, {[]int64{3, 2, 1}, 2}} {
		tracker := tracker{sums: test.sums, peaks: make([]int64, len(test.sums))}
		if got := tracker.last(); got != test.want {
			t.Errorf("%v: the last beat is %d, want %d", test.sums, got, test.want)
		}
	}
}
