package elementwise

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launchLengths are around a vector and a threadgroup's elements, and a length that fills none.
var launchLengths = []int{1, 2, 3, 4, 5, 1023, 4 * threads, 4*threads + 1, 4097, 100_003}

func newTestLaunch(t *testing.T, f function) *launch {
	t.Helper()
	e, err := newLaunch(emulator.Open(t), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.(*launch).plans.Close)
	return e.(*launch)
}

func TestLaunchMatchesReference(t *testing.T) {
	for _, o := range []*operation{scaleOperation, logOperation} {
		e := newTestLaunch(t, function{o, o.a, o.b})
		for _, n := range launchLengths {
			t.Run(fmt.Sprintf("%s/n=%d", o.name, n), func(t *testing.T) {
				p := newProblem(o, n, kernels.GeneratedInput())
				call, err := e.bind(p.x)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(call.Output(), p.Reference()); !(e <= 3e-7) {
					t.Errorf("relative error %.2g", e)
				}
			})
		}
	}
}

// An engine takes slices of any length, one after the other, and dst may be src.
func TestLaunchApply(t *testing.T) {
	e := newTestLaunch(t, function{scaleOperation, 2, 0.5})
	for _, n := range []int{5, 300, 5, 4} {
		x := make([]float32, n)
		kernels.Noise(x, uint64(n))
		want := ReferenceScale(x, 2, 0.5)
		if err := e.apply(x, x); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(x, want); !(e <= 3e-7) {
			t.Errorf("n=%d: relative error %.2g", n, e)
		}
	}
}

func TestWarmLaunchDoesNotAllocate(t *testing.T) {
	if underRace() {
		t.Skip("a library call allocates under the race detector")
	}
	e := newTestLaunch(t, function{scaleOperation, 2, 0.5})
	x := make([]float32, 300)
	if allocs := testing.AllocsPerRun(5, func() { _ = e.apply(x, x) }); allocs != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", allocs)
	}
}

// underRace reports whether the race detector is in this binary. Under it sync.Pool drops items at random, and the
// calls into libraries that draw their frames from one allocate.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestLaunchLogOfSpecialValues(t *testing.T) {
	e := newTestLaunch(t, function{operation: logOperation})
	got := make([]float32, len(specialLog.x))
	if err := e.apply(got, specialLog.x); err != nil {
		t.Fatal(err)
	}
	for i, want := range specialLog.want {
		if math.Abs(float64(got[i]-want)) > 1e-7*math.Abs(float64(want)) || (got[i] != got[i]) != (want != want) {
			t.Errorf("log(%g) = %g, want %g", specialLog.x[i], got[i], want)
		}
	}
}
