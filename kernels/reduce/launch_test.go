package reduce

import (
	"math"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// Sums of whole numbers are exact, so a value that is left out or counted twice shows.
func TestLaunchEveryValueCountsOnce(t *testing.T) {
	p := kerneltest.Plans(t, &Sum, Params{})[kerneltest.GPUName]
	if p == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, n := range []int{3, 130, 4097, aloneUpTo + 67, 50_000, 50_000} {
		x := make([]float32, n)
		want := 0
		for i := range x {
			x[i] = float32(i%127 + 1)
			want += i%127 + 1
		}
		if got := by(t, &Sum, p, x); got != float64(want) {
			t.Errorf("n=%d: %.9g, want %d", n, got, want)
		}
	}
}

// In one threadgroup and in several, every turn of every thread may have the greatest value.
func TestLaunchFindsEveryPlace(t *testing.T) {
	p := kerneltest.Plans(t, &ArgMax, Params{})[kerneltest.GPUName]
	if p == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, n := range []int{aloneUpTo, 3 * aloneUpTo} {
		x := make([]float32, n)
		for i := 0; i < n; i += n/47 + 2 {
			x[i] = 1
			if got := by(t, &ArgMax, p, x); got != float64(i) {
				t.Fatalf("n=%d: %g, want %d", n, got, i)
			}
			x[i] = 0
		}
	}
}

// alonePlan returns the plan of n values in one threadgroup.
func alonePlan(t *testing.T, d *gpu.Device, n int) (p *gpu.Plan, x, y *gpu.Buffer) {
	t.Helper()
	b := d.NewPlan()
	x, y = b.Input(gpu.Float4, (n+3)/4), b.Output(gpu.Float, 1)
	appendSumIn(b, n, 1, 1, y, x)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, x, y
}

// In one threadgroup of a million values, each thread adds up a thousand. What each addition rounds off must be kept.
func TestLaunchKeepsRoundingErrors(t *testing.T) {
	const n = 1 << 20
	p, in, out := alonePlan(t, emulator.Open(t), n)
	x := in.Floats()
	for i := range x {
		x[i] = 0.1
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(out.Floats(), []float64{Reference(x)}); !(e <= 6e-8) {
		t.Errorf("relative error %.2g", e)
	}
}

// What lies behind the last value is not counted, also where nearly a whole turn is there.
func TestLaunchLeavesOutTheRest(t *testing.T) {
	device := emulator.Open(t)
	const turn = 4 * vectors * mostThreads
	for n := turn - 4; n <= turn+4; n++ {
		p, in, out := alonePlan(t, device, n)
		x := in.Floats()
		for i := range x {
			x[i] = float32(math.NaN())
			if i < n {
				x[i] = 1
			}
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if got := out.Floats()[0]; got != float32(n) {
			t.Errorf("n=%d: %g", n, got)
		}
	}
}

func TestLaunchSpecialValues(t *testing.T) {
	device := emulator.Open(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct {
		name   string
		values []float32
		want   float32
	}{
		{"cancels", []float32{1e30, 1, -1e30}, 1},
		{"infinity", []float32{1, inf, 2}, inf},
		{"negative infinity", []float32{-inf, 1}, -inf},
		{"both", []float32{inf, -inf}, nan},
		{"no number", []float32{1, nan}, nan},
		{"too large", []float32{math.MaxFloat32, math.MaxFloat32}, inf},
	} {
		// The values are a threadgroup's step apart in a slice of zeros, so one thread adds all of them.
		x := make([]float32, 4*vectors*mostThreads*len(test.values))
		for i, v := range test.values {
			x[4*vectors*mostThreads*i] = v
		}
		p, in, out := alonePlan(t, device, len(x))
		copy(in.Floats(), x)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if got := out.Floats()[0]; got != test.want && !(got != got && test.want != test.want) {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
}

func TestGroupsFor(t *testing.T) {
	for _, test := range []struct{ n, cores, want int }{
		{1, 132, 1}, {aloneUpTo, 132, 1},
		{aloneUpTo + 1, 132, (aloneUpTo/(4*vectors*threads) + 4) / 4 * 4},
		{1 << 24, 10, 10 * groupsPerCore},
		{1 << 24, 1, groupsPerCore},
	} {
		if got := groupsFor(test.n, test.cores); got != test.want {
			t.Errorf("groupsFor(%d, %d) = %d, want %d", test.n, test.cores, got, test.want)
		}
	}
}
