package sweeps_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
)

func TestAnImplementationThatFails(t *testing.T) {
	broken := errors.New("out of tiles")
	for name, c := range map[string]struct {
		change func(e *implementation)
		want   string
	}{
		"in a call": {func(e *implementation) {
			e.run = func(size int) error {
				if size >= 5000 {
					return broken
				}
				return nil
			}
		}, "out of tiles"},
		"by a panic": {func(e *implementation) {
			e.run = func(size int) error {
				if size >= 5000 {
					panic("index out of range")
				}
				return nil
			}
		}, "panic: index out of range"},
		"in Bind": {func(e *implementation) {
			e.bind = func(size int) error {
				if size >= 5000 {
					return broken
				}
				return nil
			}
		}, "out of tiles"},
		"by a panic in Bind": {func(e *implementation) {
			e.bind = func(size int) error {
				if size >= 5000 {
					panic(broken)
				}
				return nil
			}
		}, "panic: out of tiles"},
		"by a panic in Output": {func(e *implementation) {
			e.off = func(size int) float32 {
				if size >= 5000 {
					panic("no output")
				}
				return 0
			}
		}, "panic: no output"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			fails := slowStarter()
			c.change(&fails)
			r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), fails))[0]
			if low, high := timed(r, "parallel"); low != 64 || high >= 5000 || high < 4000 {
				t.Errorf("it was timed from %d to %d, want 64 to nearly 5000", low, high)
			}
			if low, high := timed(r, "go"); low != 64 || high != 1<<20 {
				t.Errorf("the other one was timed from %d to %d", low, high)
			}
			if s := status(t, r, "parallel"); s.Excluded != "" || s.Wrong {
				t.Errorf("status is %+v: what it did at small sizes still counts", s)
			}
			if len(r.Warnings) == 0 {
				t.Fatal("there is no warning")
			}
			for _, w := range r.Warnings {
				if !strings.Contains(w, c.want) || !strings.Contains(w, "parallel was timed up to") || strings.Contains(w, "\n") {
					t.Errorf("warning %q, want one line about %q", w, c.want)
				}
			}
			f := fit(r)
			names := []string{}
			for _, s := range f.Segments {
				names = append(names, r.Samples.Implementations[s.Implementation])
			}
			if !slices.Equal(names, []string{"go", "parallel", "go"}) || f.Segments[2].From > 5000 {
				t.Errorf("segments are %+v of %v, want go, parallel, and go again before 5000", f.Segments, names)
			}
		})
	}
}

func TestAnImplementationThatFailsAtOnce(t *testing.T) {
	m := newMachine()
	fails := implementation{name: "cold", cost: linear(1e-9, 1e-9), run: func(int) error { return errors.New("no device") }}
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, quickStarter(), fails))[0]
	if s := status(t, r, "cold"); !strings.Contains(s.Excluded, "failed at 64 samples: no device") || s.Wrong {
		t.Errorf("status is %+v", s)
	}
	if low, _ := timed(r, "cold"); low != 0 {
		t.Errorf("it was timed at %d", low)
	}
}

// The implementation fails in the middle of a visit, after some blocks. Those blocks must go, too.
func TestAnImplementationThatFailsInTheMiddleOfAVisit(t *testing.T) {
	m := newMachine()
	calls := 0
	fails := implementation{name: "tired", cost: linear(2.5e-3, 0), run: func(size int) error {
		if size == 256 {
			if calls++; calls > 10 {
				return errors.New("device lost")
			}
		}
		return nil
	}}
	steady := implementation{name: "go", cost: linear(3e-3, 0)}
	o := m.options(60 * time.Second)
	// 256 fails although 1024 did not.
	o.Planner = script{{64, 10}, {1024, 10}, {256, 10}, {64, 5}, {300, 5}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 4096, steady, fails))[0]
	if calls != 11 {
		t.Fatalf("it was called %d times at 256: the test is not in the middle of a visit", calls)
	}
	if _, high := timed(r, "tired"); high != 64 {
		t.Errorf("it is timed up to %d, want 64: at 256 it failed", high)
	}
	for _, size := range []int{64, 1024, 256, 300} {
		if n := len(r.Samples.At(size)); n < 5 {
			t.Errorf("there are %d blocks at %d: those of the other one are worth keeping", n, size)
		}
	}
}

func TestAllImplementationsFail(t *testing.T) {
	for name, from := range map[string]int{"at once": 0, "half-way": 1000} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			problems := 0
			fails := quickStarter()
			fails.run = func(size int) error {
				if size >= from {
					return errors.New("no")
				}
				return nil
			}
			c := m.newCase("op/x=1", 64, 1<<20, fails)
			newProblem := c.Problem
			c.Problem = func(size int, in kernels.Input) kernels.Problem {
				if size >= 5000 {
					problems++
				}
				return newProblem(size, in)
			}
			r := m.sweep(t, m.options(60*time.Second), c)[0]
			if _, high := timed(r, "go"); high >= max(from, 1) {
				t.Errorf("it was timed up to %d", high)
			}
			if problems > 0 {
				t.Errorf("%d problems were made at sizes that nobody can run", problems)
			}
		})
	}
}

func TestAProblemThatPanics(t *testing.T) {
	m := newMachine()
	c := m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter())
	newProblem := c.Problem
	c.Problem = func(size int, in kernels.Input) kernels.Problem {
		if size > 10000 {
			panic("out of memory")
		}
		return newProblem(size, in)
	}
	r := m.sweep(t, m.options(60*time.Second), c)[0]
	if f := fit(r); len(f.Segments) != 2 || f.Segments[1].To < 4096 {
		t.Errorf("segments are %+v", f.Segments)
	}
	// Below that the sweep continues to narrow the interval.
	if s := fit(r).Segments[1]; float64(s.High) > 1.3*float64(s.Low) {
		t.Errorf("the interval is %d..%d", s.Low, s.High)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "panic: out of memory") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

func TestAnImplementationThatIsWrong(t *testing.T) {
	for name, off := range map[string]float32{"a little": 1e-4, "NaN": float32(math.NaN())} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			wrong := implementation{name: "wrong", cost: linear(1e-7, 1e-10), off: func(size int) float32 {
				if size > 10000 {
					return off
				}
				return 1e-6
			}}
			r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter(), wrong))[0]
			s := status(t, r, "wrong")
			if !s.Wrong || !strings.Contains(s.Excluded, "wrong at 16384 samples") || strings.Contains(s.Excluded, "\n") {
				t.Errorf("status is %+v", s)
			}
			if low, high := timed(r, "wrong"); low != 0 {
				t.Errorf("its times from %d to %d are still there", low, high)
			}
			for _, b := range r.Samples.Blocks {
				if b.Twin == 2 {
					t.Errorf("it is still the twin of a block at %d", b.Size)
				}
			}
			if f := fit(r); len(f.Segments) != 2 || f.Segments[1].Low > 1030 || f.Segments[1].High < 970 {
				t.Errorf("segments are %+v, want those of the other two", f.Segments)
			}
			if s := status(t, r, "go"); s.Wrong || s.Excluded != "" || s.RelativeError > 1e-6 {
				t.Errorf("status of a right one is %+v", s)
			}
		})
	}
}

func TestTheOnlyImplementationIsWrong(t *testing.T) {
	m := newMachine()
	wrong := quickStarter()
	wrong.off = func(size int) float32 {
		if size > 1000 {
			return 1
		}
		return 0
	}
	r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, wrong))[0]
	if len(r.Samples.Blocks) != 0 || !status(t, r, "go").Wrong {
		t.Errorf("%d blocks are left, status %+v", len(r.Samples.Blocks), status(t, r, "go"))
	}
}

func TestAnImplausiblyFastImplementation(t *testing.T) {
	for name, c := range map[string]struct {
		cost  float64
		ticks int // nanoseconds
	}{
		"faster than memory": {1e-9, 1},
		"in no time at all":  {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.tick = float64(c.ticks) * 1e-9
			fast := implementation{name: "fast", cost: linear(c.cost, 0)}
			one := m.newCase("op/x=1", 64, 1<<20, quickStarter(), fast)
			one.Bytes = func(size int) float64 { return 8 * float64(size) }
			// That is one nanosecond for 8 MiB. The smaller sizes are still plausible.
			o := m.options(60 * time.Second)
			o.Planner = script{{1 << 20, 5}}.planner
			r := m.sweep(t, o, one)[0]
			s := status(t, r, "fast")
			if !strings.Contains(s.Excluded, "implausible at 1048576 samples") || strings.Contains(s.Excluded, "\n") {
				t.Errorf("status is %+v", s)
			}
			if low, _ := timed(r, "fast"); low != 0 {
				t.Error("its times are still there")
			}
			if low, _ := timed(r, "go"); low == 0 {
				t.Error("the other one has no times")
			}
		})
	}
}

func TestAMissingImplementation(t *testing.T) {
	m := newMachine()
	absent := implementation{name: "fftw", cost: linear(1e-9, 0), missing: errors.New("libfftw3f not found (apt install libfftw3-single3)")}
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, absent, quickStarter()))[0]
	if s := status(t, r, "fftw"); !strings.Contains(s.Excluded, "apt install") || s.Version != "" || s.Wrong {
		t.Errorf("status is %+v", s)
	}
	if !slices.Equal(r.Samples.Implementations, []string{"go"}) || m.binds["fftw"] > 0 {
		t.Errorf("samples are of %v", r.Samples.Implementations)
	}
	r = m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, absent))[0]
	if len(r.Samples.Blocks) != 0 || len(r.Implementations) != 1 {
		t.Errorf("without any implementation there is %+v", r)
	}
}

// Each implementation is judged by the error that it promises, and the sweep records that promise and the error measured.
func TestErrorBounds(t *testing.T) {
	m := newMachine()
	by := func(error float32) func(int) float32 { return func(int) float32 { return error } }
	loose := implementation{name: "loose", cost: linear(1e-7, 1e-10), off: by(4e-4)}
	strict := implementation{name: "strict", cost: linear(1e-6, 1e-9), off: by(4e-5)}
	broken := implementation{name: "broken", cost: linear(1e-6, 1e-9), off: by(4e-4)}
	c := m.newCase("op/x=1", 64, 1<<16, loose, strict, broken)
	for i, bound := range []float64{5e-4, 5e-5, 5e-5} {
		c.Implementations[i].ErrorBound = bound
	}
	r := m.sweep(t, m.options(20*time.Second), c)[0]
	for name, want := range map[string]struct {
		bound, off float64
		wrong      bool
	}{"loose": {5e-4, 4e-4, false}, "strict": {5e-5, 4e-5, false}, "broken": {5e-5, 0, true}} {
		s := status(t, r, name)
		if s.Wrong != want.wrong || s.ErrorBound != want.bound || math.Abs(s.RelativeError-want.off) > 1e-6 {
			t.Errorf("%+v, want a bound of %g and an error of %g, wrong: %t", s, want.bound, want.off, want.wrong)
		}
	}
	if s := status(t, r, "broken"); s.Excluded != "wrong at 64 samples: relative error 0.0004, allowed 5e-05" {
		t.Errorf("excluded because it is %q", s.Excluded)
	}
}

// At large shapes the output of the first implementation stands for the reference. It may be off by its own bound.
func TestErrorBoundsOfLargeShapes(t *testing.T) {
	m := newMachine()
	by := func(error float32) func(int) float32 { return func(int) float32 { return error } }
	c := m.newCase("op", 64, 1<<16,
		implementation{name: "loose", cost: linear(1e-7, 1e-10), off: by(4e-4)},
		implementation{name: "strict", cost: linear(1e-6, 1e-9), off: by(4e-5)},
		implementation{name: "broken", cost: linear(1e-6, 1e-9), off: by(-4e-4)})
	for i, bound := range []float64{5e-4, 5e-5, 5e-5} {
		c.Implementations[i].ErrorBound = bound
	}
	c.Shape = func(size int) []int { return []int{size} }
	c.Work = func(int, string) kernels.Work { return kernels.Work{Bytes: 1 << 21} }
	r := m.sweep(t, m.options(20*time.Second), c)[0]
	for name, wrong := range map[string]bool{"loose": false, "strict": false, "broken": true} {
		if s := status(t, r, name); s.Wrong != wrong {
			t.Errorf("%+v, want wrong: %t", s, wrong)
		}
	}
}

// Large outputs of a case elsewhere are compared with those of its first implementation, at every size.
func TestWrongElsewhere(t *testing.T) {
	for _, wrongFrom := range []int{1 << 16, 1 << 22} {
		m := newMachine()
		wrong := implementation{name: "wrong", cost: linear(1e-7, 1e-10), off: func(size int) float32 {
			if size >= wrongFrom {
				return 1
			}
			return 0
		}}
		c := m.newCase("op/resident", 1<<10, 1<<24, quickStarter(), slowStarter(), wrong)
		c.Placement = kernels.Resident
		c.Work = func(size int, _ string) kernels.Work { return kernels.Work{Bytes: float64(size)} }
		r := m.sweep(t, m.options(60*time.Second), c)[0]
		if s := status(t, r, "wrong"); !s.Wrong {
			t.Errorf("wrong from %d on: %+v", wrongFrom, s)
		}
	}
}
