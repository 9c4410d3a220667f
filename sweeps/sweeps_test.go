package sweeps_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

func TestSweepFindsTheCrossover(t *testing.T) {
	type want struct {
		name string
		from float64 // in truth
	}
	bent := implementation{name: "bent", cost: func(n float64) float64 { return 1e-5 + 1e-9*n + 1e-14*n*n }}
	for name, c := range map[string]struct {
		implementations []implementation
		noise           func(*rand.Rand) float64
		speed           func(now float64) float64
		verdict         thresholds.Verdict
		want            []want
	}{
		"a known crossover": {
			implementations: []implementation{quickStarter(), slowStarter()},
			verdict:         thresholds.Switches, want: []want{{"go", 0}, {"parallel", 1000}},
		},
		"none": {
			implementations: []implementation{{name: "slow", cost: linear(2e-6, 3e-8)}, quickStarter()},
			verdict:         thresholds.Always, want: []want{{"go", 0}},
		},
		"two: the winner changes back": {
			implementations: []implementation{quickStarter(), bent},
			verdict:         thresholds.Switches, want: []want{{"go", 0}, {"bent", 1001}, {"go", 898999}},
		},
		"three implementations": {
			implementations: []implementation{quickStarter(), slowStarter(), {name: "gpu", cost: linear(2e-4, 1e-10)}},
			verdict:         thresholds.Switches, want: []want{{"go", 0}, {"parallel", 1000}, {"gpu", 211111}},
		},
		"a tie": {
			implementations: []implementation{quickStarter(), {name: "twin", cost: linear(1.005e-6, 1.005e-8)}},
			verdict:         thresholds.Tie, want: []want{{"", 0}},
		},
		"one implementation": {
			implementations: []implementation{quickStarter()},
			verdict:         thresholds.Always, want: []want{{"go", 0}},
		},
		"spikes on one side": {
			implementations: []implementation{quickStarter(), slowStarter()}, noise: spikes,
			verdict: thresholds.Switches, want: []want{{"go", 0}, {"parallel", 1000}},
		},
		"slow drift": {
			// Three percent up and down within ten seconds: less than the sentinel minds.
			implementations: []implementation{quickStarter(), slowStarter()},
			speed:           func(now float64) float64 { return 1 + 0.03*math.Sin(2*math.Pi*now/10) },
			verdict:         thresholds.Switches, want: []want{{"go", 0}, {"parallel", 1000}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			if c.noise != nil {
				m.noise = c.noise
			}
			m.speed = c.speed
			r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 4<<20, c.implementations...))[0]
			if r.Degraded || len(r.Warnings) > 0 {
				t.Errorf("degraded %v, warnings %q", r.Degraded, r.Warnings)
			}
			f := fit(r)
			if f.Verdict != c.verdict {
				t.Errorf("verdict is %v (%s), want %v", f.Verdict, f.Reason, c.verdict)
			}
			if len(f.Segments) != len(c.want) {
				t.Fatalf("segments are %+v, want %+v", f.Segments, c.want)
			}
			for n, s := range f.Segments {
				if name := r.Samples.Implementations[s.Implementation]; c.want[n].name != "" && name != c.want[n].name {
					t.Errorf("segment %d is of %s, want %s", n, name, c.want[n].name)
				}
				from := c.want[n].from
				if n > 0 && (from < float64(s.Low)/1.03 || from > float64(s.High)*1.03 || float64(s.High) > 1.3*float64(s.Low)) {
					t.Errorf("segment %d starts in %d..%d, and in truth at %.0f", n, s.Low, s.High, from)
				}
			}
			if now := m.now; now > 60 {
				t.Errorf("the sweep took %.1f s of 60", now)
			}
		})
	}
}

func TestSweepOfSeveralCases(t *testing.T) {
	m := newMachine()
	cases := []kernels.Case{
		m.newCase("a/x=1", 64, 65536, quickStarter(), slowStarter()),
		m.newCase("b/x=1", 1, 1, quickStarter(), slowStarter()),
		m.newCase("c/x=1", 16, 1<<20, implementation{name: "go", cost: linear(1e-5, 1e-7)}, implementation{name: "gpu", cost: linear(1e-3, 1e-9)}),
		m.newCase("d/x=1", 1, 8),
	}
	var seen []string
	o := m.options(60 * time.Second)
	o.Progress = func(p sweeps.Progress) {
		if !slices.Contains(seen, p.Case) {
			seen = append(seen, p.Case)
		}
		if p.Budget != o.Budget || p.Size < 1 || p.Elapsed < 0 || p.Elapsed > p.Budget {
			t.Errorf("progress is %+v", p)
		}
	}
	results := m.sweep(t, o, cases...)
	for n, want := range []float64{1000, 0, 10000, 0} {
		f := fit(results[n])
		if want == 0 {
			if len(f.Segments) > 1 {
				t.Errorf("%s: segments are %+v", cases[n].Name, f.Segments)
			}
			continue
		}
		if len(f.Segments) != 2 || want < float64(f.Segments[1].Low)/1.03 || want > float64(f.Segments[1].High)*1.03 {
			t.Errorf("%s: segments are %+v, want a change at %v", cases[n].Name, f.Segments, want)
		}
	}
	if slices.Sort(seen); !slices.Equal(seen, []string{"a/x=1", "b/x=1", "c/x=1"}) {
		t.Errorf("progress of %v", seen)
	}
	if s := status(t, results[0], "go"); s.Version != "go 1.0" || s.Processor != kernels.CPU || s.Excluded != "" || s.Wrong {
		t.Errorf("status is %+v", s)
	}
}

func TestNothingToDo(t *testing.T) {
	m := newMachine()
	m.sweep(t, m.options(time.Second))
	if r := m.sweep(t, m.options(0), m.newCase("op", 1, 64, quickStarter()))[0]; len(r.Samples.Blocks) > 0 {
		t.Errorf("a budget of nothing bought %d blocks", len(r.Samples.Blocks))
	}
}

// The machine runs at two thirds of its speed for a while that the sweep can wait out.
func TestThrottlingEpisode(t *testing.T) {
	m := newMachine()
	episode := func(now float64) bool { return now > 0.1 && now < 0.3 || now > 0.6 && now < 0.7 }
	m.speed = func(now float64) float64 {
		if episode(now) {
			return 1.5
		}
		return 1
	}
	r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
	if m.now < 0.7 {
		t.Fatalf("the sweep was over after %v s: it saw no second episode", m.now)
	}
	if r.Discarded == 0 || m.slept < 0.1 {
		t.Errorf("%d blocks were thrown away and %v s slept", r.Discarded, m.slept)
	}
	if r.Degraded {
		t.Errorf("degraded: %q", r.Warnings)
	}
	for _, b := range r.Samples.Blocks {
		for i, cost := range []func(float64) float64{quickStarter().cost, slowStarter().cost} {
			if ratio := b.Seconds[i] / cost(float64(b.Size)); ratio > 1.2 {
				t.Errorf("a block at %d has a time %.2f times what it should be: it was taken while the machine was slow", b.Size, ratio)
			}
		}
	}
}

func TestPermanentChangeOfSpeed(t *testing.T) {
	m := newMachine()
	m.speed = func(now float64) float64 {
		if now > 0.3 {
			return 1.5
		}
		return 1
	}
	r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
	if !r.Degraded || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "sentinel") {
		t.Errorf("degraded %v, warnings %q; want one about the sentinel", r.Degraded, r.Warnings)
	}
	f := fit(r)
	if len(f.Segments) != 2 || f.Segments[1].Low > 1030 || f.Segments[1].High < 970 {
		t.Errorf("segments are %+v: a change of speed is no change of threshold", f.Segments)
	}
	// It must find out once, not at every visit.
	if r.Discarded > 100 || m.slept > 7 {
		t.Errorf("%d blocks were thrown away and %v s slept", r.Discarded, m.slept)
	}
}

// A machine that never stays as it is for long. Whether a case is called degraded is a matter of luck, mostly bad.
func TestRestlessMachine(t *testing.T) {
	degraded := 0
	for seed := range uint64(5) {
		m := newMachine()
		m.rng = rand.New(rand.NewPCG(seed, 2))
		m.speed = func(now float64) float64 {
			if math.Mod(now, 0.02) > 0.01 {
				return 1.3
			}
			return 1
		}
		r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
		if r.Degraded {
			degraded++
		}
		if r.Discarded == 0 {
			t.Error("no block was thrown away")
		}
		if f := fit(r); len(f.Segments) != 2 || f.Segments[1].Low > 1050 || f.Segments[1].High < 950 {
			t.Errorf("segments are %+v: the case must not be left empty", f.Segments)
		}
	}
	if degraded < 2 {
		t.Errorf("%d cases of 5 are degraded", degraded)
	}
}

func TestThrottledMachine(t *testing.T) {
	t.Run("for a while", func(t *testing.T) {
		m := newMachine()
		o := m.options(60 * time.Second)
		o.Throttled = func() (string, bool) { return "serious", m.now > 0.02 && m.now < 8 }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 65536, quickStarter(), slowStarter()))[0]
		if r.Degraded || m.slept < 7 {
			t.Errorf("degraded %v after %v s of waiting: the machine was hot for 8 s", r.Degraded, m.slept)
		}
	})
	t.Run("for good", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Throttled = func() (string, bool) { return "serious", true }
		cases := []kernels.Case{
			m.newCase("a/x=1", 64, 65536, quickStarter(), slowStarter()),
			m.newCase("b/x=1", 64, 65536, quickStarter(), slowStarter()),
		}
		for _, r := range m.sweep(t, o, cases...) {
			if !r.Degraded || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "serious") {
				t.Errorf("degraded %v, warnings %q; want one about the thermal state", r.Degraded, r.Warnings)
			}
			if f := fit(r); len(f.Segments) != 2 {
				t.Errorf("segments are %+v: the case must not be left empty", f.Segments)
			}
		}
		if m.slept > 5.1 {
			t.Errorf("the sweep waited %v s of 20", m.slept)
		}
	})
	t.Run("and again later", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Planner = script{{64, 5}, {128, 5}, {256, 5}}.planner
		// Hot until the sweep gives up after ten waits of half a second; cool; then hot for two of them.
		asked := 0
		o.Throttled = func() (string, bool) { asked++; return "serious", asked <= 11 || asked == 13 || asked == 14 }
		m.sweep(t, o, m.newCase("op/x=1", 64, 256, quickStarter()))
		if math.Abs(m.slept-6) > 0.01 {
			t.Errorf("the sweep waited %v s, want 6: a machine that was cool is worth waiting for again", m.slept)
		}
	})
	t.Run("until the sweep is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := m.options(10 * time.Minute)
		o.Throttled = func() (string, bool) { cancel(); return "serious", true }
		_, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, o)
		if !errors.Is(err, context.Canceled) || m.slept > 5 {
			t.Errorf("error %v after %v s of waiting", err, m.slept)
		}
	})
}

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

// It fails in the middle of a visit, after blocks were taken: those have to go too.
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
	// Below that the sweep goes on to narrow the interval.
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
			// One nanosecond for 8 MiB; the smaller sizes are still plausible.
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

func TestInclude(t *testing.T) {
	m := newMachine()
	o := m.options(10 * time.Second)
	o.Include = func(name string) bool { return name != "parallel" }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 4096, quickStarter(), slowStarter(), implementation{name: "gpu", cost: linear(1e-5, 0)}))[0]
	if !slices.Equal(r.Samples.Implementations, []string{"go", "gpu"}) || len(r.Implementations) != 2 || m.binds["parallel"] > 0 {
		t.Errorf("samples are of %v, implementations %+v", r.Samples.Implementations, r.Implementations)
	}
}

func TestAVerySlowImplementation(t *testing.T) {
	m := newMachine()
	slow := implementation{name: "naive", cost: func(n float64) float64 { return 1e-6 + 1e-9*n*n }}
	r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 4<<20, quickStarter(), slowStarter(), slow))[0]
	if _, high := timed(r, "naive"); high < 1000 || high > 100000 {
		t.Errorf("the slow one was timed up to %d", high)
	}
	if _, high := timed(r, "go"); high != 4<<20 {
		t.Errorf("the others were timed up to %d", high)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "naive was not timed above") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if s := status(t, r, "naive"); s.Excluded != "" {
		t.Errorf("status is %+v", s)
	}
	if m.now > 24 {
		t.Errorf("the sweep took %v s of 20", m.now)
	}
}

func TestSizesThatCostTooMuch(t *testing.T) {
	m := newMachine()
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 1<<30,
		implementation{name: "go", cost: linear(1e-6, 1e-7)}, implementation{name: "parallel", cost: linear(1e-5, 0.5e-7)}))[0]
	_, high := timed(r, "go")
	if high < 1<<18 || high > 1<<22 {
		t.Errorf("sizes up to %d were measured", high)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], fmt.Sprintf("stopped at %d samples", high)) ||
		!strings.Contains(r.Warnings[0], "--budget") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if f := fit(r); len(f.Segments) != 2 {
		t.Errorf("segments are %+v", f.Segments)
	}
}

// The budget may be overrun by the visit that is under way, and that was predicted to cost a fifth of it at most.
func TestBudget(t *testing.T) {
	for name, cost := range map[string]func(float64) float64{
		"linear":    linear(1e-6, 1e-8),
		"quadratic": func(n float64) float64 { return 1e-6 + 1e-11*n*n },
		"cubic":     func(n float64) float64 { return 1e-5 + 1e-12*n*n*n },
		"a step":    func(n float64) float64 { return 1e-8 * n * (1 + 9*math.Round(min(n/20000, 1))) },
		"constant":  linear(5e-3, 0),
	} {
		for _, budget := range []time.Duration{500 * time.Millisecond, 5 * time.Second, 50 * time.Second} {
			for _, mode := range []sweeps.Mode{sweeps.Latency, sweeps.Throughput} {
				m := newMachine()
				o := m.options(budget)
				o.Mode = mode
				r := m.sweep(t, o, m.newCase("op/x=1", 16, 1<<24,
					implementation{name: "go", cost: cost},
					implementation{name: "parallel", cost: func(n float64) float64 { return 1e-5 + 0.5*cost(n) }}))[0]
				if over := m.now - budget.Seconds(); over > budget.Seconds()/5 {
					t.Errorf("%s, %v, %s: the sweep took %.3g s", name, budget, mode, m.now)
				}
				if len(r.Samples.Blocks) == 0 {
					t.Errorf("%s, %v, %s: no block was measured", name, budget, mode)
				}
			}
		}
	}
}

func TestCancel(t *testing.T) {
	for _, after := range []int{1, 2, 50, 10_000, 20_000} {
		t.Run(fmt.Sprintf("in call %d", after), func(t *testing.T) {
			m := newMachine()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			calls, later := 0, 0
			one := quickStarter()
			one.run = func(int) error {
				if calls++; calls == after {
					cancel()
				}
				if calls > after {
					later++
				}
				return nil
			}
			cases := []kernels.Case{
				m.newCase("a/x=1", 64, 65536, one, slowStarter()),
				m.newCase("b/x=1", 64, 65536, quickStarter(), slowStarter()),
			}
			saved := map[string]int{}
			o := m.options(60 * time.Second)
			o.Save = func(r *sweeps.Result) error {
				saved[r.Case.Name] = len(r.Samples.Blocks)
				return nil
			}
			results, err := sweeps.Run(ctx, cases, o)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want that of the context", err)
			}
			m.check(t, cases, results)
			total := 0
			for _, r := range results {
				if n := len(r.Samples.Blocks); saved[r.Case.Name] != n {
					t.Errorf("%s: %d blocks were saved, %d came back", r.Case.Name, saved[r.Case.Name], n)
				}
				total += len(r.Samples.Blocks)
			}
			if after >= 10_000 && total == 0 {
				t.Error("no block came back")
			}
			// What is left of a warm-up, calls of 5 ms, and of a block.
			if later > 5000 {
				t.Errorf("it was called %d times after the sweep was cancelled", later)
			}
		})
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	m := newMachine()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	results, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, m.options(time.Second))
	if !errors.Is(err, context.Canceled) || len(results) != 1 || len(m.log) > 0 {
		t.Errorf("error %v, %d results, %d calls", err, len(results), len(m.log))
	}
}

func TestSave(t *testing.T) {
	m := newMachine()
	o := m.options(30 * time.Second)
	blocks, times := map[string]int{}, 0
	o.Save = func(r *sweeps.Result) error {
		if n := len(r.Samples.Blocks); n <= blocks[r.Case.Name] {
			t.Errorf("%s was saved with %d blocks after %d", r.Case.Name, n, blocks[r.Case.Name])
		}
		blocks[r.Case.Name] = len(r.Samples.Blocks)
		times++
		return nil
	}
	results := m.sweep(t, o,
		m.newCase("a/x=1", 64, 65536, implementation{name: "go", cost: linear(2e-3, 1e-6)}, implementation{name: "gpu", cost: linear(1e-2, 1e-7)}),
		m.newCase("none/x=1", 64, 65536))
	if blocks["a/x=1"] != len(results[0].Samples.Blocks) {
		t.Errorf("%d blocks were saved of %d", blocks["a/x=1"], len(results[0].Samples.Blocks))
	}
	if _, saved := blocks["none/x=1"]; saved {
		t.Error("a case without a block was saved")
	}
	if want := m.now / 3 / 3; float64(times) < want {
		t.Errorf("it was saved %d times in %v s, want every few seconds", times, m.now)
	}
}

func TestSaveError(t *testing.T) {
	full := errors.New("disk full")
	newSweep := func(m *machine, stop func()) ([]kernels.Case, sweeps.Options) {
		one := quickStarter()
		calls := 0
		one.run = func(int) error {
			if calls++; calls == 10_000 {
				stop()
			}
			return nil
		}
		o := m.options(60 * time.Second)
		o.Save = func(r *sweeps.Result) error {
			if r.Case.Name == "a/x=1" {
				return full
			}
			return nil
		}
		return []kernels.Case{m.newCase("a/x=1", 64, 65536, one, slowStarter())}, o
	}
	t.Run("at the end", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		results, err := sweeps.Run(context.Background(), cases, o)
		if !errors.Is(err, full) || len(results) != 1 || len(results[0].Samples.Blocks) == 0 {
			t.Errorf("error %v", err)
		}
	})
	t.Run("does not keep other cases from being saved", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		cases = append(cases, m.newCase("b/x=1", 64, 256, quickStarter()))
		save, saved := o.Save, false
		o.Save = func(r *sweeps.Result) error {
			saved = saved || r.Case.Name == "b/x=1"
			return save(r)
		}
		if _, err := sweeps.Run(context.Background(), cases, o); !errors.Is(err, full) || !saved {
			t.Errorf("error %v, the other case saved %v", err, saved)
		}
	})
	t.Run("while it is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cases, o := newSweep(m, cancel)
		_, err := sweeps.Run(ctx, cases, o)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, full) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line that tells both", err)
		}
	})
	t.Run("ends the sweep", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		slow := func(n float64) float64 { return 0.02 }
		cases[0] = m.newCase("a/x=1", 64, 65536, implementation{name: "go", cost: slow}, implementation{name: "gpu", cost: slow})
		if _, err := sweeps.Run(context.Background(), cases, o); !errors.Is(err, full) || m.now > 6 {
			t.Errorf("error %v after %v s, want it after the first save", err, m.now)
		}
	})
}

func TestSameSeedSameSamples(t *testing.T) {
	measure := func(seed uint64) *sweeps.Result {
		m := newMachine()
		m.noise = spikes
		o := m.options(5 * time.Second)
		o.Seed = seed
		return m.sweep(t, o, m.newCase("op/x=1", 64, 65536, quickStarter(), slowStarter()))[0]
	}
	first := measure(1)
	if diff := cmp.Diff(first.Samples, measure(1).Samples, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the same seed and costs give other samples:\n%s", diff)
	}
	if cmp.Equal(first.Samples, measure(2).Samples, cmpopts.EquateNaNs()) {
		t.Error("another seed gives the same samples")
	}
}

// blockOrders measures one size of three implementations and returns the order of the implementations in each block, the twin's call
// among them.
func blockOrders(t *testing.T, seed uint64, blocks int) ([][]string, *sweeps.Result) {
	t.Helper()
	m := newMachine()
	m.noise = bell(0)
	o := m.options(10 * time.Minute)
	o.Seed = seed
	o.Planner = script{{64, blocks}}.planner
	// Calls of 3 ms are timed one by one and have no untimed call before them.
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "a", cost: linear(3e-3, 0)}, implementation{name: "b", cost: linear(3e-3, 0)}, implementation{name: "c", cost: linear(3e-3, 0)}))[0]
	if len(r.Samples.Blocks) != blocks {
		t.Fatalf("there are %d blocks, want %d", len(r.Samples.Blocks), blocks)
	}
	var orders [][]string
	for calls := m.log[len(m.log)-4*blocks:]; len(calls) > 0; calls = calls[4:] {
		orders = append(orders, calls[:4])
	}
	return orders, r
}

func TestOrderInsideABlockIsRandom(t *testing.T) {
	const blocks = 600
	orders, r := blockOrders(t, 1, blocks)
	twin := r.Samples.Implementations[r.Samples.Blocks[0].Twin]
	count := map[string][4]int{}
	for n, order := range orders {
		sorted := slices.Sorted(slices.Values(order))
		if want := slices.Sorted(slices.Values([]string{"a", "b", "c", twin})); !slices.Equal(sorted, want) {
			t.Fatalf("block %d calls %v, want each of %v once", n, order, want)
		}
		for position, name := range order {
			c := count[name]
			c[position]++
			count[name] = c
		}
	}
	for name, positions := range count {
		calls := blocks
		if name == twin {
			calls *= 2
		}
		for position, got := range positions {
			// 150 are expected, 300 of the twin; five standard deviations are 53 and 75.
			want := float64(calls) / 4
			if math.Abs(float64(got)-want) > 5*math.Sqrt(want*0.75) {
				t.Errorf("%s comes at position %d in %d of %d calls, want about %v", name, position, got, calls, want)
			}
		}
	}
	again, _ := blockOrders(t, 1, blocks)
	if !cmp.Equal(orders, again) {
		t.Error("the same seed gives another order")
	}
	if other, _ := blockOrders(t, 2, blocks); cmp.Equal(orders, other) {
		t.Error("another seed gives the same order")
	}
}

func TestTwin(t *testing.T) {
	m := newMachine()
	o := m.options(60 * time.Second)
	var visits script
	for range 40 {
		visits = append(visits, visit{64, 5})
	}
	o.Planner = visits.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "a", cost: linear(1e-5, 0)},
		implementation{name: "b", cost: linear(2e-5, 0)},
		implementation{name: "hopeless", cost: linear(6e-5, 0)}))[0]
	count := map[int]int{}
	byVisit := map[int]int{}
	for _, b := range r.Samples.Blocks {
		if b.Twin < 0 || b.Twin > 1 || math.Abs(b.TwinSeconds/b.Seconds[b.Twin]-1) > 0.1 {
			t.Fatalf("the twin of a block is %d with a time of %v beside %v", b.Twin, b.TwinSeconds, b.Seconds)
		}
		if other, seen := byVisit[b.Visit]; seen && other != b.Twin {
			t.Errorf("visit %d has the twins %d and %d", b.Visit, other, b.Twin)
		}
		byVisit[b.Visit] = b.Twin
	}
	for _, twin := range byVisit {
		count[twin]++
	}
	if len(byVisit) != 40 || count[0] < 8 || count[1] < 8 {
		t.Errorf("the twins of %d visits are %v, want about as many of each", len(byVisit), count)
	}
	if binds := m.binds["a"] + m.binds["b"]; binds != 3*40 || m.binds["hopeless"] != 40 {
		t.Errorf("binds are %v: the twin needs buffers of its own", m.binds)
	}
}

// Where the second set of buffers does not fit, the visit goes without a twin.
func TestATwinThatCannotBeBound(t *testing.T) {
	m := newMachine()
	one := quickStarter()
	one.bind = func(int) error {
		if m.open > 0 {
			return errors.New("out of device memory")
		}
		return nil
	}
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, one))[0]
	if len(r.Samples.Blocks) == 0 || len(r.Warnings) > 0 {
		t.Fatalf("%d blocks, warnings %q", len(r.Samples.Blocks), r.Warnings)
	}
	for _, b := range r.Samples.Blocks {
		if b.Twin != -1 {
			t.Fatalf("a block has the twin %d", b.Twin)
		}
	}
}

func TestBatches(t *testing.T) {
	for name, c := range map[string]struct {
		tick       float64 // seconds
		cost       float64
		mode       sweeps.Mode
		iterations int // at least
		untimed    int // calls before each batch
		blocks     int
	}{
		"short calls":                    {1e-9, 1e-6, sweeps.Latency, 200, 500, 300},
		"a call as long as a batch":      {1e-9, 2e-4, sweeps.Latency, 1, 2, 300},
		"a call longer than the wait":    {1e-9, 1e-3, sweeps.Latency, 1, 1, 300},
		"long calls":                     {1e-9, 5e-3, sweeps.Latency, 1, 0, 300},
		"a coarse clock":                 {1e-6, 1e-5, sweeps.Latency, 95, 50, 300},
		"a clock coarser than the calls": {42e-9, 1e-8, sweeps.Latency, 19900, 50000, 1},
		"short calls in a row":           {1e-9, 1e-6, sweeps.Throughput, 200, 500, 300},
		"long calls in a row":            {1e-9, 5e-3, sweeps.Throughput, 8, 0, 300},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.tick, m.noise = c.tick, bell(0)
			o := m.options(10 * time.Minute)
			o.Mode = c.mode
			o.Planner = script{{64, c.blocks}}.planner
			r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(c.cost, 0)}))[0]
			for _, b := range r.Samples.Blocks {
				n := b.Iterations[0]
				if n < c.iterations || float64(n)*c.cost < 0.9*max(200e-6, 1000*c.tick) || float64(n)*c.cost > 1.3*max(200e-6, 1000*c.tick, float64(c.iterations)*c.cost) {
					t.Fatalf("a batch has %d calls", n)
				}
				if math.Abs(b.Seconds[0]/c.cost-1) > 0.01 {
					t.Fatalf("a call takes %v s, want %v", b.Seconds[0], c.cost)
				}
			}
			last := r.Samples.Blocks[len(r.Samples.Blocks)-1]
			// A block is the batch and its twin, with untimed calls before each. How many is worked out from the warm-up's
			// time, in which the clock's tick is.
			perBlock := 2 * (last.Iterations[0] + c.untimed)
			least := perBlock*len(r.Samples.Blocks) - c.untimed*len(r.Samples.Blocks)/20
			if calls := len(m.log); calls < least || calls > perBlock*len(r.Samples.Blocks)+32*last.Iterations[0]+40 {
				t.Errorf("%d calls were made for %d blocks of %d", calls, len(r.Samples.Blocks), perBlock)
			}
		})
	}
}

// Threads that have gone to sleep while others computed join late. None of that may get into a block.
func TestSleepingThreads(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	const asleepAfter, awakeAfter = 20e-6, 400e-6
	var last, awake float64
	parallel := func(float64) float64 {
		if m.now-last > asleepAfter {
			awake = m.now + awakeAfter
		}
		cost := 1e-5
		if m.now < awake {
			cost = 2e-5
		}
		last = m.now + cost
		return cost
	}
	o := m.options(time.Minute)
	o.Planner = script{{64, 20}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64,
		implementation{name: "serial", cost: linear(1.5e-5, 0)}, implementation{name: "parallel", cost: parallel}))[0]
	for _, b := range r.Samples.Blocks {
		if math.Abs(b.Seconds[1]/1e-5-1) > 0.01 {
			t.Fatalf("a call of many takes %v s, want 1e-05", b.Seconds[1])
		}
	}
}

// Caches and clocks warm up: calls are slow at first, and none of that may get into a block.
func TestWarmUp(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	calls := 0
	cold := func(float64) float64 {
		calls++
		return 1e-5 * (1 + 3*math.Exp(-float64(calls)/30))
	}
	o := m.options(time.Minute)
	o.Planner = script{{64, 20}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: cold}))[0]
	for _, b := range r.Samples.Blocks {
		// A batch that is two percent faster than the one before is not warm yet: that leaves some percent.
		if b.Seconds[0] > 1.1e-5 {
			t.Errorf("a block has a call of %v s, cold it is 4e-5 and warm 1e-5", b.Seconds[0])
		}
	}
}

// Nothing is known of the first size before it is visited. Once its cost is known the visit shrinks to what a visit may
// cost, and once the budget is spent to two blocks.
func TestADearFirstVisit(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		want   int
	}{{10 * time.Minute, 20}, {24 * time.Second, 3}, {time.Second, 2}} {
		m := newMachine()
		m.noise = bell(0)
		o := m.options(c.budget)
		o.Planner = script{{64, 20}}.planner
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(1, 0)}))[0]
		if n := len(r.Samples.Blocks); n != c.want {
			t.Errorf("a budget of %v buys %d blocks of calls of a second, want %d", c.budget, n, c.want)
		}
	}
}

func TestCollectionsInsideABlock(t *testing.T) {
	for name, c := range map[string]struct {
		every    int // calls
		degraded bool
	}{
		"now and then":   {17, false},
		"in every block": {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			calls := 0
			o := m.options(time.Minute)
			o.Planner = script{{64, 10}}.planner
			r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(1e-2, 0), run: func(int) error {
				if calls++; calls%c.every == 0 {
					runtime.GC()
				}
				return nil
			}}))[0]
			if r.Degraded != c.degraded || r.Discarded == 0 || len(r.Samples.Blocks) != 10 {
				t.Errorf("degraded %v with %d blocks thrown away and %d kept", r.Degraded, r.Discarded, len(r.Samples.Blocks))
			}
		})
	}
}

func TestPlannerThatIgnoresTheLimit(t *testing.T) {
	m := newMachine()
	o := m.options(2 * time.Second)
	o.Planner = func(*kernels.Case) sweeps.Planner { return stubborn{} }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 1<<40, implementation{name: "go", cost: linear(1e-6, 1e-6)}))[0]
	if len(r.Samples.Sizes()) < 3 {
		t.Errorf("sizes are %v", r.Samples.Sizes())
	}
}

// stubborn always wants four times the greatest size.
type stubborn struct{}

func (stubborn) Visited(int) {}
func (stubborn) Limit(int)   {}
func (stubborn) Next(set *timings.Set) (size, blocks int, worth float64) {
	size = 64
	if sizes := set.Sizes(); len(sizes) > 0 {
		size = 4 * sizes[len(sizes)-1]
	}
	return size, 5, 1
}

// What is left of a budget when the size that is wanted most costs more than that does for smaller ones.
func TestTheRestOfABudget(t *testing.T) {
	m := newMachine()
	o := m.options(20 * time.Second)
	o.VisitShare = 1
	planner := &greedy{high: 4096}
	o.Planner = func(*kernels.Case) sweeps.Planner { return planner }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 4096, implementation{name: "go", cost: linear(0, 1e-4)}))[0]
	dear, cheap := len(r.Samples.At(4096)), len(r.Samples.At(64))
	if dear == 0 || cheap < 50 {
		t.Errorf("%d blocks of the dear size and %d of the cheap one, want 50 of that: %.3g of 20 s are spent", dear, cheap, m.now)
	}
}

// greedy always wants the dearest size that it may have, once it knows what the least one takes, and that one otherwise.
type greedy struct{ visits, high int }

func (g *greedy) Visited(int)    { g.visits++ }
func (g *greedy) Limit(high int) { g.high = min(g.high, high) }
func (g *greedy) Next(*timings.Set) (size, blocks int, worth float64) {
	if g.visits == 0 || g.high < 4096 {
		return 64, 10, 1
	}
	return 4096, 10, 1
}

func TestSystemClock(t *testing.T) {
	c := sweeps.SystemClock()
	if r := c.Resolution(); r <= 0 || r > 100*time.Millisecond {
		t.Errorf("resolution is %v", r)
	}
	before := c.Now()
	c.Sleep(time.Millisecond)
	if after := c.Now(); after-before < time.Millisecond {
		t.Errorf("a sleep of a millisecond took %v", after-before)
	}
}

// The default sentinel is real work: 40 000 multiply-adds that wait for each other take some 80 µs on a fast processor,
// and a compiler that saw through the chain would leave a tenth of that.
func TestSpinWork(t *testing.T) {
	c := sweeps.SystemClock()
	least := time.Hour
	for range 20 {
		before := c.Now()
		sweeps.SpinWork()
		least = min(least, c.Now()-before)
	}
	if least < 30*time.Microsecond {
		t.Errorf("the sentinel takes %v: its work was left out", least)
	}
}

// A busy program that was there from the start moves no sentinel. The processor time that it takes tells.
func TestOthersCompute(t *testing.T) {
	for _, c := range []struct {
		share    float64 // of a processor
		degraded bool
	}{{0, false}, {0.05, false}, {0.9, true}, {math.NaN(), false}} {
		m := newMachine()
		o := m.options(5 * time.Second)
		o.Others = func() float64 { return c.share * m.now }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 65536, quickStarter(), slowStarter()))[0]
		if r.Degraded != c.degraded {
			t.Errorf("beside programs that take %v of a processor: degraded %v, warnings %q", c.share, r.Degraded, r.Warnings)
		}
		if c.degraded && !strings.Contains(r.Warnings[0], "other programs took 90 %") {
			t.Errorf("warnings %q", r.Warnings)
		}
	}
}

// What the sentinel saw is told with every save, and in the end, also where the sweep was cancelled.
func TestObserve(t *testing.T) {
	const handOver = 48e-9
	together := func(m *machine) *sweeps.Together {
		return &sweeps.Together{
			Processors: 2,
			One:        func() { m.spend(104e-6) },
			All:        func() { m.spend(203e-6) },
			HandOver:   func() { m.spend(sweeps.HandOvers * handOver) },
		}
	}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.01 }
	t.Run("in the end", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Together = together(m)
		o.Planner = script{{64, 400}, {128, 400}, {256, 400}, {512, 400}, {1024, 400}, {2048, 400}, {4096, 400}}.planner
		var seen []sweeps.Observed
		saves := 0
		o.Observe = func(observed sweeps.Observed) { seen = append(seen, observed) }
		o.Save = func(*sweeps.Result) error {
			if saves++; len(seen) < saves {
				t.Errorf("save %d comes before what is saved with it", saves)
			}
			return nil
		}
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))
		if len(seen) < 2 || saves < 1 {
			t.Fatalf("told %d times, saved %d times", len(seen), saves)
		}
		last := seen[len(seen)-1]
		if last.Processors != 2 || last.Readings < 10 || last.Readings < seen[0].Readings {
			t.Errorf("%+v after %+v", last, seen[0])
		}
		for name, f := range map[string]sweeps.Figures{"baseline": last.Baseline, "kept": last.Kept} {
			if !near(f.OneProcessor, 100e-6) || !near(f.AllRatio, 203./104) || !near(f.HandOver, handOver) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	})
	t.Run("after a start over", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Together = together(m)
		o.Together.HandOver = func() {
			if m.now < 2 {
				m.spend(sweeps.HandOvers * 4 * handOver)
				return
			}
			m.spend(sweeps.HandOvers * handOver)
		}
		planners := 0
		o.Planner = func(c *kernels.Case) sweeps.Planner {
			if planners++; planners == 1 {
				return script{{64, 1500}}.planner(c) // most of it before
			}
			return script{{128, 20}}.planner(c)
		}
		var last sweeps.Observed
		o.Observe = func(observed sweeps.Observed) { last = observed }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
		if planners != 2 || r.Discarded == 0 || last.Readings > 10 || !near(last.Kept.HandOver, handOver) || !near(last.Baseline.HandOver, handOver) {
			t.Errorf("%d planners, %d blocks thrown away, %+v", planners, r.Discarded, last)
		}
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		o := m.options(time.Minute)
		o.Together = together(m)
		var last sweeps.Observed
		o.Observe = func(observed sweeps.Observed) { last = observed }
		if _, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, o); err == nil {
			t.Error("no error")
		}
		if last.Readings != 0 || last.Kept != (sweeps.Figures{}) || !near(last.Baseline.AllRatio, 203./104) {
			t.Errorf("%+v", last)
		}
	})
	t.Run("never where nobody knows whose work it is", func(t *testing.T) {
		m := newMachine()
		o := m.options(2 * time.Second)
		o.Observe = func(observed sweeps.Observed) { t.Errorf("told %+v", observed) }
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))
	})
}

// Processors are woken before calls that may spread over them, and before no others.
func TestWhoIsGathered(t *testing.T) {
	m := newMachine()
	o := m.options(2 * time.Second)
	o.Planner = script{{4096, 10}}.planner
	woken, before := map[string]int{}, map[string]int{}
	o.Together = &sweeps.Together{
		Processors: 2, One: func() { m.spend(100e-6) }, HandOver: func() { m.spend(10e-6) },
		All: func() { m.log = append(m.log, "all"); m.spend(100e-6) },
	}
	cost := linear(50e-6, 0)
	implementations := []implementation{
		{name: "go", cost: cost}, {name: "go-parallel", cost: cost}, {name: "go-parallel/direct", cost: cost},
		{name: "accelerate", cost: cost}, {name: "cuda-parallel", cost: cost, gpu: &gpuScript{kernels: 1}},
	}
	m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, implementations...))
	for k, name := range m.log[1:] {
		if name == "all" || name == m.log[k] {
			continue
		}
		before[name]++ // a batch of somebody's
		if m.log[k] == "all" {
			woken[name]++
		}
	}
	for name, want := range map[string]bool{
		"go": false, "go-parallel": true, "go-parallel/direct": true, "accelerate": true, "cuda-parallel": false,
	} {
		share := float64(woken[name]) / float64(before[name])
		if want && share < 0.5 || !want && share > 0.4 || before[name] == 0 {
			t.Errorf("%s: woken before %d of %d batches", name, woken[name], before[name])
		}
	}
}
