package kernels_test

import (
	"errors"
	"testing"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/pool"
)

// timing is the emulated GPU. It counts the submissions that are timed, and fails if it is told to.
type timing struct {
	gpu.Driver
	timed int
	fails error
}

type timingRecording struct {
	gpu.Recording
	by *timing
}

func (d *timing) Record(commands []gpu.Command) (gpu.Recording, error) {
	r, err := d.Driver.Record(commands)
	return timingRecording{r, d}, err
}

func (r timingRecording) Submit(timed bool) error {
	if timed {
		r.by.timed++
	}
	if r.by.fails != nil {
		return r.by.fails
	}
	return r.Recording.Submit(timed)
}

// timed returns backends with that GPU.
func timed(t *testing.T, unified bool) (*kernels.Backends, *timing) {
	t.Helper()
	driver, err := emulator.New(emulator.Unified(unified))
	if err != nil {
		t.Skip(err)
	}
	d := &timing{Driver: driver}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend("emulator", func() (gpu.Driver, error) { return d, nil })}}, d
}

// A timed call says where the time on a GPU went. The GPU times no other calls, and neither kind allocates.
func TestRunTimed(t *testing.T) {
	for _, unified := range []bool{false, true} {
		b, d := timed(t, unified)
		plan := newPlan(t, b, dispatch.Always("emulator"), adding(nil), params{})
		s, a := kernels.Shape{100}, kernels.Args{make([]float32, 100), make([]float32, 100)}
		var times gpu.CallTimes
		run := func() {
			if err := plan.Run(s, a); err != nil {
				t.Fatal(err)
			}
		}
		runTimed := func() {
			if err := plan.RunTimed(s, a, &times); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if d.timed != 0 {
			t.Errorf("unified %v: the GPU has timed %d calls, want none", unified, d.timed)
		}
		runTimed()
		var moved int64
		if !unified {
			moved = 2 * 4 * 100
		}
		if times.Kernel != 1 || times.Busy <= 0 || times.Span < times.Busy || times.Wall < times.Encode+times.Span || times.Moved != moved || a[0][99] != 1 {
			t.Errorf("unified %v: %+v, want one kernel, and %d bytes moved", unified, times, moved)
		}
		d.timed = 0
		for name, call := range map[string]func(){"a call": run, "a timed call": runTimed} {
			if n := testing.AllocsPerRun(10, call); n != 0 && !emulator.Racing() {
				t.Errorf("unified %v: %s allocates %v times", unified, name, n)
			}
		}
		if d.timed != 11 {
			t.Errorf("unified %v: of two kinds with 11 calls each, the GPU has timed %d calls", unified, d.timed)
		}
	}
}

// Of a call on the processor nothing is said, not even by the GPU that has failed in it. And no call is timed after a panic.
func TestRunTimedOnTheProcessor(t *testing.T) {
	b, d := timed(t, false)
	s, a := kernels.Shape{100}, kernels.Args{make([]float32, 100), make([]float32, 100)}
	some := gpu.CallTimes{Moved: 7}
	plan := newPlan(t, b, dispatch.Always("second"), adding(nil), params{})
	times := some
	if err := plan.RunTimed(s, a, &times); err != nil || times != (gpu.CallTimes{}) {
		t.Errorf("on the processor: %+v, %v", times, err)
	}
	plan = newPlan(t, b, dispatch.Always("emulator"), adding(nil), params{})
	func() {
		defer func() { _ = recover() }()
		_ = plan.RunTimed(s, kernels.Args{a[0], a[0][1:]}, &times)
		t.Error("data that overlap are taken")
	}()
	if err := plan.Run(s, a); err != nil || d.timed != 0 {
		t.Errorf("after a panic, the GPU has timed %d calls (%v)", d.timed, err)
	}
	times, d.fails = some, errors.New("no luck")
	if err := plan.RunTimed(s, a, &times); err != nil || plan.Ran() != "first" || times != (gpu.CallTimes{}) || d.timed != 1 {
		t.Errorf("after the GPU has failed: by %s, %+v, %v", plan.Ran(), times, err)
	}
}
