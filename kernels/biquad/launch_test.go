package biquad

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// strategies returns ways to divide an extent that a launch plan may take.
func (x extent) strategies() map[string]strategy {
	return map[string]strategy{
		"8 vectors a channel":      {perChannel: true, width: 8},
		"16 vectors a channel":     {perChannel: true, width: 16},
		"walk by 32 threads":       strategy{threads: 32, chunk: 5}.walk(x),
		"walk by 64 threads":       strategy{threads: 64, chunk: 1}.walk(x),
		"walk by 256 threads":      strategy{threads: 256, chunk: 3}.walk(x),
		"as many parts as threads": strategy{threads: 32, chunk: 1}.parts(x),
		"parts of 64 threads":      strategy{threads: 64, chunk: 1}.parts(x),
		"parts of 256 threads":     strategy{threads: 256, chunk: 3}.parts(x),
	}
}

func TestStrategy(t *testing.T) {
	for _, test := range []struct {
		extent
		want strategy
	}{
		{extent{65536, 32}, strategy{perChannel: true, width: 8}},
		{extent{65536, 256}, strategy{perChannel: true, width: 16}},
		{extent{65536, 512}, strategy{threads: 32, chunk: 5, groups: 1, tiles: 1}},
		{extent{16384, 2048}, strategy{threads: 128, chunk: 5, groups: 1, tiles: 1}},
		{extent{512, 65536}, strategy{threads: 128, chunk: 5, groups: 1, tiles: 26}},
		{extent{1024, 512}, strategy{threads: 128, chunk: 1, groups: 1, tiles: 1}},
		{extent{1, 1}, strategy{threads: 32, chunk: 1, groups: 1, tiles: 1}},
		{extent{1, 4096}, strategy{threads: 256, chunk: 5, groups: 1, tiles: 1}},
		{extent{1, 10240}, strategy{threads: 256, chunk: 5, groups: 1, tiles: 2}},
		{extent{2, 10241}, strategy{threads: 128, chunk: 3, groups: 7, tiles: 1}},
		{extent{1, 1 << 20}, strategy{threads: 256, chunk: 5, groups: 205, tiles: 1}},
		{extent{1, 1 << 22}, strategy{threads: 256, chunk: 5, groups: 205, tiles: 4}},
	} {
		if got := test.strategy(132); got != test.want {
			t.Errorf("%+v: %+v, want %+v", test.extent, got, test.want)
		}
	}
	// No part is empty, and none is left out.
	for n := 1; n < 1<<24; n += 1 + n/7 {
		by := extent{1, n}.strategy(132)
		if tile := 4 * by.threads * by.chunk * by.tiles; (by.groups-1)*tile >= n || by.groups*tile < n || by.groups > by.threads {
			t.Errorf("%d samples: %+v", n, by)
		}
	}
}

func newTestLaunch(t *testing.T, c Coefficients) *launch {
	t.Helper()
	e, err := newLaunch(emulator.Open(t), newSection(c))
	if err != nil {
		t.Fatal(err)
	}
	return e.(*launch)
}

// reference filters from a state in float64 and returns the state at the end too.
func reference(s section, from state, src []float32) (y []float64, to [2]float64) {
	s1, s2 := from.s1, from.s2
	for _, x := range src {
		x := float64(x)
		y = append(y, s.b0*x+s1)
		s1, s2 = s.c1*x+s2-s.a1*s1, s.c2*x-s.a2*s1
	}
	return y, [2]float64{s1, s2}
}

// TestLaunch runs every strategy over extents at the edges of vectors, chunks, tiles and simdgroups, each channel from a
// state of its own.
func TestLaunch(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	e := newTestLaunch(t, c)
	for _, x := range []extent{
		{1, 1}, {1, 2}, {1, 7}, {1, 640}, {1, 641}, {1, 5120}, {1, 5121}, {1, 21001},
		{2, 512}, {3, 5}, {31, 33}, {32, 32}, {33, 127}, {67, 64}, {5, 1283},
	} {
		src := make([]float32, x.channels*x.n)
		kernels.Noise(src, uint64(x.n))
		before := make([]state, x.channels)
		var want []float64
		var after [][2]float64
		for i := range before {
			before[i] = state{float64(i+1) / 8, -float64(i) / 16}
			y, to := reference(newSection(c), before[i], src[i*x.n:(i+1)*x.n])
			want, after = append(want, y...), append(after, to)
		}
		for name, by := range x.strategies() {
			t.Run(fmt.Sprintf("%dx%d/%s", x.channels, x.n, name), func(t *testing.T) {
				p, err := e.planBy(by, x)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				e.write(p, before, src)
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				got, end := make([]float32, len(src)), make([]state, x.channels)
				e.read(p, end, got)
				if e := kernels.RelativeError(got, want); !(e <= 1e-6) {
					t.Errorf("relative error %.2g, want below 1e-6", e)
				}
				for i, s := range end {
					if d := max(math.Abs(s.s1-after[i][0]), math.Abs(s.s2-after[i][1])); !(d <= 2e-6) {
						t.Errorf("channel %d ends in %v, want %v", i, s, after[i])
					}
				}
			})
		}
	}
}

// TestLaunchLongMemory filters with a resonance that rings through many tiles, so that what the scan carries over from
// one to the next decides on the output.
func TestLaunchLongMemory(t *testing.T) {
	const radius, angle = 0.9995, 0.3
	c, err := Normalise([3]float64{1e-3, 0, 0}, [3]float64{1, -2 * radius * math.Cos(angle), radius * radius})
	if err != nil {
		t.Fatal(err)
	}
	e := newTestLaunch(t, c)
	x := extent{1, 9000}
	src := make([]float32, x.n)
	kernels.Noise(src, 1)
	start := state{0.3, -0.2}
	want, _ := reference(newSection(c), start, src)
	for name, by := range x.strategies() {
		p, err := e.planBy(by, x)
		if err != nil {
			t.Fatal(err)
		}
		e.write(p, []state{start}, src)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, x.n)
		e.read(p, nil, got)
		if e := kernels.RelativeError(got, want); !(e <= 1e-5) {
			t.Errorf("%s: relative error %.2g, want below 1e-5", name, e)
		}
		p.Close()
	}
}

// TestLaunchProcess runs the engine as a typed plan does: a signal in two calls gives what it gives in one, dst may be
// src, a silent state ends in zeros, and a warm call allocates nothing.
func TestLaunchProcess(t *testing.T) {
	device := emulator.Open(t)
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newLaunch(device, newSection(c))
	if err != nil {
		t.Fatal(err)
	}
	defer e.(*launch).plans.Close()
	const n = 1500
	for _, channels := range []int{1, 3} {
		src := make([]float32, channels*n)
		kernels.GeneratedInput().Fill(src)
		want := Reference(c, src, channels)
		got := make([]float32, len(src))
		states := make([]state, channels)
		for from, to := 0, 701; from < n; from, to = to, n {
			part := make([]float32, 0, len(src))
			for i := range channels {
				part = append(part, src[i*n+from:i*n+to]...)
			}
			if err := e.process(states, part, part); err != nil {
				t.Fatal(err)
			}
			for i := range channels {
				copy(got[i*n+from:i*n+to], part[i*(to-from):])
			}
		}
		if e := kernels.RelativeError(got, want); !(e <= 1e-6) {
			t.Errorf("%d channels in two calls: relative error %.2g, want below 1e-6", channels, e)
		}
	}

	states := []state{{1e-20, 0}, {0, 1e-20}, {1, 1}}
	silence, dst := make([]float32, 3*40), make([]float32, 3*40)
	for range 40 {
		if err := e.process(states, dst, silence); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range states {
		if s != (state{}) {
			t.Errorf("channel %d ends in %v after silence, want zeros", i, s)
		}
	}
	if got := testing.AllocsPerRun(5, func() { e.process(states, dst, silence) }); got != 0 && !emulator.Racing() {
		t.Errorf("%g allocations a call", got)
	}
}

// TestLaunchScipy holds the launch plan against scipy.signal.lfilter in float64.
func TestLaunchScipy(t *testing.T) {
	b, a := readArray[float64](t, "testdata/biquad_b.npy"), readArray[float64](t, "testdata/biquad_a.npy")
	c, err := Normalise([3]float64(b), [3]float64(a))
	if err != nil {
		t.Fatal(err)
	}
	call, err := newTestLaunch(t, c).bind(1, readArray[float32](t, "testdata/signal_8192.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	for range 2 {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(call.Output(), readArray[float64](t, "testdata/biquad_8192.npy")); !(e <= 1e-6) {
			t.Errorf("relative error %.2g, want below 1e-6", e)
		}
	}
}

// TestLaunchBind covers rows that need padding, which the output must not show.
func TestLaunchBind(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	e := newTestLaunch(t, c)
	for _, x := range []extent{{2, 6}, {4, 512}, {1, 33}} {
		src := make([]float32, x.channels*x.n)
		kernels.Noise(src, 3)
		call, err := e.bind(x.channels, src)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(call.Output(), Reference(c, src, x.channels)); !(e <= 1e-6) {
			t.Errorf("%d channels of %d: relative error %.2g, want below 1e-6", x.channels, x.n, e)
		}
		call.Release()
	}
}

// TestLaunchNeedsBarriers removes each barrier from the texts in turn; a run of one of the strategies must then fail.
func TestLaunchNeedsBarriers(t *testing.T) {
	c, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	run := func(by strategy, x extent) error {
		e := newTestLaunch(t, c)
		p, err := e.planBy(by, x)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		e.write(p, make([]state, x.channels), make([]float32, x.channels*x.n))
		return p.Run()
	}
	for _, text := range []struct {
		name string
		at   *string
		run  func() error
	}{
		{"channels.metal", &channelsText, func() error {
			return run(strategy{perChannel: true, width: 8}, extent{2, 100})
		}},
		{"scan.metal", &scanText, func() error {
			return run(strategy{threads: 64, chunk: 3, groups: 2, tiles: 2}, extent{1, 2500})
		}},
	} {
		whole := *text.at
		parts := strings.Split(whole, barrier)
		for i := 1; i < len(parts); i++ {
			*text.at = strings.Join(parts[:i], barrier) + strings.Join(parts[i:], barrier)
			if text.run() == nil {
				t.Errorf("%s: nothing fails without barrier %d of %d", text.name, i, len(parts)-1)
			}
		}
		*text.at = whole
	}
}
