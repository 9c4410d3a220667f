package biquad

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// lineOf returns the line over the samples of the given number of channels.
func lineOf(n int) kernels.Line {
	return kernels.Along(axes, "n", kernels.Param{Name: "channels", Value: n})
}

// fiveBlocks is a scan of five blocks on every machine.
var fiveBlocks = kernels.Named("five blocks", func(_ *kernels.Backends, c Coefficients) (kernels.Runner, error) {
	e := newParallel(pool.Shared(), newSection(c))
	e.scan.end = make([]state, 5)
	return runner{e}, nil
})

// strict is the operation with a tolerance just above the errors of the implementations. Every channel begins with a state
// of its own.
func strict() *kernels.Op[Coefficients] {
	op := Op
	op.By = append(slices.Clone(Op.By), fiveBlocks)
	op.Lines = append(slices.Clone(Op.Lines), lineOf(3), kernels.Along(axes, "channels", kernels.Param{Name: "n", Value: 33}))
	op.Tolerance = func(kernels.Shape) float64 { return 2e-6 }
	op.Fill = func(_ Coefficients, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[2])
		for i := range statesOf(a[3]) {
			statesOf(a[3])[i] = state{float64(i+1) / 1024, -float64(i) / 2048}
		}
	}
	return &op
}

func TestOp(t *testing.T) {
	kerneltest.Run(t, strict(), kerneltest.Options{Sizes: []int{1, 2, 3, 33, 127, 257, 1000, 3001, 21001}, Most: 100_000,
		Emulated: 24 << 10, Infinite: true})
}

// process filters x in place, as the typed plan does.
func process(t *testing.T, p *kernels.Plan[Coefficients], states []state, x []float32) {
	t.Helper()
	before := wordsOf(states)
	after := make([]float32, len(before))
	shape := kernels.Shape{channels: len(states), samples: len(x) / len(states)}
	if err := p.Run(shape, kernels.Args{x, after, x, before}); err != nil {
		t.Fatal(err)
	}
	copy(states, statesOf(after))
}

func wordsOf(states []state) []float32 {
	var values []float64
	for _, s := range states {
		values = append(values, s.s1, s.s2)
	}
	return kernels.Float64Words(values)
}

// ways returns a plan of every implementation, and of every way in which one may divide the work.
func ways(t *testing.T, c Coefficients) map[string]*kernels.Plan[Coefficients] {
	t.Helper()
	op := Op
	op.By = append(append(slices.Clone(Op.By), fiveBlocks), strategies()...)
	return kerneltest.Plans(t, &op, c)
}

// TestScipy compares the design, the reference and every implementation with scipy.signal.butter and lfilter in float64.
func TestScipy(t *testing.T) {
	b, a := kerneltest.ReadArray[float64](t, "testdata/biquad_b.npy"), kerneltest.ReadArray[float64](t, "testdata/biquad_a.npy")
	src := kerneltest.ReadArray[float32](t, "testdata/signal_8192.npy")
	want := kerneltest.ReadArray[float64](t, "testdata/biquad_8192.npy")

	designed, err := Lowpass(1000, 22050)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Normalise([3]float64(b), [3]float64(a))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range [5][2]float64{{designed.B0, c.B0}, {designed.B1, c.B1}, {designed.B2, c.B2}, {designed.A1, c.A1}, {designed.A2, c.A2}} {
		if !(math.Abs(v[0]-v[1]) <= 1e-14) {
			t.Errorf("coefficient %d of Lowpass is %g, want %g", i, v[0], v[1])
		}
	}
	reference := Reference(c, src, 1)
	var diff, norm float64
	for i, w := range want {
		diff += (reference[i] - w) * (reference[i] - w)
		norm += w * w
	}
	if e := math.Sqrt(diff / norm); !(e < 1e-12) {
		t.Errorf("Reference: relative error %.2g, want below 1e-12", e)
	}
	for name, p := range ways(t, c) {
		got := slices.Clone(src)
		process(t, p, make([]state, 1), got)
		if e := kernels.RelativeError(got, want); !(e <= 1e-6) {
			t.Errorf("%s: relative error %.2g, want at most 1e-6", name, e)
		}
	}
}

// TestStateGoesOn filters a signal in blocks, each by another implementation, and compares the output with that of the
// signal in one piece. A state must mean the same to all implementations. The filters have poles near z = 1 and near z = −1,
// where a state in float32 would be too inexact.
func TestStateGoesOn(t *testing.T) {
	for _, test := range []struct {
		name    string
		c       Coefficients
		allowed float64 // on values of 1
	}{
		{"low-pass at 1000 Hz", lowpass(t, 1000, 22050), 1e-6},
		{"high-pass at 20 Hz", highpass(t, 20, 48000), 1e-5},
		{"low-pass at 23 980 Hz", lowpass(t, 23980, 48000), 1e-5},
	} {
		const n, block = 12000, 601
		for _, width := range []int{1, 3} {
			all := ways(t, test.c)
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range all {
					if !yield(name) {
						return
					}
				}
			})
			rng := rand.New(rand.NewPCG(1, 2))
			src, got := make([]float32, width*n), make([]float32, width*n)
			kernels.Noise(src, 1)
			for i := range src {
				src[i] = src[i]/2 + 0.5
			}
			states, want := make([]state, width), Reference(test.c, src, width)
			for from := 0; from < n; from += block {
				to := min(from+block, n)
				var part []float32
				for channel := range width {
					part = append(part, src[channel*n+from:channel*n+to]...)
				}
				process(t, all[names[rng.IntN(len(names))]], states, part)
				for channel := range width {
					copy(got[channel*n+from:channel*n+to], part[channel*(to-from):])
				}
			}
			if off := worst(got, want); !(off <= test.allowed) {
				t.Errorf("%s, %d channels: off by %.2g, want at most %.2g", test.name, width, off, test.allowed)
			}
		}
	}
}

// TestSilence checks that a decaying state ends in zeros, not in denormals that would slow down every later block.
func TestSilence(t *testing.T) {
	c := lowpass(t, 1000, 22050)
	for _, width := range []int{1, 2, 3, 4} {
		for name, p := range ways(t, c) {
			states := make([]state, width)
			for i := range states {
				states[i].s1 = 1e-20
			}
			silence := make([]float32, width*800)
			for range 2 {
				process(t, p, states, silence)
			}
			for i, s := range states {
				if s.s1 != 0 || s.s2 != 0 {
					t.Errorf("%s, %d channels: channel %d ends in %v, want zeros", name, width, i, s)
				}
			}
		}
	}
}

// TestLongMemory filters by a resonance that rings through many blocks and tiles, from a state that is not zero. So the
// output depends strongly on what a scan carries from one block to the next.
func TestLongMemory(t *testing.T) {
	const radius, angle = 0.9995, 0.3
	c, err := Normalise([3]float64{1e-3, 0, 0}, [3]float64{1, -2 * radius * math.Cos(angle), radius * radius})
	if err != nil {
		t.Fatal(err)
	}
	src := make([]float32, 9000)
	kernels.Noise(src, 1)
	start := []state{{0.3, -0.2}}
	want := filtered(c, slices.Clone(start), src)
	for name, p := range ways(t, c) {
		got := slices.Clone(src)
		process(t, p, slices.Clone(start), got)
		if e := kernels.RelativeError(got, want); !(e <= 1e-5) {
			t.Errorf("%s: relative error %.2g, want below 1e-5", name, e)
		}
	}
}

func TestScanDividesTime(t *testing.T) {
	e := newParallel(pool.Shared(), newSection(lowpass(t, 1000, 22050)))
	if got, want := len(e.scan.end), pool.Shared().Workers()+1; got != want {
		t.Errorf("%d blocks, want one more than there are workers, %d", got, want)
	}
	e.scan.end = make([]state, 5)
	x := make([]float32, leastParallel)
	e.process(make([]state, 1), x[1:], x[1:])
	if e.scan.block != 0 {
		t.Errorf("%d samples were divided into blocks of %d samples", len(x)-1, e.scan.block)
	}
	e.process(make([]state, 1), x, x)
	if want := (leastParallel-1)/5 + 1; e.scan.block != want {
		t.Errorf("blocks of %d samples, want %d", e.scan.block, want)
	}
}

// On sixteen workers, two long channels are divided over time. Short ones and many are not, nor are any on two workers.
func TestFewChannelsAreScanned(t *testing.T) {
	many, few := pool.New(16), pool.New(2)
	defer many.Close()
	defer few.Close()
	filter := lowpass(t, 1000, 22050)
	for _, c := range []struct {
		workers     *pool.Pool
		channels, n int
		scanned     bool
	}{
		{many, 1, 64, true},
		{many, 2, 25861, true}, {many, 3, 25861, true}, {many, 5, 25861, true},
		{many, 6, 25861, false}, {many, 2, 512, false}, {many, 2, 2048, false}, {many, 12, 1 << 20, false}, {many, 64, 25861, false},
		{few, 2, 25861, false}, {few, 2, 1 << 20, false}, {few, 3, 1 << 20, false},
	} {
		e := newParallel(c.workers, newSection(filter))
		if got := e.overTime(c.channels, c.n); got != c.scanned {
			t.Errorf("%d channels of %d samples on %d workers: scanned %v, want %v", c.channels, c.n, c.workers.Workers(), got, c.scanned)
		}
		x, got := make([]float32, c.channels*c.n), make([]float32, c.channels*c.n)
		kernels.Noise(x, 1)
		start := make([]state, c.channels)
		for i := range start {
			start[i] = state{float64(i+1) / 64, -float64(i) / 128}
		}
		after := slices.Clone(start)
		e.process(after, got, x)
		if e := kernels.RelativeError(got, filtered(filter, start, x)); !(e <= 2e-6) {
			t.Errorf("%d channels of %d samples: relative error %.2g", c.channels, c.n, e)
		}
		for i, s := range start {
			if d := math.Abs(s.s1-after[i].s1) + math.Abs(s.s2-after[i].s2); !(d <= 1e-6) {
				t.Errorf("%d channels of %d samples: the state of channel %d is off by %.2g", c.channels, c.n, i, d)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	good := lowpass(t, 1000, 44100)
	unstable := good
	unstable.A2 = 1
	edge := good
	edge.A1 = -1 - edge.A2
	infinite := good
	infinite.B1 = math.Inf(1)
	for _, test := range []struct {
		name     string
		c        Coefficients
		channels int
		want     string
	}{
		{"poles on the circle", unstable, 1, "not stable"},
		{"pole at z=1", edge, 1, "not stable"},
		{"infinite", infinite, 1, "want finite ones"},
		{"no channels", good, 0, "0 channels: want 1 to 1048576"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(nil, test.c, test.channels); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
		})
	}
	for _, cutoff := range []float64{0, -1, 0.04, 22050, math.NaN(), math.Inf(1)} {
		if _, err := Lowpass(cutoff, 44100); err == nil {
			t.Errorf("Lowpass accepted a cutoff of %g Hz", cutoff)
		}
	}
	if _, err := Normalise([3]float64{1, 2, 1}, [3]float64{math.Inf(-1), 0.1, 0.1}); err == nil || err.Error() != "biquad: a0 is -Inf: want a finite number other than 0" {
		t.Errorf("an infinite a0: %v", err)
	}
	if _, err := Normalise([3]float64{1, 0, 0}, [3]float64{0, 0, 0}); err == nil || err.Error() != "biquad: a0 is 0: want a finite number other than 0" {
		t.Errorf("Normalise by a[0] = 0: %v", err)
	}
}

// TestPlan filters a signal in blocks and compares the output with that of the signal in one piece, twice.
func TestPlan(t *testing.T) {
	c := lowpass(t, 1000, 22050)
	const n = 4000
	for _, width := range []int{1, 3} {
		src := make([]float32, width*n)
		kernels.GeneratedInput().Fill(src)
		want := Reference(c, src, width)
		plan, err := New(nil, c, width)
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		for pass := range 2 {
			got := make([]float32, len(src))
			for start := 0; start < n; start += 500 {
				x, y := make([]float32, width*500), make([]float32, width*500)
				for channel := range width {
					copy(x[channel*500:], src[channel*n+start:][:500])
				}
				if err := plan.Process(y, x); err != nil {
					t.Fatal(err)
				}
				for channel := range width {
					copy(got[channel*n+start:], y[channel*500:][:500])
				}
			}
			if e := kernels.RelativeError(got, want); !(e <= 5e-6) {
				t.Errorf("%d channels, pass %d: relative error %.2g, want below 5e-6", width, pass, e)
			}
			plan.Reset()
		}
	}
}

func TestPlanCalls(t *testing.T) {
	c := lowpass(t, 1000, 44100)
	plan, err := New(nil, c, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x := make([]float32, 64)
	if err := plan.Process(nil, nil); err != nil {
		t.Errorf("no samples: %v", err)
	}
	if allocations := testing.AllocsPerRun(10, func() { plan.Process(x, x) }); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	one, err := New(nil, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, test := range []struct {
		got  dispatch.Explanation
		name string
		size int
	}{
		{one.Explain(512), "biquad/channels=1", 512}, {one.Explain(64), "biquad/channels=1", 64},
		{plan.Explain(512), "biquad/n=512", 2}, {plan.Explain(64), "biquad/n=512", 2},
	} {
		if test.got.Case != test.name || test.got.Size != test.size {
			t.Errorf("judged by %s at %d, want %s at %d", test.got.Case, test.got.Size, test.name, test.size)
		}
	}
	const both = ", want as many in both, a multiple of the number of channels, 2"
	for want, call := range map[string]func(){
		"biquad: dst has 62 values and src 64" + both: func() { plan.Process(x[:62], x[:64]) },
		"biquad: dst has 63 values and src 63" + both: func() { plan.Process(x[:63], x[:63]) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if message, _ := recover().(string); message != want {
					t.Errorf("panic %q, want %q", message, want)
				}
			}()
			call()
		})
	}
}

func BenchmarkBiquad(b *testing.B) {
	b.Run("n=25861", func(b *testing.B) {
		kerneltest.Benchmark(b, &Op, kernels.Along(axes, "channels", kernels.Param{Name: "n", Value: 25861}), 2, 3, 4, 6, 8, 12)
	})
	for line, sizes := range [][]int{longLine: {256, 4096, 65536}, wideLine: {1, 2, 4, 16, 64}} {
		b.Run(fmt.Sprint(Op.Lines[line].Name), func(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[line], sizes...) })
	}
}
