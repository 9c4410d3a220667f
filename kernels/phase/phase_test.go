package phase

import (
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// fiveBlocks divides every call into at most five blocks on every machine.
var fiveBlocks = kernels.Named("five blocks", func(*kernels.Backends, Params) (kernels.Runner, error) {
	const blocks = 4 // besides the first
	t := &parallel{pool: pool.Shared(), end: make([]sum, blocks)}
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		t.divide(blocks, a)
		return nil
	}), nil
})

// walked divides a call in ways that a launch plan takes only for many more increments.
func walked(name string, by func(n int) strategy) kernels.Makers[Params] {
	return kernels.KernelText(name, func(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
		appendBy(b, by(s[0]), s[0], t)
	})
}

// parts is a strategy of threadgroups that walk the given number of tiles, or more if there would be too many threadgroups.
func parts(threads, tiles int) func(n int) strategy {
	return func(n int) strategy {
		by := strategy{threads: threads, tiles: max(tiles, divideUp(n, strategy{threads: threads}.tile()*threads))}
		by.groups = divideUp(n, by.tile()*by.tiles)
		return by
	}
}

// strict is the operation with more ways to divide the work, and with a tolerance of the rounding of one output. The
// increments have both signs, and the first phase is not 0.
func strict() *kernels.Op[Params] {
	op := Op
	op.By = append(slices.Clone(Op.By), fiveBlocks, walked("parts", parts(32, 1)), walked("tiles", parts(64, 3)),
		walked("one", func(n int) strategy { return strategy{32, 1, divideUp(n, strategy{threads: 32}.tile())} }))
	op.Tolerance = func(kernels.Shape) float64 { return 0x1p-23 }
	op.Fill = func(_ Params, _ kernels.Shape, input kernels.Input, a *kernels.Args) {
		input.Fill(a[in])
		kernels.Float64s(a[before])[0] = 0.7
	}
	return &op
}

func TestOp(t *testing.T) {
	kerneltest.Run(t, strict(), kerneltest.Options{Sizes: []int{1, 2, 3, 33, 127, 160, 257, 1000, 4099, 12289, 16_387}, Most: 60_000,
		Emulated: 30_000})
}

func TestBarriers(t *testing.T) {
	op := strict()
	op.By = []kernels.Makers[Params]{walked("", parts(128, 2))}
	kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{3*4096 + 5})
}

// TestLaunchPlan tests that no part is empty, that none is left out, and that a threadgroup has a thread for each part.
func TestLaunchPlan(t *testing.T) {
	for n := 1; n < 1<<26; n += 1 + n/5 {
		by := strategyFor(n)
		if part := by.tile() * by.tiles; (by.groups-1)*part >= n || by.groups*part < n || by.groups > by.threads {
			t.Errorf("%d increments: %+v", n, by)
		}
	}
	if got, want := strategyFor(1<<20), (strategy{256, 256, 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// accumulated returns the phases of a plan, block by block, each in place.
func accumulated(t *testing.T, plan *kernels.Plan[Params], phase float64, x []float32, block int) ([]float32, float64) {
	t.Helper()
	y := slices.Clone(x)
	from, to := kernels.Float64Words([]float64{phase}), kernels.Float64Words([]float64{0})
	for part := range slices.Chunk(y, block) {
		if err := plan.Run(kernels.Shape{len(part)}, kernels.Args{part, to, part, from}); err != nil {
			t.Fatal(err)
		}
		from, to = to, from
	}
	return y, kernels.Float64s(from)[0]
}

// TestDrift adds up ten minutes of 440 Hz and its octaves at 44.1 kHz, and ten seconds, and compares with float64. Sums in
// float32 are off by a tenth of a cycle after ten seconds.
func TestDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and the race detector has TestOp")
	}
	const rate = 44100
	for _, test := range []struct {
		seconds   int
		frequency float64
	}{{10, 440}, {10, -3520.1}, {600, 440.7}} {
		x := make([]float32, test.seconds*rate)
		for i := range x {
			x[i] = float32(test.frequency / rate)
		}
		want := Reference(0.25, x)
		var plain float32
		for _, v := range x {
			plain += v
		}
		if off := math.Mod(math.Abs(float64(plain)+0.25-want[len(x)]), 1); min(off, 1-off) < 1e-3 {
			t.Errorf("%d s of %g Hz do not drift in float32, so they test nothing", test.seconds, test.frequency)
		}
		for name, plan := range kerneltest.Plans(t, strict(), Params{}) {
			if strings.HasPrefix(name, kerneltest.GPUName) && (test.seconds > 10 || name != kerneltest.GPUName) {
				continue // slow; TestSameBits shows that they have all bits in common with the processor
			}
			y, end := accumulated(t, plan, 0.25, x, len(x))
			if off := distance(kernels.Float32, y, want[:len(y)]); !(off <= 2e-7) {
				t.Errorf("%s, %d s of %g Hz: off by %.2g cycles", name, test.seconds, test.frequency, off)
			}
			if off := math.Abs(end - want[len(x)]); !(off <= 1e-8) {
				t.Errorf("%s, %d s of %g Hz: the phase after it is off by %.2g", name, test.seconds, test.frequency, off)
			}
		}
	}
}

// TestSameBits adds up increments of all magnitudes in one piece and in blocks. Every implementation has the same bits.
func TestSameBits(t *testing.T) {
	x := make([]float32, 5000)
	kernels.Noise(x, 3)
	for i := range x {
		switch i % 5 {
		case 0:
			x[i] *= 1e-6
		case 1:
			x[i] *= 1e-12
		case 2:
			x[i] *= 3e4
		case 3:
			x[i] *= float32(math.Ldexp(1, i%200-100))
		}
	}
	x[100], x[101], x[102], x[103] = 0x1p63, -0x1p63, math.MaxFloat32, 1e-45
	plans := kerneltest.Plans(t, strict(), Params{})
	want, end := accumulated(t, plans["go"], 0.1, x, len(x))
	if off := distance(kernels.Float32, want, Reference(0.1, x)[:len(x)]); !(off <= 1e-7) {
		t.Errorf("off by %.2g cycles", off)
	}
	for name, plan := range plans {
		for _, block := range []int{len(x), 700, 33} {
			if strings.HasPrefix(name, kerneltest.GPUName) && block < 100 {
				continue
			}
			got, last := accumulated(t, plan, 0.1, x, block)
			if i := slices.IndexFunc(got, func(v float32) bool { return !(v >= 0 && v < 1) }); i >= 0 {
				t.Errorf("%s: phase %d is %g", name, i, got[i])
			}
			if !slices.Equal(got, want) || last != end {
				t.Errorf("%s in blocks of %d: other bits than go in one piece", name, block)
			}
		}
	}
}

// compare computes a block by the loops of this processor and by those in Go. It compares the bits of phases and of sums, and
// what lies behind the phases.
func compare(t *testing.T, begin sum, x []float32) {
	t.Helper()
	const behind = 9
	n := len(x)
	want, end := make([]float32, n+1), begin
	want[n] = behind
	end.accumulateGo(want[:n], x)
	same := func(how string, got sum) {
		t.Helper()
		if got.lost != end.lost || got.units != end.units && !end.lost {
			t.Fatalf("%d increments from %x, %s: the sum is %+v, want %+v", n, begin.units, how, got, end)
		}
	}
	accumulated := func(how string, dst, src []float32) {
		t.Helper()
		got := begin
		got.accumulate(dst[:n], src)
		same(how, got)
		for i, v := range want {
			if math.Float32bits(dst[i]) != math.Float32bits(v) {
				t.Fatalf("%d increments from %x, %s: phase %d is %g, want %g; %g", n, begin.units, how, i, dst[i], v, x)
			}
		}
	}
	inPlace := append(slices.Clone(x), behind)
	accumulated("in place", inPlace, inPlace[:n])
	apart := make([]float32, n+1)
	apart[n] = behind
	accumulated("apart", apart, x)
	for how, advance := range map[string]func(*sum, []float32){"sum alone": (*sum).advance, "sum alone in Go": (*sum).advanceGo} {
		got := begin
		advance(&got, x)
		same(how, got)
	}
}

// TestLoops compares the loops of this processor with those in Go, at all lengths around turns of vector code.
func TestLoops(t *testing.T) {
	const most = 70
	begins := []sum{{}, begun(0.7), begun(1 - 0x1p-53), {units: 1 << shift}, {lost: true}}
	// One value for each sign, exponent and start of a fraction, with other bits behind it.
	var all, below2 []float32
	for i := range uint32(1 << 16) {
		v := math.Float32frombits(i*0x9e37<<16 | i*40503>>3&0xffff)
		all = append(all, v)
		if abs(v) < 2 {
			below2 = append(below2, v)
		}
	}
	// Fractions at the exponents at which an increment has high parts, low parts, both, or bits that do not count.
	var fractions []float32
	for exponent := -60; exponent <= 0; exponent++ {
		for _, fraction := range []float64{1, 1 + 0x1p-23, 1.5, 1.5 + 0x1p-23, 0x1.aaaaaap0, 2 - 0x1p-23} {
			v := float32(math.Ldexp(fraction, exponent))
			fractions = append(fractions, v, -v)
		}
	}
	tone := make([]float32, 3*most)
	kick(tone)
	minusZero := float32(math.Copysign(0, -1))
	for name, values := range map[string][]float32{
		"all": all, "below 2": below2, "fractions": fractions, "tone": tone,
		"denormals": {0, minusZero, 0x1p-149, -0x1p-149, 0x1p-126, -0x1p-126, 0x1p-127, -0x1p-127},
		"greatest":  {2 - 0x1p-23},
		"least":     {-2 + 0x1p-23},
		"falling":   {-0x1p-53, -0x1.8p-53, -0x1p-54, -0x1p-30, -0x1.fffffep-31, -0.25, -1, -0x1.fffffep-30},
		"wholes":    {1, -1, 1, 1, -1},
		"halves":    {0.5, -0.5, 1.5, -1.5, 0x1p-31, -0x1p-31, 0x1.8p-30, -0x1.8p-30},
		"huge":      {0.3, 2, -0.1, -2, 700.3, -1023.9, 1024, -1024, 0x1p63, -0x1p63, math.MaxFloat32},
	} {
		t.Run(name, func(t *testing.T) {
			for n, at := 0, 0; n <= most || at < len(values); n++ {
				block := make([]float32, n%(most+1))
				for i := range block {
					block[i] = values[(at+i)%len(values)]
				}
				at += len(block)
				for _, begin := range begins {
					compare(t, begin, block)
				}
			}
		})
	}
	t.Run("places", func(t *testing.T) {
		for n := 1; n <= most; n++ {
			for at := range n {
				for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 2, 2.25, 700.3, -1023.75, 1024, -1e30, 0x1p-149} {
					for _, block := range [][]float32{slices.Clone(tone[:n]), slices.Clone(fractions[len(fractions)-n:])} {
						block[at] = float32(v)
						compare(t, begins[1], block)
					}
				}
			}
		}
	})
	// So many increments that the sums of low parts would overflow if nothing were carried.
	for _, v := range []float32{0x1p-30 - 0x1p-53, -0x1p-30 + 0x1p-53, 2 - 0x1p-23} {
		compare(t, begins[1], slices.Repeat([]float32{v}, 1<<14+5))
	}
}

// TestState checks what is left to the next call: phases from 0 to below 1 with all their bits, and NaN.
func TestState(t *testing.T) {
	for name, plan := range kerneltest.Plans(t, strict(), Params{}) {
		for _, phase := range []float64{0, 0.5, 0x1p-53, 1 - 0x1p-53, 0x1p-30 + 0x1p-53, -0.25, 7.125, 1e300, 0x1p-60, -0x1p-60, math.NaN(),
			math.Inf(1)} {
			_, got := accumulated(t, plan, phase, []float32{0}, 1)
			want := begun(phase).phase()
			if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %g becomes %g, want %g", name, phase, got, want)
			}
		}
		for at, v := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
			x := make([]float32, 1000)
			x[500+at] = v
			y, end := accumulated(t, plan, 0.5, x, 1000)
			for i, p := range y {
				if (p != p) != (i >= 500+at) {
					t.Fatalf("%s: with %g at %d, phase %d is %g", name, v, 500+at, i, p)
				}
			}
			if !math.IsNaN(end) {
				t.Errorf("%s: after %g the phase is %g", name, v, end)
			}
		}
	}
}

// TestNumPy compares the kick with numpy.cumsum in float64, wrapped by numpy.mod.
func TestNumPy(t *testing.T) {
	x := kerneltest.ReadArchived[float32](t, "testdata/numpy.npz", "kick")
	want := kerneltest.ReadArchived[float64](t, "testdata/numpy.npz", "phase")
	for i, v := range Reference(0.25, x)[:len(x)] {
		if !(math.Abs(v-want[i]) <= 1e-12) {
			t.Fatalf("the reference's phase %d is %.17g, want %.17g", i, v, want[i])
		}
	}
	for name, plan := range kerneltest.Plans(t, strict(), Params{}) {
		y, _ := accumulated(t, plan, 0.25, x, 3000)
		if off := distance(kernels.Float32, y, want); !(off <= 1e-7) {
			t.Errorf("%s: off by %.2g cycles", name, off)
		}
	}
	measured := make([]float32, len(x))
	kick(measured)
	for i, v := range measured {
		if math.Abs(float64(v-x[i])) > 1e-9 {
			t.Fatalf("increment %d of the measured kick is %g, want %g", i, v, x[i])
		}
	}
}

func TestPlan(t *testing.T) {
	plan := New(nil)
	defer plan.Close()
	x := []float32{0.25, 0.5, 0.5, -0.5}
	y := make([]float32, 4)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(want float64) {
		t.Helper()
		if got := plan.Phase(); got != want {
			t.Errorf("phase %g, want %g", got, want)
		}
	}
	must(plan.Accumulate(y, x))
	if want := []float32{0.25, 0.75, 0.25, 0.75}; !slices.Equal(y, want) {
		t.Errorf("%v, want %v", y, want)
	}
	check(0.75)
	plan.Close()
	must(plan.Accumulate(nil, nil))
	check(0.75)
	must(plan.Accumulate(y[:1], x[:1]))
	check(0)
	plan.SetPhase(-0.125)
	check(0.875)
	must(plan.Accumulate(y[:1], x[:1]))
	check(0.125)
	must(plan.Accumulate(y[:1], []float32{float32(math.NaN())}))
	if !math.IsNaN(plan.Phase()) {
		t.Error("a NaN is forgotten")
	}
	plan.Reset()
	must(plan.Accumulate(y, x))
	check(0.75)
	if n := testing.AllocsPerRun(10, func() { _ = plan.Accumulate(y, x) }); n != 0 {
		t.Errorf("%g allocations a call", n)
	}
	defer func() {
		if message, _ := recover().(string); !strings.HasPrefix(message, "phase-sum:") {
			t.Errorf("panic %q", message)
		}
	}()
	_ = plan.Accumulate(y[:1], x)
}

func TestDistance(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		got  []float32
		want []float64
		off  float64
	}{
		{[]float32{0.25, 0.5}, []float64{0.25, 0.75}, 0.25}, {[]float32{0.875}, []float64{0.125}, 0.25},
		{[]float32{float32(nan)}, []float64{nan}, 0}, {[]float32{0}, []float64{nan}, math.Inf(1)},
		{[]float32{float32(nan)}, []float64{0}, math.Inf(1)}, {[]float32{1.5}, []float64{0.5}, math.Inf(1)},
		{[]float32{0}, nil, math.Inf(1)},
	} {
		if off := distance(kernels.Float32, test.got, test.want); off != test.off {
			t.Errorf("%v against %v: %g, want %g", test.got, test.want, off, test.off)
		}
	}
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 700) }

func BenchmarkPhase(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1<<10, 1<<14, 1<<18, 1<<22)
}
