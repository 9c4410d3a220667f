package sweeps_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
)

// gpuScript describes a scripted GPU, in addition to the cost of a call, which is the time that the device computes. The GPU
// takes work in order and runs one call at a time. Times are in seconds.
type gpuScript struct {
	encode  float64 // time in which the host hands a call over
	wake    float64 // time from the end of the device's work to the return of Wait
	kernels int     // number in a call
	gap     float64 // time between two of them
	bus     float64 // number of bytes that a call moves
	free    float64 // when the device has finished all of its work
	flying  int     // number of calls under way
	most    int     // greatest value of flying
}

func (e implementation) processor() kernels.Processor {
	if e.gpu != nil {
		return kernels.GPU
	}
	return kernels.CPU
}

// run gives a call the device: what the call did becomes what it does once the device has come to it.
func (g *gpuScript) run(m *machine, call *kernels.Call, size int, cost func(float64) float64) {
	compute := call.Run
	g.kernels = max(g.kernels, 1)
	done := 0.0
	submit := func() error {
		if done > 0 {
			return errors.New("the call is in flight")
		}
		m.spend(g.encode)
		before := m.now
		if err := compute(); err != nil {
			return err
		}
		busy := m.now - before + float64(g.kernels-1)*g.gap
		m.now = before
		g.free = max(g.free, m.now) + busy
		done = g.free
		g.flying++
		g.most = max(g.most, g.flying)
		return nil
	}
	wait := func() error {
		if done == 0 {
			return errors.New("nothing is in flight")
		}
		m.now = max(m.now, done) + g.wake
		done = 0
		g.flying--
		return nil
	}
	call.Run = func() error {
		if err := submit(); err != nil {
			return err
		}
		return wait()
	}
	call.GPU = &kernels.GPUCall{
		Submit: submit, Wait: wait, BusBytes: g.bus,
		Time: func() (gpu.Times, error) {
			if err := submit(); err != nil {
				return gpu.Times{}, err
			}
			busy := seconds(cost(float64(size)))
			gaps := seconds(float64(g.kernels-1) * g.gap)
			return gpu.Times{Encode: seconds(g.encode), Busy: busy, Span: busy + gaps, Gaps: gaps, Kernel: g.kernels}, wait()
		},
	}
	release := call.Close
	call.Close = func() {
		if done > 0 {
			_ = wait()
		}
		release()
	}
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// card is a GPU implementation that is faster than quickStarter from about 1500 on.
func card(name string) implementation {
	return implementation{name: name, cost: linear(2e-6, 1e-9), gpu: &gpuScript{encode: 4e-6, wake: 8e-6}}
}

// quietly sweeps implementations without noise at one size.
func quietly(t *testing.T, change func(*sweeps.Options), size int, implementations ...implementation) (*machine, *sweeps.Result) {
	t.Helper()
	m := newMachine()
	m.noise = bell(0)
	o := m.options(10 * time.Minute)
	o.Planner = script{{size, 5}}.planner
	change(&o)
	return m, m.sweep(t, o, m.newCase("op/x=1", 1, 1<<30, implementations...))[0]
}

// With enough calls in flight the device computes without a pause, once its work for them takes longer than the host's
// handing over and waking up. Filling and draining the batch come on top.
func TestCallsInFlight(t *testing.T) {
	for inFlight, want := range map[int]float64{
		1:  4e-6 + 10e-6 + 8e-6, // each is waited for
		2:  12e-6,               // the host's share of each call: it hands one over and waits for one
		8:  12e-6,
		64: 12e-6,
	} {
		e := implementation{name: "cuda", cost: linear(10e-6, 0), gpu: &gpuScript{encode: 4e-6, wake: 8e-6}}
		m, r := quietly(t, func(o *sweeps.Options) { o.Mode, o.InFlight = sweeps.Throughput, inFlight }, 64, e)
		if e.gpu.most != inFlight {
			t.Errorf("%d calls were in flight at once, want %d", e.gpu.most, inFlight)
		}
		if e.gpu.flying != 0 {
			t.Errorf("%d calls are still in flight", e.gpu.flying)
		}
		if n := m.binds["cuda"]; n != 2*inFlight {
			t.Errorf("with %d in flight it was bound %d times, want as often for the implementation and for its twin", inFlight, n)
		}
		for _, b := range r.Samples.Blocks {
			n := b.Iterations[0]
			if n < 4*inFlight || n < 8 {
				t.Errorf("a batch has %d calls with %d in flight", n, inFlight)
			}
			// Filling and draining takes one latency, 22 µs, at most.
			if got := b.Seconds[0]; got < want*0.999 || got > want+22e-6/float64(n) {
				t.Errorf("with %d in flight a call takes %v s in a batch of %d, want %v", inFlight, got, n, want)
			}
		}
	}
}

func TestInFlightByDefault(t *testing.T) {
	e := card("cuda")
	m, _ := quietly(t, func(o *sweeps.Options) { o.Mode = sweeps.Throughput }, 64, e, quickStarter())
	if e.gpu.most != sweeps.DefaultInFlight || m.binds["go"] > 2 {
		t.Errorf("%d calls of the GPU were in flight, the processor's implementation was bound %d times", e.gpu.most, m.binds["go"])
	}
	e = card("cuda")
	if quietly(t, func(*sweeps.Options) {}, 64, e); e.gpu.most != 1 {
		t.Errorf("in latency mode %d calls were in flight", e.gpu.most)
	}
}

// If there is too little memory, fewer calls are in flight, and implementations share the memory.
func TestMemoryForTheCallsInFlight(t *testing.T) {
	const room = 7
	one, other := card("cuda"), card("cufft")
	var m *machine
	full := func(int) error {
		if m.open >= room {
			return fmt.Errorf("256 MiB: %w", gpu.ErrOutOfMemory)
		}
		return nil
	}
	one.bind, other.bind = full, full
	m = newMachine()
	o := m.options(10 * time.Minute)
	o.Mode, o.InFlight = sweeps.Throughput, 64
	o.Planner = script{{64, 5}, {128, 5}, {32, 5}}.planner
	r := m.sweep(t, o, m.newCase("op/x=1", 1, 1024, one, other))[0]
	if one.gpu.most != 4 || other.gpu.most != 3 {
		t.Errorf("%d and %d calls were in flight at once, want 4 and 3", one.gpu.most, other.gpu.most)
	}
	want := []string{
		"cuda had 4 of 64 calls in flight at 64 samples, and no more above: 256 MiB: out of GPU memory",
		"cufft had 3 of 64 calls in flight at 64 samples, and no more above: 256 MiB: out of GPU memory",
		"cuda had 4 of 64 calls in flight at 32 samples",
		"cufft had 3 of 64 calls in flight at 32 samples",
	}
	slices.Sort(r.Warnings)
	slices.Sort(want)
	if len(r.Warnings) != len(want) {
		t.Fatalf("warnings are %q, want %q", r.Warnings, want)
	}
	for i := range want {
		if !strings.HasPrefix(r.Warnings[i], want[i]) {
			t.Errorf("warning %q, want %q", r.Warnings[i], want[i])
		}
	}
	for _, b := range r.Samples.Blocks {
		if !b.Timed(0) || !b.Timed(1) || b.Twin != -1 {
			t.Errorf("block %+v: both must be timed, and there is no memory for a twin", b)
		}
	}
}

func TestLargeCallsInFlight(t *testing.T) {
	e := card("cuda")
	_, r := quietly(t, func(o *sweeps.Options) { o.Mode, o.InFlight = sweeps.Throughput, 64 }, 1<<28, e)
	if e.gpu.most != 4 {
		t.Errorf("%d calls of 256 MiB were in flight at once, want 4", e.gpu.most)
	}
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "cuda had 4 of 64 calls in flight at 268435456 samples") {
		t.Errorf("warnings are %q", r.Warnings)
	}
}

func TestThroughputOfColdCalls(t *testing.T) {
	for _, state := range []sweeps.State{sweeps.Cold, sweeps.AfterIdle} {
		m := newMachine()
		o := m.options(time.Second)
		o.Mode, o.State = sweeps.Throughput, state
		if _, err := sweeps.Run(t.Context(), nil, o); err == nil {
			t.Errorf("a sweep of the throughput of %s calls ran", state)
		}
	}
}

// A block has how the time of a call was spent, in addition to the time itself.
func TestWhereTheTimeOfAGPUGoes(t *testing.T) {
	e := implementation{name: "cuda", cost: linear(10e-6, 1e-9), gpu: &gpuScript{encode: 4e-6, wake: 8e-6, kernels: 3, gap: 1e-6}}
	single := implementation{name: "cufft", cost: linear(20e-6, 0), gpu: &gpuScript{encode: 2e-6}}
	for _, mode := range []sweeps.Mode{sweeps.Latency, sweeps.Throughput} {
		_, r := quietly(t, func(o *sweeps.Options) { o.Mode = mode }, 1000, e, single, quickStarter())
		if len(r.Samples.Blocks) == 0 {
			t.Fatal("there is no block")
		}
		for _, b := range r.Samples.Blocks {
			if a, told := b.TimesOnGPU(0); !told || a.Busy != 11e-6 || a.Span != 13e-6 || a.Encode != 4e-6 || a.Gap != 1e-6 {
				t.Errorf("%s: the GPU's account is %+v", mode, a)
			}
			if a, told := b.TimesOnGPU(1); !told || a.Busy != 20e-6 || a.Gap != 0 {
				t.Errorf("%s: the other one's account is %+v", mode, a)
			}
			if a, told := b.TimesOnGPU(2); told {
				t.Errorf("%s: the processor's account is %+v", mode, a)
			}
			if mode == sweeps.Latency && math.Abs(b.Seconds[0]-25e-6) > 1e-9 {
				t.Errorf("a call takes %v s, want 25 µs: the account must not be part of it", b.Seconds[0])
			}
		}
	}
}

// A brief sweep makes no call for the sake of an account.
func TestBriefSweepsSpendNothingOnAccounts(t *testing.T) {
	e := implementation{name: "cuda", cost: linear(10e-6, 1e-9), gpu: &gpuScript{encode: 4e-6}}
	_, r := quietly(t, func(o *sweeps.Options) { o.Brief = true }, 1000, e, quickStarter())
	if len(r.Samples.Blocks) == 0 {
		t.Fatal("there is no block")
	}
	for _, b := range r.Samples.Blocks {
		if a, told := b.TimesOnGPU(0); told {
			t.Errorf("the GPU's account is %+v", a)
		}
	}
}

// A cold call is bound and run once, after everything that could help it was dropped.
func TestColdCalls(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	compiled := false
	e := card("cuda")
	e.bind = func(int) error {
		m.spend(1e-3) // buffers
		if !compiled {
			m.spend(0.3)
		}
		compiled = true
		return nil
	}
	cpu := quickStarter()
	cpu.bind = func(int) error { m.spend(5e-4); return nil }
	forgotten := 0
	o := m.options(10 * time.Minute)
	o.State = sweeps.Cold
	o.Planner = script{{1000, 4}}.planner // the GPU is hopelessly slow
	o.Forget = func() {
		forgotten++
		compiled = false
	}
	r := m.sweep(t, o, m.newCase("op/x=1", 1, 1<<20, e, cpu))[0]
	if n := len(r.Samples.Blocks); n != 4 {
		t.Fatalf("there are %d blocks, want 4", n)
	}
	for _, b := range r.Samples.Blocks {
		if want := 0.301 + 15e-6; math.Abs(b.Seconds[0]-want) > 5e-5 || b.Iterations[0] != 1 {
			t.Errorf("a cold call of the GPU takes %v s in a batch of %d, want %v in one of 1", b.Seconds[0], b.Iterations[0], want)
		}
		if want := 511e-6; math.Abs(b.Seconds[1]-want) > 1e-6 {
			t.Errorf("a cold call of the processor takes %v s, want %v", b.Seconds[1], want)
		}
		if a, told := b.TimesOnGPU(0); !told || a.Busy != 3e-6 {
			t.Errorf("the GPU's account is %+v", a)
		}
	}
	// There is one call to learn the cost, and one call for each implementation and block, with the twin.
	if twin := r.Samples.Blocks[0].Twin; twin != 1 {
		t.Fatalf("the twin is %d: a hopeless one must not be timed twice", twin)
	}
	if want := 2 + 3*4; forgotten != want {
		t.Errorf("it was forgotten %d times, want %d: before every cold call", forgotten, want)
	}
	// There is one more call for the check of its output.
	if m.binds["cuda"] != 1+1+4 || m.binds["go"] != 1+1+2*4 {
		t.Errorf("binds are %v", m.binds)
	}
}

// Every timed call comes after a pause, and so does the call that the device times.
func TestCallsAfterAPause(t *testing.T) {
	m := newMachine()
	m.noise = bell(0)
	// The processor needs 5 ms to wake up, which the sentinel notices, too.
	var last, woke float64
	m.speed = func(now float64) float64 {
		if now-last > 0.05 {
			woke = now
		}
		last = now
		if now-woke < 5e-3 {
			return 3
		}
		return 1
	}
	o := m.options(10 * time.Minute)
	o.State = sweeps.AfterIdle
	o.Planner = script{{64, 5}}.planner
	e := implementation{name: "cuda", cost: linear(10e-6, 0), gpu: &gpuScript{encode: 4e-6}}
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 64, implementation{name: "go", cost: linear(10e-6, 0)}, e))[0]
	if n := len(r.Samples.Blocks); n != 5 {
		t.Fatalf("there are %d blocks, want 5", n)
	}
	calls := 2 // those that learn the cost
	for _, b := range r.Samples.Blocks {
		if math.Abs(b.Seconds[0]-30e-6) > 1e-9 || b.Iterations[0] != 1 || b.Iterations[1] != 1 {
			t.Errorf("a call takes %v s, in a batch of %d; drowsy it takes 30 µs", b.Seconds[0], b.Iterations[0])
		}
		calls += 4 // two implementations, a twin, and the call that the GPU times
	}
	if want := float64(calls) * sweeps.IdlePause.Seconds(); math.Abs(m.slept-want) > 1e-6 {
		t.Errorf("it slept %v s, want %v", m.slept, want)
	}
	if r.Degraded {
		t.Errorf("degraded: %q", r.Warnings)
	}
}

// Pauses take most of the budget, but the same at every size, so they are no reason to stop at a small one.
func TestPausesAreNoReasonToStop(t *testing.T) {
	m := newMachine()
	o := m.options(60 * time.Second)
	o.State = sweeps.AfterIdle
	o.Planner = func(c *kernels.Case) sweeps.Planner {
		return thresholds.NewPlanner(thresholds.PlannerOptions{Low: c.Axis.Min, High: c.Axis.Max, Ratio: 32})
	}
	var cases []kernels.Case
	for k := range 8 {
		cases = append(cases, m.newCase(fmt.Sprintf("op/x=%d", k), 64, 1<<16, quickStarter(), slowStarter(), card("cuda")))
	}
	for _, r := range m.sweep(t, o, cases...) {
		if _, high := timed(r, "go"); high != 1<<16 || len(r.Warnings) > 0 {
			t.Errorf("%s: sizes up to %d were measured, warnings %q", r.Case.Name, high, r.Warnings)
		}
	}
	if m.now > 63 {
		t.Errorf("the sweep took %.1f s of 60", m.now)
	}
}

// The first binding compiles for 300 ms. That does not mean that the next size takes as long.
func TestASlowFirstBinding(t *testing.T) {
	m := newMachine()
	compiled := map[string]bool{}
	slow := func(name string) implementation {
		e := card(name)
		e.bind = func(int) error {
			if !compiled[name] {
				m.spend(0.3)
			}
			compiled[name] = true
			return nil
		}
		return e
	}
	// One visit may take 125 ms.
	r := m.sweep(t, m.options(5*time.Second),
		m.newCase("op/x=1", 64, 1<<20, quickStarter(), slow("cuda"), slow("cuda/direct"), slow("cufft")),
		m.newCase("op/x=2", 64, 1<<20, quickStarter(), slow("cuda")))[0]
	if _, high := timed(r, "cuda"); high != 1<<20 || len(r.Warnings) > 0 {
		t.Errorf("it was timed up to %d, warnings %q", high, r.Warnings)
	}
	if f := fit(r); len(f.Segments) != 2 || f.Segments[1].Low > 1480 || f.Segments[1].High < 1400 {
		t.Errorf("segments are %+v", f.Segments)
	}
}

// Plans that are made by measuring cost the same at every size, so they are no reason to stop at a small one.
func TestADearBinding(t *testing.T) {
	m := newMachine()
	e := implementation{name: "fftw", cost: linear(1e-6, 1e-9), bind: func(int) error { m.spend(1.2); return nil }}
	cases := []kernels.Case{m.newCase("op/x=1", 64, 4096, e)}
	for k := range 7 {
		cases = append(cases, m.newCase(fmt.Sprintf("cheap/x=%d", k), 1, 1, quickStarter()))
	}
	// One visit may take 0.94 s.
	r := m.sweep(t, m.options(30*time.Second), cases...)[0]
	if _, high := timed(r, "fftw"); high != 4096 || len(r.Warnings) > 0 {
		t.Errorf("it was timed up to %d, warnings %q", high, r.Warnings)
	}
}

// The cost of compiling does not grow. So a cold sweep finds the size from which even a cold call of the GPU is faster.
func TestColdCrossover(t *testing.T) {
	m := newMachine()
	e := card("cuda")
	e.bind = func(int) error { m.spend(0.3); return nil }
	o := m.options(60 * time.Second)
	o.State = sweeps.Cold
	r := m.sweep(t, o, m.newCase("op/x=1", 1<<10, 1<<26, quickStarter(), e), m.newCase("op/x=2", 1, 16, quickStarter()))[0]
	// 10 ns a size against 300 ms and 1 ns.
	if f := fit(r); len(f.Segments) != 2 || f.Segments[1].Low > 34_000_000 || f.Segments[1].High < 33_000_000 {
		t.Errorf("segments are %+v, warnings %q; want a change at 33.3 million", f.Segments, r.Warnings)
	}
}

// lostAfter loses the device after a number of calls of all its implementations together.
func lostAfter(calls *int, implementations ...*implementation) {
	for _, e := range implementations {
		e.run = func(int) error {
			if *calls--; *calls < 0 {
				return fmt.Errorf("cuda: an illegal address was read: %w", gpu.ErrLost)
			}
			return nil
		}
	}
}

// Whenever the device is lost, the other implementations continue, and earlier times are kept.
func TestALostGPU(t *testing.T) {
	for _, after := range []int{0, 1, 100, 1000, 30_000, 30_000} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			m := newMachine()
			one, other := card("cuda"), card("cufft")
			calls := after
			lostAfter(&calls, &one, &other)
			lost := 0
			o := m.options(30 * time.Second)
			cases := []kernels.Case{
				m.newCase("a/x=1", 64, 1<<20, quickStarter(), slowStarter(), one),
				m.newCase("b/x=1", 64, 1<<20, other, quickStarter()),
				m.newCase("c/x=1", 64, 1<<20, quickStarter(), slowStarter()),
			}
			results := m.sweep(t, o, cases...)
			for k, r := range results {
				_, high := timed(r, "go")
				if high != 1<<20 {
					t.Errorf("%s: the processor was timed up to %d", r.Case.Name, high)
				}
				name := []string{"cuda", "cufft", ""}[k]
				if name == "" {
					if r.Lost != "" || len(r.Warnings) > 0 {
						t.Errorf("%s has no GPU: lost %q, warnings %q", r.Case.Name, r.Lost, r.Warnings)
					}
					continue
				}
				if !strings.Contains(r.Lost, "illegal address") {
					t.Errorf("%s: lost %q", r.Case.Name, r.Lost)
				}
				about := slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return !strings.Contains(w, "illegal address") })
				if len(about) != 1 || strings.Contains(about[0], "\n") {
					t.Errorf("%s: warnings %q, want one of the loss", r.Case.Name, r.Warnings)
				}
				s := status(t, r, name)
				_, top := timed(r, name)
				if (top == 0) != (s.Excluded != "") || s.Wrong {
					t.Errorf("%s: timed up to %d, status %+v", r.Case.Name, top, s)
				}
				// Every size up to the greatest at which the GPU was timed must have times of the GPU. Otherwise another
				// implementation would win there.
				gpu := slices.Index(r.Samples.Implementations, name)
				for _, size := range r.Samples.Sizes() {
					times := 0
					for _, b := range r.Samples.At(size) {
						if b.Timed(gpu) {
							times++
						}
					}
					if want := min(4, len(r.Samples.At(size))); (times >= want) != (size <= top) {
						t.Errorf("%s: %d times of the GPU at %d, which was timed up to %d", r.Case.Name, times, size, top)
					}
				}
				if top > 0 {
					lost++
				}
			}
			if after >= 2000 && lost == 0 {
				t.Error("no time of the GPU was kept")
			}
		})
	}
}

// Smaller sizes are still calibrated, and the case says where it stopped.
func TestOutOfGPUMemory(t *testing.T) {
	m := newMachine()
	e := card("cuda")
	e.bind = func(size int) error {
		if size > 100_000 {
			return fmt.Errorf("cuda: 4 MiB: %w", gpu.ErrOutOfMemory)
		}
		return nil
	}
	r := m.sweep(t, m.options(30*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), e))[0]
	if _, high := timed(r, "cuda"); high < 65536 || high > 100_000 {
		t.Errorf("it was timed up to %d", high)
	}
	if _, high := timed(r, "go"); high != 1<<20 {
		t.Errorf("the other one was timed up to %d", high)
	}
	for _, w := range r.Warnings {
		if !strings.Contains(w, "out of GPU memory") || !strings.Contains(w, "cuda was timed up to") {
			t.Errorf("warning %q", w)
		}
	}
	if s := status(t, r, "cuda"); s.Excluded != "" || len(r.Warnings) == 0 || r.Lost != "" {
		t.Errorf("status %+v, lost %q, %d warnings", s, r.Lost, len(r.Warnings))
	}
}

func TestAKernelThatDoesNotCompile(t *testing.T) {
	m := newMachine()
	e := card("cuda")
	e.bind = func(int) error {
		return &gpu.CompileError{Source: "fft.metal", Kernel: "radix8", Line: 12, Message: "use of undeclared identifier 'tw'", Log: "a\nb\nc"}
	}
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 4096, quickStarter(), e))[0]
	want := "failed at 64 samples: fft.metal:12: kernel radix8: use of undeclared identifier 'tw'"
	if s := status(t, r, "cuda"); s.Excluded != want || s.Wrong {
		t.Errorf("status %+v, want it excluded with %q", s, want)
	}
	if m.binds["cuda"] != 0 || len(r.Samples.Blocks) == 0 {
		t.Errorf("%d blocks", len(r.Samples.Blocks))
	}
}

func TestANaNFromAKernel(t *testing.T) {
	m := newMachine()
	e := card("cuda")
	e.off = func(size int) float32 {
		if size > 10_000 {
			return float32(math.NaN())
		}
		return 0
	}
	r := m.sweep(t, m.options(30*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), e))[0]
	s := status(t, r, "cuda")
	if !s.Wrong || !strings.Contains(s.Excluded, "wrong at 16384 samples: relative error +Inf") {
		t.Errorf("status %+v", s)
	}
	if low, _ := timed(r, "cuda"); low != 0 {
		t.Error("its times are still there")
	}
}

// A GPU that fails silently is fast. No call is faster than its data can move.
func TestAFaultIsNoFastTime(t *testing.T) {
	for name, c := range map[string]struct {
		resident bool
		seconds  float64 // of a call, once the device is broken
	}{
		"over the bus":    {false, 8e-6}, // 8 MiB take at least 8.4 µs
		"in its memory":   {true, 2e-7},  // and 0.21 µs there
		"not even begun":  {true, 0},
		"over, at a half": {false, 4.2e-6},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.noise = bell(0)
			calls := 0
			e := implementation{name: "cuda", gpu: &gpuScript{}, cost: func(float64) float64 {
				if calls++; calls > 6000 {
					return c.seconds
				}
				return 20e-6
			}}
			if !c.resident {
				e.gpu.bus = 8 << 20
			}
			one := m.newCase("op/x=1", 1, 1<<20, e, implementation{name: "go", cost: linear(1e-3, 0)})
			one.Bytes = func(size int) float64 { return 8 * float64(size) }
			o := m.options(time.Minute)
			o.Planner = script{{1 << 20, 20}, {1 << 20, 300}}.planner
			r := m.sweep(t, o, one)[0]
			if calls <= 6000 {
				t.Fatalf("the device did not break in %d calls", calls)
			}
			if low, _ := timed(r, "cuda"); low != 0 {
				t.Error("its times are still there")
			}
			if low, _ := timed(r, "go"); low == 0 {
				t.Error("the other one has no times")
			}
			if s := status(t, r, "cuda"); s.Excluded == "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// A call in the GPU's own memory may be faster than the same call over the bus, or on a processor.
func TestFastCallsThatAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		bus     float64
		seconds float64
		right   bool
	}{
		"8 MiB in memory at 20 TB/s": {0, 0.42e-6, true},
		"8 MiB in memory at 50 TB/s": {0, 0.16e-6, false},
		"8 MiB over NVLink":          {8 << 20, 10e-6, true},
		"8 MiB over two of them":     {8 << 20, 5e-6, false},
		"1 MiB of 8 over PCIe":       {1 << 20, 5e-6, true}, // the rest are weights, which stay there
	} {
		m := newMachine()
		m.noise = bell(0)
		e := implementation{name: "cuda", cost: linear(c.seconds, 0), gpu: &gpuScript{bus: c.bus}}
		one := m.newCase("op/x=1", 1, 1<<20, e)
		one.Bytes = func(size int) float64 { return 8 * float64(size) }
		o := m.options(time.Minute)
		o.Planner = script{{1 << 20, 5}}.planner
		s := status(t, m.sweep(t, o, one)[0], "cuda")
		if right := s.Excluded == ""; right != c.right {
			t.Errorf("%s: excluded %q", name, s.Excluded)
		}
	}
}

func TestAnAccountThatCannotBe(t *testing.T) {
	e := implementation{name: "cuda", cost: linear(1e-5, 0), gpu: &gpuScript{}}
	m := newMachine()
	one := m.newCase("op/x=1", 64, 64, e, quickStarter())
	problem := one.Problem
	one.Problem = func(size int, in kernels.Input) kernels.Problem { return &liar{problem(size, in)} }
	r := m.sweep(t, m.options(10*time.Second), one)[0]
	if s := status(t, r, "cuda"); !strings.Contains(s.Excluded, "negative time") {
		t.Errorf("status %+v", s)
	}
	if low, _ := timed(r, "go"); low == 0 {
		t.Error("the other one has no times")
	}
}

// liar is a problem whose device reports a negative time.
type liar struct{ kernels.Problem }

func (p *liar) Bind(name string) (kernels.Call, error) {
	c, err := p.Problem.Bind(name)
	if c.GPU != nil {
		c.GPU.Time = func() (gpu.Times, error) { return gpu.Times{Busy: -1}, nil }
	}
	return c, err
}

// After each visit, when its memory is free, pools may free theirs.
func TestTrim(t *testing.T) {
	m := newMachine()
	trims := 0
	o := m.options(10 * time.Second)
	o.Planner = script{{64, 5}, {128, 5}, {256, 5}}.planner
	o.Trim = func() {
		trims++
		if m.open != 0 {
			t.Errorf("%d calls are bound", m.open)
		}
	}
	if m.sweep(t, o, m.newCase("op/x=1", 64, 256, quickStarter(), card("cuda"))); trims != 3 {
		t.Errorf("memory was given back %d times in 3 visits", trims)
	}
}
