package reduce

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launchLengths are around a vector, a simdgroup, a threadgroup that is alone, and a step of several.
var launchLengths = []int{1, 2, 3, 4, 5, 127, 129, 1023, 1024, 4097, aloneUpTo, aloneUpTo + 1, 100_003, 1 << 20}

func newTestLaunch(t *testing.T, d *gpu.Device) *launch {
	t.Helper()
	e, err := newLaunch(d, params{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.(*launch).plans.Close)
	return e.(*launch)
}

func TestLaunchMatchesReference(t *testing.T) {
	e := newTestLaunch(t, emulator.Open(t))
	for _, n := range launchLengths {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			p := newProblem(n)
			call, err := e.bind(p.x)
			if err != nil {
				t.Fatal(err)
			}
			defer call.Release()
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(call.Output(), p.Reference()); !(e <= 2e-7) {
				t.Errorf("relative error %.2g", e)
			}
		})
	}
}

// Whole numbers sum exactly, so a value that is left out or counts twice shows.
func TestLaunchEveryValueCountsOnce(t *testing.T) {
	e := newTestLaunch(t, emulator.Open(t))
	for _, n := range []int{3, 130, 4097, aloneUpTo + 67, 50_000, 50_000} {
		x := make([]float32, n)
		want := 0
		for i := range x {
			x[i] = float32(i%127 + 1)
			want += i%127 + 1
		}
		if got, err := e.sum(x); err != nil || got != float32(want) {
			t.Errorf("n=%d: %.9g, want %d, error %v", n, got, want, err)
		}
	}
}

func TestWarmLaunchDoesNotAllocate(t *testing.T) {
	if underRace() {
		t.Skip("a library call allocates under the race detector")
	}
	e := newTestLaunch(t, emulator.Open(t))
	x := make([]float32, 50_000)
	if allocs := testing.AllocsPerRun(5, func() { _, _ = e.sum(x) }); allocs != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", allocs)
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the
// calls into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// One threadgroup of a million values has threads that add up a thousand: what rounds away at every step is kept.
func TestLaunchKeepsRoundingErrors(t *testing.T) {
	const n = 1 << 20
	p, err := newPlan(emulator.Open(t), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	x := p.x.Floats()
	for i := range x {
		x[i] = 0.1
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(p.y.Floats(), []float64{Reference(x)}); !(e <= 6e-8) {
		t.Errorf("relative error %.2g", e)
	}
}

func TestLaunchSpecialValues(t *testing.T) {
	e := newTestLaunch(t, emulator.Open(t))
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
		// The values are alone in a slice of zeros, a threadgroup's step apart, so that one thread adds them.
		x := make([]float32, 4*vectors*mostThreads*len(test.values))
		for i, v := range test.values {
			x[4*vectors*mostThreads*i] = v
		}
		p, err := newPlan(e.device, len(x), 1)
		if err != nil {
			t.Fatal(err)
		}
		copy(p.x.Floats(), x)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if got := p.y.Floats()[0]; got != test.want && !(got != got && test.want != test.want) {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
		p.Close()
	}
}

// A threadgroup must not read the sums of its simdgroups before they are there.
func TestLaunchNeedsItsBarrier(t *testing.T) {
	device := emulator.Open(t)
	whole := source
	defer func() { source = whole }()
	source.Text = strings.Replace(text, "threadgroup_barrier(mem_flags::mem_threadgroup);", "", 1)
	if source.Text == text {
		t.Fatal("there is no barrier to remove")
	}
	p := newProblem(1000)
	call, err := newTestLaunch(t, device).bind(p.x)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if err := call.Run(); err == nil && kernels.RelativeError(call.Output(), p.Reference()) <= 1e-5 {
		t.Error("a kernel without its barrier passes")
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
