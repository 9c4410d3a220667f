package sweeps_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
)

func TestSweepFindsTheCrossover(t *testing.T) {
	type want struct {
		name string
		from float64 // the true size
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
			// The drift is three percent in either direction within ten seconds, less than the sentinel's tolerance.
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
	var last sweeps.Progress
	o := m.options(60 * time.Second)
	o.Progress = func(p sweeps.Progress) {
		if p.Visit > 0 && !slices.Contains(seen, p.Case) {
			seen = append(seen, p.Case)
		}
		if p.Budget != o.Budget || (p.At == "") != (p.Visit == 0) || p.Elapsed < last.Elapsed || p.Elapsed > p.Budget+o.Budget/10 ||
			p.Visit < last.Visit || p.Visit > last.Visit+1 || p.Takes < 0 {
			t.Errorf("progress is %+v after %+v", p, last)
		}
		last = p
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

func TestInclude(t *testing.T) {
	m := newMachine()
	o := m.options(10 * time.Second)
	o.Include = func(name string) bool { return name != "parallel" }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 4096, quickStarter(), slowStarter(), implementation{name: "gpu", cost: linear(1e-5, 0)}))[0]
	if !slices.Equal(r.Samples.Implementations, []string{"go", "gpu"}) || len(r.Implementations) != 2 || m.binds["parallel"] > 0 {
		t.Errorf("samples are of %v, implementations %+v", r.Samples.Implementations, r.Implementations)
	}
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

// The default sentinel does real work: 40 000 multiply-adds that wait for each other take some 80 µs on a fast processor. If
// a compiler saw through the chain, it would take a tenth of that.
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
