package sweeps

import (
	"math"
	"strings"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// One waking ends whatever times the GPU reports: after wakeLimit, or after wakeCalls if no time passes.
func TestAClockThatRisesForEver(t *testing.T) {
	for took, c := range map[time.Duration]struct {
		part time.Duration // divisor of a time by which the next one is less
		want int
	}{
		100 * time.Microsecond: {1000, int(wakeLimit / (100 * time.Microsecond))}, 30 * time.Millisecond: {20, 9}, 0: {1000, wakeCalls},
	} {
		clock, calls, span := &hands{}, 0, time.Hour
		a := &callable{call: kernels.Call{GPU: &kernels.GPUCall{Time: func() (gpu.Times, error) {
			calls++
			clock.now += took
			span -= span / c.part
			return gpu.Times{Span: span}, nil
		}}}}
		s := &sweep{Options: Options{Clock: clock, State: Warm}}
		if err := s.rise(a, false); err != nil || calls != c.want {
			t.Errorf("calls of %v: %d of them, %v; want %d", took, calls, err, c.want)
		}
	}
}

// A clock may stand still for a while before it rises in one step.
func TestAClockThatRisesInAStep(t *testing.T) {
	clock := &hands{}
	call := func() (gpu.Times, error) {
		span := 300 * time.Microsecond
		if clock.now > 40*time.Millisecond {
			span /= 3
		}
		clock.now += span
		return gpu.Times{Span: span}, nil
	}
	run := func() error { _, err := call(); return err }
	a := &callable{implementation: &implementation{}, call: kernels.Call{Run: run, GPU: &kernels.GPUCall{Time: call}}}
	s := &sweep{Options: Options{Clock: clock, State: Warm, Mode: Latency, Budget: time.Minute}}
	if err := s.rouse(a, minBatch.Seconds(), 0, 1); err != nil || a.level.span != 100e-6 || math.Abs(a.seconds-100e-6) > 1e-9 || !s.waking.falls() {
		t.Errorf("a call takes the GPU %v s, and in all %v s, falls %t, %v; want 100 µs", a.level.span, a.seconds, s.waking.falls(), err)
	}
}

// The time of raising a clock is no cost of the size, and does not grow with it.
func TestWakingIsNoOverhead(t *testing.T) {
	clock := &hands{}
	began := time.Duration(0)
	run := func() (gpu.Times, error) {
		span := 100 * time.Microsecond
		if clock.now < began+200*time.Millisecond { // the clock takes so long to rise
			span *= time.Duration(3e9 - 10*int64(clock.now-began))
			span /= 1e9
		}
		clock.now += span
		return gpu.Times{Span: span}, nil
	}
	c := kernels.Case{
		Name: "op", Tolerance: func(int) float64 { return 1 }, Bytes: func(int) float64 { return 1 },
		Implementations: []kernels.Implementation{{Name: "metal", Processor: kernels.GPU}},
		Problem:         func(int, kernels.Input) kernels.Problem { return &timedProblem{run} },
	}
	s := &sweep{sentinel: sentinel{clock: clock}, caller: newCaller()}
	defer s.caller.close()
	s.Options = Options{Clock: clock, State: Warm, Mode: Latency, Budget: 10 * time.Second, VisitShare: 1, Virtual: true}
	s.Planner = func(*kernels.Case) Planner { return &counted{} }
	s.visitCap = 10
	e := newEntry(&c, &s.Options)
	s.visit(t.Context(), e, 64, 5)
	if took := s.waking.took; took < 100*time.Millisecond || took > 300*time.Millisecond || e.result.Waking != took {
		t.Fatalf("raising the clock took %v (%v), want some 200 ms", took, e.result.Waking)
	}
	if overhead := e.costs.overhead[0]; overhead > 0.05 {
		t.Errorf("the size costs %.3f s beside its calls", overhead)
	}
}

type timedProblem struct{ run func() (gpu.Times, error) }

func (p *timedProblem) Reference() []float64 { return []float64{1} }

func (p *timedProblem) Bind(string) (kernels.Call, error) {
	return kernels.Call{
		Run:    func() error { _, err := p.run(); return err },
		Output: func() []float32 { return []float32{1} },
		GPU:    &kernels.GPUCall{Time: p.run},
	}, nil
}

// The call before a batch is like those of the batch, however long it is. The call that the GPU times is not: it moves its
// data in another way.
func TestTheCallBeforeABatchIsLikeItsCalls(t *testing.T) {
	for _, took := range []time.Duration{10 * time.Microsecond, 400 * time.Microsecond, time.Millisecond} {
		clock, made := &hands{}, ""
		call := kernels.Call{
			Run: func() error { made += "R"; clock.now += took; return nil },
			GPU: &kernels.GPUCall{Time: func() (gpu.Times, error) {
				made += "T"
				clock.now += took
				return gpu.Times{Span: took}, nil
			}},
		}
		c := &callable{
			implementation: &implementation{Implementation: kernels.Implementation{Processor: kernels.GPU}},
			call:           call, seconds: took.Seconds(), level: level{took.Seconds(), 1},
		}
		s := &sweep{Options: Options{Clock: clock, State: Warm, Mode: Latency, Budget: time.Minute}}
		if err := s.settle(c); err != nil || !strings.HasPrefix(made, "T") || !strings.HasSuffix(made, "R") {
			t.Errorf("calls of %v: made %s, %v; want one that the GPU times, and then others", took, made, err)
		}
	}
}
