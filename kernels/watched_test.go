package kernels_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
)

var facts = host.Facts{Chip: "Made Up", Family: "made-up", Architecture: "amd64", Cores: 2, Vendor: "Nobody", CPUFamily: "1", CPUModel: "1", Stepping: "1"}

// pace is how long the implementations of an operation take, by name.
type pace struct{ first, second atomic.Int64 }

// paced declares an operation whose implementations, first and second, take as long as pace says.
func paced(name string, p *pace) *kernels.Op[params] {
	op := adding(nil)
	op.Name = name
	by := func(name string, takes *atomic.Int64) kernels.Makers[params] {
		return kernels.Named(name, func(_ *kernels.Backends, _ params) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
				for start := time.Now(); time.Since(start) < time.Duration(takes.Load()); {
				}
				for i, v := range a[1] {
					a[0][i] = v + 1
				}
				return nil
			}), nil
		})
	}
	op.By = []kernels.Makers[params]{by("first", &p.first), by("second", &p.second)}
	return op
}

// pacedFile is a calibration of operations in which first takes 20 µs and second 25 µs.
func pacedFile(operations ...string) *calibration.File {
	h := calibration.Host{ID: facts.ID(), Facts: calibration.Facts(facts), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03}}
	for _, name := range operations {
		h.Cases = append(h.Cases, calibration.Case{Name: name, Operation: name, Parameters: map[string]int{},
			Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1, To: 1 << 20}, Verdict: calibration.Always, TieBand: 0.03,
			Implementations: []calibration.Implementation{
				{Name: "first", Processor: "cpu", Cost: &calibration.Cost{FixedSeconds: 20e-6, Exponent: 1}},
				{Name: "second", Processor: "cpu", Cost: &calibration.Cost{FixedSeconds: 25e-6, Exponent: 1}}},
			Segments: []calibration.Segment{{From: 1, To: 1 << 20, Implementation: "first",
				Next: []calibration.Alternative{{Implementation: "second", Slowdown: 1.25}}}},
			Sizes: []int{1, 1 << 20}, Blocks: 50})
	}
	return &calibration.File{Hosts: []calibration.Host{h}}
}

// watched returns plans of three operations, made before their dispatcher is watched.
func watched(t *testing.T, paces *[3]pace) (*dispatch.Dispatcher, *dispatch.Watch, []*kernels.Plan[params]) {
	t.Helper()
	names := []string{"one", "two", "three"}
	d, err := dispatch.New(pacedFile(names...), dispatch.WithHost(facts))
	if err != nil {
		t.Fatal(err)
	}
	var plans []*kernels.Plan[params]
	for i, name := range names {
		paces[i].first.Store(20_000)
		paces[i].second.Store(25_000)
		plans = append(plans, newPlan(t, &kernels.Backends{}, d, paced(name, &paces[i]), params{}))
		if err := run(t, plans[i], 100); err != nil {
			t.Fatal(err)
		}
	}
	w, err := d.Watch(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return d, w, plans
}

// Calls that are only like measured ones are not timed, because they take another time.
func TestAlikeCallsAreNotTimed(t *testing.T) {
	var paces [3]pace
	d, w, _ := watched(t, &paces)
	op := paced("one", &paces[0])
	op.Alike = func(_ params, s kernels.Shape) kernels.Shape { s[n] = max(s[n], 100); return s }
	plan := newPlan(t, &kernels.Backends{}, d, op, params{})
	paces[0].first.Store(0)
	timed := func(size int) int64 {
		t.Helper()
		before := w.State().Timed
		for range 5000 {
			if err := run(t, plan, size); err != nil {
				t.Fatal(err)
			}
		}
		return int64(w.State().Timed - before)
	}
	if n := timed(50); n != 0 {
		t.Errorf("%d calls were timed at another shape than the measured one", n)
	}
	if n := timed(100); n == 0 {
		t.Error("no call was timed at the measured shape")
	}
}

// TestAPlanIsWatched makes an implementation four times as slow. The watch must see it in the calls of the plans, and a duel must
// swap it in the plan.
func TestAPlanIsWatched(t *testing.T) {
	var paces [3]pace
	_, w, plans := watched(t, &paces)
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !done(); {
			for range 50 {
				for _, p := range plans {
					if err := run(t, p, 100); err != nil {
						t.Fatal(err)
					}
				}
			}
			if time.Now().After(end) {
				t.Fatalf("not within 20 seconds: %s; the watch has %+v", what, w.State())
			}
		}
	}
	until("the watch knows the three operations", func() bool { s := w.State(); return s.Blind == "" && s.Timed > 150 })
	paces[1].first.Store(80_000)
	until("the second operation is in doubt", func() bool {
		for _, d := range w.Doubtful() {
			if d.Case == "two" && d.Factor > 1 {
				return true
			}
		}
		return false
	})
	until("a duel swaps it", func() bool {
		if _, err := w.Duel(context.Background(), time.Second); err != nil {
			t.Fatal(err)
		}
		return plans[1].Explain(kernels.Shape{100}).Implementation == "second"
	})
	e := plans[1].Explain(kernels.Shape{100})
	if e.Answer != dispatch.Swapped || !strings.Contains(e.Reason, "swapped by the watch") {
		t.Errorf("Explain: %v", e)
	}
	if e := plans[1].Explain(kernels.Shape{1000}); e.Implementation != "first" {
		t.Errorf("at a size that was not timed: %v", e)
	}
}

// TestWatchedPlansOfManyGoroutines is for the race detector: plans, duels and a watch that begins and ends.
func TestWatchedPlansOfManyGoroutines(t *testing.T) {
	var paces [3]pace
	d, w, plans := watched(t, &paces)
	for i := range paces {
		paces[i].first.Store(0)
	}
	var callers sync.WaitGroup
	for _, p := range plans {
		callers.Go(func() {
			for range 20_000 {
				if err := p.Run(kernels.Shape{1}, kernels.Args{make([]float32, 1), make([]float32, 1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if _, err := w.Duel(context.Background(), time.Millisecond); err != nil {
			t.Error(err)
		}
		w.Close()
		var err error
		if w, err = d.Watch(1); err != nil {
			t.Error(err)
		}
		d.Retry()
		time.Sleep(time.Millisecond)
	}
	callers.Wait()
	w.Close()
}

// TestADuelBesideItsPlans is for the race detector: a duel computes while the plans compute whose calls were timed.
func TestADuelBesideItsPlans(t *testing.T) {
	var paces [3]pace
	_, w, plans := watched(t, &paces)
	var callers sync.WaitGroup
	var stop atomic.Bool
	for _, p := range plans {
		callers.Go(func() {
			for !stop.Load() {
				if err := p.Run(kernels.Shape{1}, kernels.Args{make([]float32, 1), make([]float32, 1)}); err != nil {
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
	}
	defer callers.Wait()
	defer stop.Store(true)
	end := time.Now().Add(20 * time.Second)
	for s := w.State(); s.Blind != "" || s.Timed < 200; s = w.State() {
		if time.Now().After(end) {
			t.Fatalf("the watch did not see the plans: %+v", s)
		}
		time.Sleep(time.Millisecond)
	}
	paces[1].first.Store(200_000)
	for {
		results, err := w.Duel(context.Background(), 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Blocks > 0 {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no duel: %+v", w.State())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAWatchedPlanAllocatesNothing(t *testing.T) {
	var paces [3]pace
	_, _, plans := watched(t, &paces)
	paces[0].first.Store(2_000_000) // so that every call is timed
	a := kernels.Args{make([]float32, 10), make([]float32, 10)}
	if n := testing.AllocsPerRun(50, func() { plans[0].Run(kernels.Shape{10}, a) }); n > 0 {
		t.Errorf("a call that is timed allocates %v times", n)
	}
}

// TestAWatchKeepsNoPlan drops a plan whose calls were timed. Its memory must be freed.
func TestAWatchKeepsNoPlan(t *testing.T) {
	var paces [3]pace
	d, w, _ := watched(t, &paces)
	freed := make(chan struct{})
	func() {
		plan := kernels.NewPlanOn(&kernels.Backends{}, d, paced("one", &paces[0]), params{})
		for range 500 {
			if err := run(t, plan, 50); err != nil {
				t.Fatal(err)
			}
		}
		runtime.AddCleanup(plan, func(c chan struct{}) { close(c) }, freed)
	}()
	if w.State().Timed == 0 {
		t.Fatal("no call was timed")
	}
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("a plan that was dropped is still there")
}

// BenchmarkRun is a call of a plan that does next to nothing, without a watch and with one.
func BenchmarkRun(b *testing.B) {
	d, err := dispatch.New(pacedFile("one"), dispatch.WithHost(facts))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"nil", "watched"} {
		b.Run("watch="+name, func(b *testing.B) {
			var p pace
			op := paced("one", &p)
			op.By = []kernels.Makers[params]{kernels.Named("first", func(*kernels.Backends, params) (kernels.Runner, error) {
				return kernels.RunnerFunc(func(kernels.Shape, *kernels.Args) error { return nil }), nil
			})}
			plan := kernels.NewPlanOn(&kernels.Backends{}, d, op, params{})
			defer plan.Close()
			if name == "watched" {
				w, err := d.Watch(0)
				if err != nil {
					b.Fatal(err)
				}
				defer w.Close()
			}
			a := kernels.Args{make([]float32, 1), make([]float32, 1)}
			b.ReportAllocs()
			for b.Loop() {
				if err := plan.Run(kernels.Shape{1}, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
